// Command evaluate measures bandmate-scheduler in a real control plane, prints a
// table of what it measured and keeps a record of it: how good placements are
// (quality), how many pods a second there are (throughput), and what the plugin
// itself takes (cost). hack/evaluate-kubernetes.sh builds what it needs and calls
// it.
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

// settings are the flags of all measurements.
type settings struct {
	bin, crds, data, records, dir string
	kubernetes, trimaran          string
	seeds, nodes, churn           int
	rounds, block, batch, profile int
	when                          string
	batching                      bool
	labeled                       int
	out                           io.Writer
}

var errUsage = errors.New("usage: evaluate [flags] quality|throughput|cost")

func run(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("evaluate", flag.ContinueOnError)
	s := settings{out: os.Stdout}
	flags.StringVar(&s.bin, "bin", "", "folder of the programs, as hack/cluster.sh build prints it")
	flags.StringVar(&s.crds, "crds", "manifests/base/crds", "folder of the resource definitions")
	flags.StringVar(&s.data, "data", "predictor/testdata/simulated", "folder of the simulated data sets")
	flags.StringVar(&s.records, "records", "docs/results/kubernetes", "folder of the records to write")
	flags.StringVar(&s.dir, "cluster", "", "throughput: keep the cluster in this folder, for hack/cluster.sh down to remove, and use the one that such a run left there; "+
		"setting up is most of the time")
	flags.StringVar(&s.kubernetes, "kubernetes", "", "version of Kubernetes, for the record")
	flags.StringVar(&s.trimaran, "trimaran", "", "throughput: Kubernetes version of "+trimaranProgram+"; empty to leave Trimaran out")
	flags.IntVar(&s.seeds, "seeds", 6, "quality: sequences of arrivals for each platform and load")
	flags.IntVar(&s.churn, "churn", 40, "quality: pods that leave and are replaced in each sequence")
	flags.IntVar(&s.nodes, "nodes", 24, "number of nodes")
	flags.IntVar(&s.rounds, "rounds", 8, "throughput: rounds for each plugin, a batch without it and one with it")
	flags.IntVar(&s.block, "block", 4, "throughput: rounds before the other plugin's scheduler has its turn")
	flags.IntVar(&s.batch, "batch", 3000, "throughput: pods in a batch; one of 1,000 is over before the API server has collected its garbage twice")
	flags.IntVar(&s.profile, "profiles", 10_000, "throughput: number of profiles")
	flags.IntVar(&s.labeled, "labeled", residents, "throughput: how many of the pods of a node have a profile")
	flags.BoolVar(&s.batching, "batching", true, "throughput: let the scheduler reuse the scores of one pod for the next equal one, where plugins allow")
	flags.StringVar(&s.when, "when", "", "throughput: start blocks only while this file exists, as when the machine is quiet")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if s.nodes < 1 || s.rounds < 1 || s.block < 1 || s.batch < 1 || s.profile < 1 || s.seeds < 1 || s.labeled < 0 || s.labeled > residents {
		return fmt.Errorf("nodes, rounds, block, batch, profiles and seeds are 1 or more, labeled is 0 to %d", residents)
	}
	measure := map[string]func(context.Context, settings) error{
		"quality":    func(ctx context.Context, s settings) error { return inCluster(ctx, s, quality) },
		"throughput": throughput,
		"cost":       cost,
	}[flags.Arg(0)]
	if flags.NArg() != 1 || measure == nil {
		return errUsage
	}
	return measure(ctx, s)
}

// inCluster measures in a cluster of its own.
func inCluster(ctx context.Context, s settings, measure func(context.Context, settings, *controlplane.Cluster, kubernetes.Interface) error) (err error) {
	dir, err := os.MkdirTemp("", "bandmate-evaluate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := controlplane.Up(ctx, controlplane.Options{Dir: filepath.Join(dir, "cluster"), Bin: s.bin, CRDs: s.crds})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Down()) }()
	client, err := clientOf(c)
	if err != nil {
		return err
	}
	return measure(ctx, s, c, client)
}

// clientOf speaks protobuf, as schedulers do.
func clientOf(c *controlplane.Cluster) (kubernetes.Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(config)
}
