package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/store"
)

type whatIfFlags struct {
	view     viewFlags
	node     string
	cpus     float64
	limit    cli.Limit
	demand   service.Demand
	numaNode int
	pictures cli.PictureFlags
}

// NewWhatIf returns the command what-if.
func NewWhatIf(a *cli.App) *cobra.Command {
	var f whatIfFlags
	cmd := &cobra.Command{
		Use:   "what-if APP",
		Short: "Predict what a pod would do on the nodes of a Kubernetes cluster",
		Long: `Predicts the slowdowns of a pod of APP and its neighbors on each node of a
cluster, and ranks the nodes as the scheduler plugin does. Nothing is placed.
Only contention for memory counts; other plugins decide whether a node has
room.

Exit code 5: with --max-slowdown, --load or --max-p99, no node keeps the limits.`,
		Example: `  kubectl bandmate what-if xz
  kubectl bandmate what-if xz --node node-1 --cpus 4 --max-slowdown 1.15
  kubectl bandmate what-if redis --load 20000 --max-p99 2ms
  kubectl bandmate what-if xz --svg nodes.svg`,
		Args: cli.WantArgs(cobra.ExactArgs(1), "one application"),
		RunE: func(cmd *cobra.Command, args []string) error { return runWhatIf(cmd.Context(), a, args[0], f) },
	}
	flags := cmd.Flags()
	f.view.add(flags)
	flags.StringVar(&f.node, "node", "", "show this node and every pod on it")
	flags.Float64Var(&f.cpus, "cpus", 1, "CPUs that the pod would request")
	f.limit.Add(flags, "max-slowdown", "maximum slowdown of the pod, for example 1.15")
	flags.Float64Var(&f.demand.Load, "load", 0, "requests per second that the pod would answer, of a service")
	flags.DurationVar(&f.demand.MaxP99, "max-p99", 0, "maximum p99 of the pod, for example 2ms")
	flags.IntVar(&f.numaNode, "numa-node", -1, "NUMA node to which the pod would be pinned (default: any)")
	f.pictures.Add(flags, "the slowdowns")
	return cli.WithFormats(cmd, cli.FormatCSV)
}

func (f whatIfFlags) pod(application string) (occupancy.Resident, error) {
	if !(f.cpus > 0 && f.cpus <= 1e6) {
		return occupancy.Resident{}, cli.Usagef("--cpus %v: want a number above 0", f.cpus)
	}
	if err := f.limit.Check(); err != nil {
		return occupancy.Resident{}, err
	}
	if f.demand.Load != 0 && !(f.demand.Load >= v1alpha1.MinRequestsPerSecond && f.demand.Load <= v1alpha1.MaxRequestsPerSecond) {
		return occupancy.Resident{}, cli.Usagef("--load %v: want requests per second, 1e-6 to 1e9", f.demand.Load)
	}
	if f.demand.MaxP99 < 0 {
		return occupancy.Resident{}, cli.Usagef("--max-p99 %v: want more than 0, such as 2ms", f.demand.MaxP99)
	}
	pod := occupancy.Resident{Name: application, Application: application, CPUs: f.cpus, Limit: f.limit.Slowdown, Demand: f.demand}
	if f.numaNode >= 0 {
		pod.NUMANode = occupancy.PinnedTo(f.numaNode)
	}
	return pod, nil
}

