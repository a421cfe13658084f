package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
)

const (
	crds       = "../../../manifests/base/crds"
	situations = "../../../predictor/score/testdata/situations.yaml"
)

// suite is what all tests share: one cluster and the table of situations.
type suite struct {
	cluster *controlplane.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	table   *scoretest.Table
}

var shared suite

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	bin := os.Getenv("BANDMATE_CLUSTER_BIN")
	if bin == "" {
		fmt.Println("skipped: BANDMATE_CLUSTER_BIN is not set: run hack/e2e-kubernetes.sh")
		return 0
	}
	text, err := os.ReadFile(situations)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if shared.table, err = scoretest.Parse(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "bandmate-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	c, err := controlplane.Up(context.Background(), controlplane.Options{
		Dir: filepath.Join(dir, "cluster"), Bin: bin, CRDs: crds, KwokStages: filepath.Join(bin, "stages"),
		SchedulerConfig: func(kubeconfig string) string { return schedulerConfig(kubeconfig, shared.table) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := c.Down(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	config, err := c.Config()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared.cluster = c
	shared.client = kubernetes.NewForConfigOrDie(config)
	shared.dynamic = dynamic.NewForConfigOrDie(config)
	return m.Run()
}

// Schedulers, all in one process.
const (
	plainScheduler = "default-scheduler"
	ours           = "bandmate-scheduler"
	rejecting      = "bandmate-rejects-invalid"
	protecting     = "bandmate-protects-limits"
)

// schedulerConfig has a scheduler for every set of options in the table.
func schedulerConfig(kubeconfig string, table *scoretest.Table) string {
	var b strings.Builder
	b.WriteString(controlplane.DefaultSchedulerConfig(kubeconfig))
	b.WriteString(schedulerProfile(rejecting, configv1.BandmateArgs{InvalidAnnotations: "reject"}))
	b.WriteString(schedulerProfile(protecting, configv1.BandmateArgs{ProtectLimits: new(true)}))
	seen := map[string]bool{ours: true}
	for _, s := range table.Situations {
		name, args := schedulerFor(&s)
		if !seen[name] {
			b.WriteString(schedulerProfile(name, args))
		}
		seen[name] = true
	}
	return b.String()
}

// schedulerProfile has a scheduler with options of the plugin.
func schedulerProfile(name string, args configv1.BandmateArgs) string {
	text, err := json.Marshal(args)
	if err != nil {
		text = []byte(err.Error())
	}
	return fmt.Sprintf("- schedulerName: %s\n  plugins: {multiPoint: {enabled: [{name: Bandmate, weight: 10}]}}\n"+
		"  pluginConfig: [{name: Bandmate, args: %s}]\n", name, text)
}

// schedulerFor returns the scheduler with the options of a situation.
func schedulerFor(s *scoretest.Situation) (string, configv1.BandmateArgs) {
	args := configv1.BandmateArgs{Objective: string(s.Objective), UnknownApplications: string(s.Unknown)}
	name := ours
	for _, part := range []string{string(s.Objective), string(s.Unknown)} {
		if part != "" {
			name += "-" + part
		}
	}
	if s.Assumed != nil {
		traffic, err := s.Assumed.Units()
		if err != nil {
			return err.Error(), args
		}
		bytes := float64(traffic.Total())
		share, _ := traffic.ReadShare()
		args.AssumedBytesPerSecond, args.AssumedReadShare = &bytes, (*float64)(&share)
		name += fmt.Sprintf("-%.0f", traffic.Total().GBps())
	}
	return name, args
}

// soon is how long what has to happen may take on a busy machine; later is how
// long what must not happen is waited for.
const (
	soon  = 30 * time.Second
	later = 2 * time.Second
)
