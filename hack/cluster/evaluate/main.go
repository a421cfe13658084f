// Command evaluate measures bandmate-scheduler in a real control plane and prints
// the tables of docs/results/kubernetes.md: how good its placements are
// (quality), and how many pods a second it places (throughput).
// hack/evaluate-kubernetes.sh builds what it needs and calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/kubernetes"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "evaluate:", err)
		os.Exit(1)
	}
}

// settings are the flags of both measurements.
type settings struct {
	bin, crds, data        string
	seeds, nodes, churn    int
	rounds, batch, profile int
	when                   string
	batching               bool
	labelled               int
	out                    io.Writer
}

var errUsage = errors.New("usage: evaluate [flags] quality|throughput")

func run(ctx context.Context, arguments []string) (err error) {
	flags := flag.NewFlagSet("evaluate", flag.ContinueOnError)
	s := settings{out: os.Stdout}
	flags.StringVar(&s.bin, "bin", "", "folder of the programs, as hack/cluster.sh build prints it")
	flags.StringVar(&s.crds, "crds", "manifests/base/crds", "folder of the resource definitions")
	flags.StringVar(&s.data, "data", "predictor/testdata/simulated", "folder of the simulated data sets")
	flags.IntVar(&s.seeds, "seeds", 5, "quality: sequences of arrivals for each platform and load")
	flags.IntVar(&s.churn, "churn", 40, "quality: pods that leave and are replaced in each sequence")
	flags.IntVar(&s.nodes, "nodes", 24, "number of nodes")
	flags.IntVar(&s.rounds, "rounds", 5, "throughput: batches for each scheduler, alternated")
	flags.IntVar(&s.batch, "batch", 1000, "throughput: pods in a batch")
	flags.IntVar(&s.profile, "profiles", 10_000, "throughput: number of profiles")
	flags.IntVar(&s.labelled, "labelled", residents, "throughput: how many of the pods of a node have a profile")
	flags.BoolVar(&s.batching, "batching", true, "throughput: let the scheduler reuse the scores of one pod for the next equal one, where plugins allow")
	flags.StringVar(&s.when, "when", "", "throughput: start the batches when this file exists, as when the machine is quiet")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	measure := map[string]func(context.Context, settings, *controlplane.Cluster, kubernetes.Interface) error{
		"quality": quality, "throughput": throughput,
	}[flags.Arg(0)]
	if flags.NArg() != 1 || measure == nil {
		return errUsage
	}
	dir, err := os.MkdirTemp("", "bandmate-evaluate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := controlplane.Options{Dir: filepath.Join(dir, "cluster"), Bin: s.bin, CRDs: s.crds}
	if flags.Arg(0) == "throughput" {
		options.SchedulerFlags = []string{fmt.Sprintf("--feature-gates=OpportunisticBatching=%v", s.batching)}
		options.SchedulerConfig = throughputConfig
	}
	c, err := controlplane.Up(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Down()) }()
	config, err := c.Config()
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return measure(ctx, s, c, client)
}