// WhatIfAnswer is what what-if prints.
type WhatIfAnswer struct {
	Application string  `json:"application"`
	CPUs        float64 `json:"cpus"`
	Limit       float64 `json:"limit,omitempty"`
	// Load and MaxP99Seconds are those of a service; absent where they are not said.
	Load          float64   `json:"load,omitempty"`
	MaxP99Seconds float64   `json:"maxP99Seconds,omitempty"`
	Nodes         []Verdict `json:"nodes"`
	// More counts the nodes that were left out.
	More     int      `json:"more,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func runWhatIf(ctx context.Context, a *cli.App, application string, f whatIfFlags) error {
	if err := f.view.validate(); err != nil {
		return err
	}
	if err := f.pictures.Check(); err != nil {
		return err
	}
	pod, err := f.pod(application)
	if err != nil {
		return err
	}
	objects, err := newCore(f.view.ClusterFlags)
	if err != nil {
		return err
	}
	cluster, known, err := look(ctx, f.view, objects, "")
	if err != nil {
		return err
	}
	if err := f.askable(known, application); err != nil {
		return err
	}
	verdicts, err := verdicts(cluster, pod, f.node, "")
	if err != nil {
		return err
	}
	answer := WhatIfAnswer{Application: application, CPUs: f.cpus, Limit: float64(f.limit.Slowdown), Load: f.demand.Load, MaxP99Seconds: f.demand.MaxP99.Seconds(), Nodes: verdicts, Warnings: cluster.Warnings}
	rejected := len(verdicts) > 0 && verdicts[0].Rejected
	answer.Nodes, answer.More = f.view.cut(verdicts)
	if err := printWhatIf(a, answer, f); err != nil {
		return err
	}
	if pod.Limited() && rejected {
		return fmt.Errorf("%w: no node keeps the limits", cli.ErrLimit)
	}
	return nil
}

// askable fails where no profile of the application can be used, and where it is no service
// and a demand was given.
func (f whatIfFlags) askable(known *advisor.Advisor, application string) error {
	byMachine := known.Own(application)
	if len(byMachine) == 0 {
		return fmt.Errorf("cluster: application %q: %w: onboard and apply it", application, store.ErrNotFound)
	}
	var faults []error
	own := make([]advisor.Entry, 0, len(byMachine))
	for _, machine := range slices.Sorted(maps.Keys(byMachine)) {
		e := byMachine[machine]
		own = append(own, e)
		if err := e.Err(); err != nil {
			faults = append(faults, fmt.Errorf("the profile of %s on %s is invalid: %w", application, machine, err))
		}
	}
	if len(faults) == len(own) {
		return errors.Join(faults...)
	}
	isService := func(e advisor.Entry) bool { return advisor.IsService(e.Profile) }
	if f.demand != (service.Demand{}) && !slices.ContainsFunc(own, isService) {
		return fmt.Errorf("%s has %w: onboard it with --service", application, service.ErrNoSweep)
	}
	return nil
}

// verdicts ranks the nodes for a pod; with a node, only that one.
func verdicts(cluster *view.Cluster, pod occupancy.Resident, node, here string) ([]Verdict, error) {
	if node != "" {
		v, ok, err := cluster.Judge(pod, node)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("no node %s in this cluster: see kubectl get nodes", node)
		}
		return []Verdict{printable(v, here)}, nil
	}
	ranked, err := cluster.Rank(pod)
	if err != nil {
		return nil, err
	}
	all := make([]Verdict, 0, len(ranked))
	for _, v := range ranked {
		all = append(all, printable(v, here))
	}
	return all, nil
}

// cut keeps the best nodes, and the one that the pod is on.
func (f *viewFlags) cut(verdicts []Verdict) (kept []Verdict, more int) {
	for i, v := range verdicts {
		if f.top == 0 || i < f.top || v.Here {
			kept = append(kept, v)
		}
	}
	return kept, len(verdicts) - len(kept)
}

func printWhatIf(a *cli.App, answer WhatIfAnswer, f whatIfFlags) error {
	plot := whatIfPlot(answer, f)
	err := a.PrintDrawnRows(answer, plot, f.pictures, verdictTable(answer.Nodes).WriteCSV, func(w io.Writer) error {
		if f.node != "" {
			return writeVerdict(a, w, answer.Nodes[0])
		}
		if len(answer.Nodes) == 0 {
			_, err := fmt.Fprintln(w, "the cluster has no nodes")
			return err
		}
		if err := verdictTable(answer.Nodes).Write(w, a.Canvas()); err != nil {
			return err
		}
		return writeMore(w, answer.More)
	})
	if a.Format == cli.FormatText || a.Format == cli.FormatCSV { // the others carry them
		a.Warn(answer.Warnings)
	}
	return err
}

func writeMore(w io.Writer, more int) error {
	if more == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "and %d more nodes: see them with --top 0\n", more)
	return err
}

// sanitize keeps what a cluster's object says from steering the terminal.
func sanitize(text string) string { return report.SanitizeText(text) }
