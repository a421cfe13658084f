// Command bandmate-scheduler is kube-scheduler with the Bandmate plugin: all
// flags, configuration, health checks and metrics are kube-scheduler's.
package main

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric of the version
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulerv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"

	"bandmate.dev/bandmate/schedplugin"
	"bandmate.dev/bandmate/schedplugin/config"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
)

func main() { os.Exit(run()) }

func run() int {
	if err := addArguments(scheme.Scheme, schedulerv1.GetPluginArgConversionScheme()); err != nil {
		fmt.Fprintln(os.Stderr, "bandmate-scheduler: plugin arguments:", err)
		return 1
	}
	command := app.NewSchedulerCommand(app.WithPlugin(schedplugin.Name, schedplugin.New))
	command.Use = "bandmate-scheduler"
	return cli.Run(command)
}

// addArguments makes the plugin's arguments part of the configuration's format:
// strict decoding, defaults, --write-config-to. kube-scheduler decodes with one
// scheme and converts with another.
func addArguments(schemes ...*runtime.Scheme) error {
	for _, s := range schemes {
		if err := errors.Join(config.AddToScheme(s), configv1.AddToScheme(s)); err != nil {
			return err
		}
	}
	return nil
}
