package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// Names of schedulers: each process has one without and one with the plugin.
const (
	without = "default-scheduler"
	with    = "with-plugin"
)

// contender is a scheduler with a plugin, measured against the same scheduler
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

// configuration leaves to the scheduler how many nodes it looks at, as
// kube-scheduler does by default. There is no other instance to elect a leader
// from.
func (d contender) configuration(kubeconfig string) string {
	arguments := ""
	if d.config != "" {
		arguments = "\n  pluginConfig: [" + d.config + "]"
	}
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: %s
- schedulerName: %s
  plugins: {multiPoint: {enabled: [%s]}}%s
`, kubeconfig, without, with, d.enabled, arguments)
}

// bandmate is our scheduler.
func bandmate(s settings, c *controlplane.Cluster) contender {
	return contender{
		plugin: "Bandmate", program: controlplane.Scheduler, version: s.kubernetes,
		enabled: "{name: Bandmate, weight: 10}",
		flags:   []string{fmt.Sprintf("--feature-gates=OpportunisticBatching=%v", s.batching)},
		ready: func(ctx context.Context) error {
			return eventually(ctx, "the scheduler has the profiles", func() error {
				known, err := metric(ctx, c.Metrics(), `bandmate_profiles{state="known"}`)
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
			log := c.Log(controlplane.Scheduler)
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

// metric reads one sample of a server's metrics; an error where it has none.
func metric(ctx context.Context, address, series string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test server on loopback
	}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return 0, errors.Join(fmt.Errorf("%s: %s", address, answer.Status), err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("%s: no %s", address, series)
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
