package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// Names of the schedulers, each a process of its own.
const (
	without = "default-scheduler"
	with    = "with-plugin"
)

// contender is a scheduler with a plugin, measured against the same program
// without it.
type contender struct {
	plugin  string
	program string // in the folder of programs
	version string // of Kubernetes, by which the scheduler was made
	enabled string // entry of the list of plugins
	config  string // entry of the list of plugin arguments, or empty
	flags   []string
	// ready waits until the plugin has what it needs; check says afterwards
	// whether it had it all the time.
	ready func(ctx context.Context) error
	check func() error
}

// start starts both schedulers and waits until the plugin is ready.
func (d contender) start(ctx context.Context, c *controlplane.Cluster) error {
	for _, scheduler := range schedulers {
		if err := c.StartScheduler(ctx, scheduler, d.program, d.configuration(scheduler), d.flags...); err != nil {
			return errors.Join(err, d.stop(c))
		}
	}
	return d.ready(ctx)
}

func (d contender) stop(c *controlplane.Cluster) error {
	return errors.Join(c.Stop(without), c.Stop(with))
}

// schedulers are those that run during a block.
var schedulers = []string{without, with}

// configuration leaves to the scheduler how many nodes it looks at, as
// kube-scheduler does by default. There is no other instance to elect a leader
// from.
func (d contender) configuration(scheduler string) func(kubeconfig string) string {
	plugins := ""
	if scheduler == with {
		plugins = "\n  plugins: {multiPoint: {enabled: [" + d.enabled + "]}}"
		if d.config != "" {
			plugins += "\n  pluginConfig: [" + d.config + "]"
		}
	}
	return func(kubeconfig string) string {
		return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: %s%s
`, kubeconfig, scheduler, plugins)
	}
}

// bandmate is our scheduler.
func bandmate(s settings, c *controlplane.Cluster) contender {
	return contender{
		plugin: "Bandmate", program: controlplane.Scheduler, version: s.kubernetes,
		enabled: "{name: Bandmate, weight: 10}",
		flags:   []string{fmt.Sprintf("--feature-gates=OpportunisticBatching=%v", s.batching)},
		ready: func(ctx context.Context) error {
			return eventually(ctx, "the scheduler has the profiles", func() error {
				metrics, err := ask(ctx, c.Server(with)+"/metrics")
				if err != nil {
					return err
				}
				known, err := sample(metrics, `bandmate_profiles{state="known"}`)
				if err == nil && int(known) < s.profile {
					err = fmt.Errorf("%.0f of %d", known, s.profile)
				}
				return err
			})
		},
		check: func() error { return nil },
	}
}

// trimaran is LoadVariationRiskBalancing with the arguments that it has by
// default. Where it knows no load of a node it logs that, and returns a score
// without computing one.
func trimaran(s settings, c *controlplane.Cluster, loads *loadWatcher) contender {
	return contender{
		plugin: "Trimaran LoadVariationRiskBalancing", program: trimaranProgram, version: s.trimaran,
		enabled: "{name: LoadVariationRiskBalancing, weight: 1}",
		config:  fmt.Sprintf("{name: LoadVariationRiskBalancing, args: {watcherAddress: %q}}", loads.address),
		ready:   func(context.Context) error { return nil },
		check: func() error {
			if loads.asked.Load() == 0 {
				return errors.New("the plugin never asked for loads")
			}
			log := c.Log(with)
			for _, complaint := range []string{"Failed to get metrics", "Metrics not available", "Unable to populate metrics", "Unable to update metrics"} {
				if strings.Contains(log, complaint) {
					return fmt.Errorf("the plugin had no loads: %q in its log", complaint)
				}
			}
			return nil
		},
	}
}

// trimaranProgram is what hack/evaluate-kubernetes.sh builds of
// hack/cluster/testdata/trimaran.
const trimaranProgram = "trimaran-scheduler"

// sample returns one sample of a server's metrics; an error where it has none.
func sample(metrics, series string) (float64, error) {
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("no %s", series)
}

// eventually asks ten times a second until there is no error.
func eventually(ctx context.Context, what string, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: not within %v: %w", what, patience, err), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
