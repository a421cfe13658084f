// Command trimaran-scheduler is kube-scheduler with the plugin
// LoadVariationRiskBalancing of sigs.k8s.io/scheduler-plugins, which Bandmate's
// cost is compared with. It is a module of its own, for the Kubernetes version
// that this plugin is made for, and stands in testdata so that nothing builds it
// but hack/evaluate-kubernetes.sh.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric of the version
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme" // the plugin's arguments
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/loadvariationriskbalancing"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(loadvariationriskbalancing.Name, loadvariationriskbalancing.New))))
}
