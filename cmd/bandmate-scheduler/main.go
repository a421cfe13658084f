// Command bandmate-scheduler is kube-scheduler with the Bandmate plugin: all
// flags, configuration, health checks and metrics are kube-scheduler's.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric of the version
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"

	"bandmate.dev/bandmate/schedplugin"
	"bandmate.dev/bandmate/schedplugin/config"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
)

func main() { os.Exit(run()) }

func run() int {
	// Makes the arguments part of the configuration's format: strict decoding,
	// defaults, --write-config-to.
	if err := config.AddToScheme(scheme.Scheme); err != nil {
		fmt.Fprintln(os.Stderr, "bandmate-scheduler: plugin arguments:", err)
		return 1
	}
	if err := configv1.AddToScheme(scheme.Scheme); err != nil {
		fmt.Fprintln(os.Stderr, "bandmate-scheduler: plugin arguments:", err)
		return 1
	}
	command := app.NewSchedulerCommand(app.WithPlugin(schedplugin.Name, schedplugin.New))
	command.Use = "bandmate-scheduler"
	return cli.Run(command)
}
