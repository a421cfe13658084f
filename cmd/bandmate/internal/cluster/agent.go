package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"bandmate.dev/bandmate/agent"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/store/cluster"
	"bandmate.dev/bandmate/topology"
)

type agentFlags struct {
	cluster      cli.ClusterFlags
	node         string
	machine      string
	memoryDomain string
	source       string
	interval     time.Duration
	listen       string
	groups       string
	publish      bool
	once         bool
}

// NewAgent returns the command agent.
func NewAgent(a *cli.App) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Keep a node's labels and measured traffic in a cluster up to date",
		Long: `Runs on each node of a Kubernetes cluster. It labels the node with the machine
and memory domain that the scheduler looks for, publishes the machine profile
of the profile folder, measures the traffic of the memory controllers where
there are counters, and publishes it for the scheduler (annotation
bandmate.dev/measured-traffic) and Prometheus.

Without --machine the node is recognized by its processor among the machine
profiles of the cluster, as soon as there is one. If several match, it is the
one that the node's label or name says, else the oldest. Without counters no
traffic is published; bandmate doctor says what is missing.

Where the kubelet's CPU manager gives pods exclusive CPUs (its static policy),
the agent also publishes these (annotation bandmate.dev/exclusive-cpus), so
that the scheduler knows which last-level cache each of them uses.`,
		Example: `  bandmate agent --node node-1 --once
  bandmate agent --node node-1 --machine rack7 --memory-domain pool-a`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	f.cluster.Add(flags)
	flags.StringVar(&f.node, "node", "", "name of the node (default $NODE_NAME, else the host's name)")
	flags.StringVar(&f.machine, "machine", "", "machine profile of the node (default: found by its processor)")
	flags.StringVar(&f.memoryDomain, "memory-domain", "", "memory domain that the node shares with others (default: as labeled, else the node itself)")
	flags.StringVar(&f.source, "source", "", "counters to measure with, such as imc, or none (default: the best that works here)")
	flags.DurationVar(&f.interval, "interval", 15*time.Second, "length of a measurement, and time between measurements")
	flags.StringVar(&f.listen, "listen", ":9464", "address of /metrics, /healthz and /readyz; empty for none")
	flags.StringVar(&f.groups, "cgroups", "/sys/fs/cgroup", "control groups of the node, which say what CPUs pods have for themselves")
	flags.BoolVar(&f.publish, "publish-machine", true, "apply the machine profile of the profile folder, if there is one, to the cluster")
	flags.BoolVar(&f.once, "once", false, "update the node once and exit")
	return cmd
}

func (f *agentFlags) validate(a *cli.App) error {
	f.node = cmp.Or(f.node, a.Env("NODE_NAME"), cli.HostName())
	if faults := validation.IsDNS1123Subdomain(f.node); len(faults) > 0 {
		return cli.Usagef("--node %q: %s", f.node, faults[0])
	}
	for flag, value := range map[string]string{"--machine": f.machine, "--memory-domain": f.memoryDomain} {
		if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
			return cli.Usagef("%s %q: %s", flag, value, faults[0])
		}
	}
	if f.interval < time.Second {
		return cli.Usagef("--interval %v: want a second or more", f.interval)
	}
	return nil
}

// longestInterval is half of the default measuredTrafficMaxAge.
const longestInterval = time.Minute

// agentStatus is what --once prints.
type agentStatus struct {
	Node         string                    `json:"node"`
	Machine      string                    `json:"machine,omitempty"`
	MemoryDomain string                    `json:"memoryDomain,omitempty"`
	Source       string                    `json:"source"`
	Traffic      *v1alpha1.MeasuredTraffic `json:"measuredTraffic,omitempty"`
	Warnings     []string                  `json:"warnings,omitempty"`
}

func runAgent(ctx context.Context, a *cli.App, f agentFlags) (err error) {
	if err := f.validate(a); err != nil {
		return err
	}
	config, err := f.cluster.Config()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	status := agentStatus{Node: f.node, MemoryDomain: f.memoryDomain}
	machine, err := topology.ReadHost()
	if err != nil {
		return err
	}
	counters, why, err := agentCounters(ctx, f.source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counters.Close()) }()
	if why != "" {
		status.Warnings = append(status.Warnings, why)
	}
	options := agent.Options{
		Machine: f.machine, MemoryDomain: f.memoryDomain, Retry: time.Minute, Interval: f.interval, Pace: agent.DefaultPace(),
		Source: agent.NoSource, Now: time.Now, Logger: slog.New(slog.NewTextHandler(a.Stderr, nil)).With("node", f.node),
	}
	options.Recognize = f.recognizer(a, cluster.New(client), machine)
	groups := os.DirFS(f.groups)
	options.ExclusiveCPUs = func() (map[string]string, error) { return agent.ExclusiveCPUs(groups) }
	if counters.Source != nil {
		options.Source = counters.Source.Name()
		options.Measure = func(ctx context.Context, interval time.Duration) (v1alpha1.MeasuredTraffic, error) {
			return measureTraffic(ctx, counters.Source, interval)
		}
	}
	if f.interval > longestInterval {
		status.Warnings = append(status.Warnings, fmt.Sprintf(
			"--interval %v: the scheduler takes a measurement for 2m: set its measuredTrafficMaxAge to twice the interval", f.interval))
	}
	status.Source = options.Source
	keeper := agent.New(agent.NewNode(client, f.node), options)
	if f.once {
		err := keeper.Once(ctx)
		status.Traffic = keeper.Published()
		if status.Machine, why = keeper.Machine(); why != "" {
			status.Warnings = append(status.Warnings, why)
		}
		return errors.Join(err, a.Print(status, func(w io.Writer) error { return writeAgent(a, w, status) }))
	}
	a.Warn(status.Warnings)
	return serveAgent(ctx, keeper, options, f.listen)
}

