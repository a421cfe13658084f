package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/units"
)

type explainFlags struct {
	view      viewFlags
	namespace string
}

// NewExplain returns the command explain.
func NewExplain(a *cli.App) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain POD",
		Short: "Explain why a Kubernetes pod is where it is, or why it is pending",
		Long: `Shows the scheduler's events of a pod, and predicts the slowdowns of the pod
and its neighbors on its node and on every other node, with the formulas of the
scheduler plugin. The cluster may have changed since the pod was placed; the
events contain the prediction of that moment.`,
		Example: `  kubectl bandmate explain db-0
  kubectl bandmate explain db-0 -n shop -o json`,
		Args: cli.WantArgs(cobra.ExactArgs(1), "one pod"),
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(cmd.Context(), a, args[0], f) },
	}
	f.view.add(cmd.Flags())
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the pod (default: the context's)")
	return cmd
}

// PodExplanation is what explain prints.
type PodExplanation struct {
	Pod         string  `json:"pod"`
	Namespace   string  `json:"namespace"`
	Application string  `json:"application,omitempty"`
	CPUs        float64 `json:"cpus"`
	Limit       float64 `json:"limit,omitempty"`
	// Load and MaxP99Seconds are those of a service; absent where they are not said.
	Load          float64     `json:"load,omitempty"`
	MaxP99Seconds float64     `json:"maxP99Seconds,omitempty"`
	Phase         string      `json:"phase"`
	Scheduler     string      `json:"scheduler"`
	Node          string      `json:"node,omitempty"`
	Events        []eventLine `json:"events"`
	// Nodes are ranked as the scheduler would, the pod's own among them.
	Nodes    []Verdict `json:"nodes"`
	More     int       `json:"more,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// eventLine is an event of the scheduler on the pod.
type eventLine struct {
	Time    string `json:"time,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func runExplain(ctx context.Context, a *cli.App, name string, f explainFlags) error {
	if err := f.view.validate(); err != nil {
		return err
	}
	objects, err := newCore(f.view.ClusterFlags)
	if err != nil {
		return err
	}
	if f.namespace == "" {
		if f.namespace, _, err = f.view.Loader().Namespace(); err != nil {
			return fmt.Errorf("which namespace? %w: give it with -n", err)
		}
	}
	object, err := objects.pod(ctx, f.namespace, name)
	if err != nil {
		return err
	}
	cluster, _, err := look(ctx, f.view, objects, object.Spec.SchedulerName)
	if err != nil {
		return err
	}
	pod, faults := view.ReadPod(object)
	e := PodExplanation{
		Pod: name, Namespace: f.namespace, Application: pod.Application, CPUs: pod.CPUs, Limit: float64(pod.Limit),
		Load: pod.Demand.Load, MaxP99Seconds: pod.Demand.MaxP99.Seconds(),
		Phase: string(object.Status.Phase), Scheduler: object.Spec.SchedulerName, Node: object.Spec.NodeName,
	}
	if e.Node == "" {
		for _, fault := range faults { // those of pods on nodes are among the cluster's
			e.Warnings = append(e.Warnings, fault.Error())
		}
	}
	if e.Events, err = objects.events(ctx, object); err != nil {
		e.Warnings = append(e.Warnings, err.Error())
	}
	if cluster.Counts(pod) && !view.Finished(object) {
		all, err := verdicts(cluster, pod, "", e.Node)
		if err != nil {
			return err
		}
		e.Nodes, e.More = f.view.cut(all)
	}
	e.Warnings = slices.Concat(cluster.Warnings, e.Warnings)
	if err := a.Print(e, func(w io.Writer) error { return writePlacement(a, w, e) }); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(e.Warnings)
	}
	return nil
}

// events are what schedulers said of the pod, oldest first.
func (c core) events(ctx context.Context, p *corev1.Pod) ([]eventLine, error) {
	type timed struct {
		at time.Time
		eventLine
	}
	var found []timed
	var list corev1.EventList
	err := c.pages(ctx, "events", p.Namespace, "involvedObject.name="+p.Name, &list, func() {
		for _, e := range list.Items {
			if e.InvolvedObject.Name != p.Name || e.InvolvedObject.Kind != "Pod" || (e.InvolvedObject.UID != "" && e.InvolvedObject.UID != p.UID) {
				continue
			}
			at := e.EventTime.Time
			if s := e.Series; s != nil {
				at = s.LastObservedTime.Time
			}
			if at.IsZero() {
				at = e.LastTimestamp.Time
			}
			line := eventLine{Reason: e.Reason, Message: e.Message}
			if !at.IsZero() {
				line.Time = at.UTC().Format(time.RFC3339)
			}
			found = append(found, timed{at, line})
		}
		list = corev1.EventList{ListMeta: list.ListMeta}
	})
	slices.SortStableFunc(found, func(a, b timed) int { return a.at.Compare(b.at) })
	lines := []eventLine{}
	for _, f := range found {
		lines = append(lines, f.eventLine)
	}
	return lines, err
}

func writePlacement(a *cli.App, w io.Writer, e PodExplanation) error {
	fmt.Fprintf(w, "%s/%s: application %s, %.4g CPUs", sanitize(e.Namespace), sanitize(e.Pod), sanitize(cmp.Or(e.Application, "not named")), e.CPUs)
	if e.Limit != 0 {
		fmt.Fprintf(w, ", at most %s", units.Slowdown(e.Limit))
	}
	if e.Load != 0 {
		fmt.Fprintf(w, ", %.6g requests per second", e.Load)
	}
	if e.MaxP99Seconds != 0 {
		fmt.Fprintf(w, ", p99 at most %s", report.Seconds(e.MaxP99Seconds))
	}
	fmt.Fprintf(w, ", scheduler %s\n", sanitize(cmp.Or(e.Scheduler, "default-scheduler")))
	for _, event := range e.Events {
		fmt.Fprint(w, report.Paragraph("  ", sanitize(event.Time+" "+event.Reason+": "+event.Message), a.Canvas()))
	}
	if e.Nodes == nil {
		why := "the pod is finished"
		if e.Application == "" {
			why = "the pod names no application: label it bandmate.dev/application"
		}
		_, err := fmt.Fprintf(w, "nothing to predict: %s\n", why)
		return err
	}
	fmt.Fprintln(w)
	if e.Node != "" {
		if i := slices.IndexFunc(e.Nodes, func(v Verdict) bool { return v.Here }); i >= 0 {
			fmt.Fprint(w, "where it is: ")
			if err := writeVerdict(a, w, e.Nodes[i]); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "\nif it were placed now:\n")
	} else if len(e.Nodes) > 0 && e.Nodes[0].Unverifiable != "" {
		fmt.Fprintln(w, "it waits: no node is left on which every limit can be checked")
	} else if len(e.Nodes) > 0 && e.Nodes[0].Rejected {
		fmt.Fprintln(w, "it waits: every node is beyond a limit, its own or that of a pod there")
	}
	if err := verdictTable(e.Nodes).Write(w, a.Canvas()); err != nil {
		return err
	}
	return writeMore(w, e.More)
}