// recognizer returns what recognizes the machine by the profiles of the cluster. Before, it
// publishes the profile of the profile folder, until that has succeeded.
func (f *agentFlags) recognizer(a *cli.App, profiles *cluster.Store, machine *topology.Machine) func(context.Context, string) (name, why string, err error) {
	published := !f.publish
	return func(ctx context.Context, label string) (name, why string, err error) {
		unpublished := ""
		if !published {
			if published, unpublished, err = publishMachine(ctx, a, profiles, f.machine, machine); err != nil {
				unpublished = "the machine profile of the folder was not published: " + err.Error()
			}
		}
		if f.machine != "" {
			return f.machine, unpublished, nil
		}
		known, _, err := profiles.Machines(ctx)
		if err != nil {
			return "", "", err
		}
		name, why = agent.Recognize(machine, known, label, f.node)
		return name, cmp.Or(unpublished, why), nil
	}
}

// serveAgent runs the agent beside its HTTP server until ctx ends.
func serveAgent(ctx context.Context, keeper *agent.Agent, o agent.Options, address string) error {
	if address == "" {
		return keeper.Run(ctx)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{Handler: keeper.Handler(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	o.Logger.Info("serving /metrics, /healthz and /readyz", "address", listener.Addr().String(), "source", o.Source)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan error, 1)
	go func() {
		err := <-failed
		cancel(err)
		stopped <- err
	}()
	err = keeper.Run(ctx)
	err = errors.Join(err, server.Close())
	if serve := <-stopped; !errors.Is(serve, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("--listen: %w", serve))
	}
	return err
}

// publishMachine puts the folder's profile of this machine into the cluster: the named
// one, or else the only one that matches. The note says what of the cluster's profile stays.
func publishMachine(ctx context.Context, a *cli.App, into *cluster.Store, name string, machine *topology.Machine) (published bool, note string, err error) {
	folder, err := a.OpenStore()
	if err != nil {
		return false, "", err
	}
	stored, _, err := folder.Machines()
	if err != nil {
		return false, "", err
	}
	if name == "" {
		if name, _ = agent.Recognize(machine, stored); name == "" {
			return false, "", nil
		}
	}
	profile, err := folder.Machine(name)
	if errors.Is(err, store.ErrNotFound) {
		return false, "", nil
	}
	if err != nil {
		return false, "", err
	}
	results, notes, err := putMachine(ctx, into, profile, false)
	err = errors.Join(err, cluster.Failed(results))
	return err == nil, strings.Join(notes, "; "), err
}

// agentCounters opens the counters to measure with; without any, why says what
// was found.
func agentCounters(ctx context.Context, source string) (counters cli.Counters, why string, err error) {
	if source == agent.NoSource {
		return counters, "", nil
	}
	if source == profiler.ProbeName {
		return counters, "", cli.Usagef("--source %s: it would disturb the node: want counters or %s", source, agent.NoSource)
	}
	counters, err = cli.OpenCounters(ctx, source, pmu.SplitsReadWrite)
	if err == nil && counters.Source == nil {
		why = "no counters of memory controllers can be read here, so that the traffic of pods without a profile counts as nothing: see bandmate doctor"
	}
	return counters, why, err
}

func measureTraffic(ctx context.Context, source profiler.Source, interval time.Duration) (v1alpha1.MeasuredTraffic, error) {
	start := time.Now()
	summary, err := source.Measure(ctx, profiler.Workload{Duration: interval})
	if err != nil {
		return v1alpha1.MeasuredTraffic{}, err
	}
	end := time.Now()
	return v1alpha1.MeasuredTraffic{
		ReadBytesPerSecond:  float64(summary.Read),
		WriteBytesPerSecond: float64(summary.Write),
		Start:               metav1.NewTime(end.Add(-end.Sub(start))), // as a clock set meanwhile says it
		Time:                metav1.NewTime(end),
	}, nil
}

func writeAgent(a *cli.App, w io.Writer, s agentStatus) error {
	fmt.Fprintf(w, "node %s: machine %s, memory domain %s\n", s.Node, cmp.Or(s.Machine, "unknown"), cmp.Or(s.MemoryDomain, "as labeled"))
	if s.Traffic != nil {
		fmt.Fprintf(w, "traffic: %s (by %s)\n", s.Traffic.Traffic().Total(), s.Source)
	}
	a.Warn(s.Warnings)
	return nil
}
