package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Options configure an agent.
type Options struct {
	// Machine and MemoryDomain are the values of the node's labels; an empty
	// one leaves the label as it is.
	Machine, MemoryDomain string
	// Recognize returns the machine of a node that is labeled with one, or with none. An
	// empty name comes with why; with a name, why is a warning. It is called at first,
	// at most once in Retry until it returns a name, and ten times less often then. Nil
	// leaves the label as Machine says.
	Recognize func(ctx context.Context, label string) (name, why string, err error)
	// Retry is the shortest time between calls of Recognize.
	Retry time.Duration
	// Interval is how long a measurement lasts, and how often one is made.
	Interval time.Duration
	Pace     Pace
	// Source names what measures; NoSource where Measure is nil.
	Source string
	// Measure returns the traffic of the interval that it lasted. Nil where
	// nothing on the node can: then no traffic is published.
	Measure func(ctx context.Context, interval time.Duration) (v1alpha1.MeasuredTraffic, error)
	// ExclusiveCPUs returns the CPUs that pods use exclusively, by UID. Nil disables
	// their publication.
	ExclusiveCPUs func() (map[string]string, error)
	// Now is the clock.
	Now    func() time.Time
	Logger *slog.Logger
}

// NoSource is the name of no counters.
const NoSource = "none"

// Agent labels one node and publishes its memory traffic.
type Agent struct {
	options Options
	node    *Node
	metrics *Metrics
	// last is the published traffic; nil when there is none. moved is true where it was
	// published because of a change.
	last  *v1alpha1.MeasuredTraffic
	moved bool
	// beat is when the last interval began, in nanoseconds since 1970.
	beat atomic.Int64
	// machine is the recognized one, why what Recognize said with it, and asked when it
	// was called last.
	machine, why string
	asked        time.Time
	// fault is the reason, last logged, why the CPUs of pods are not published.
	fault string
	// labeled is true once the node's labels were set.
	labeled atomic.Bool
}

// New returns an agent of a node.
func New(node *Node, o Options) *Agent {
	a := &Agent{options: o, node: node, metrics: NewMetrics(), machine: o.Machine}
	a.beat.Store(o.Now().UnixNano())
	a.metrics.source.WithLabelValues(o.Source).Set(1)
	return a
}

// Published returns the published traffic; nil when there is none.
func (a *Agent) Published() *v1alpha1.MeasuredTraffic { return a.last }

// Machine returns the value of the node's label and a warning, or an empty value and
// why it is unknown.
func (a *Agent) Machine() (name, why string) { return a.machine, a.why }

// Alive returns an error when no interval has begun for three intervals and a minute.
func (a *Agent) Alive() error {
	silent := a.options.Now().Sub(time.Unix(0, a.beat.Load()))
	if limit := 3*a.options.Interval + time.Minute; silent > limit {
		return fmt.Errorf("the agent was inactive for %s: want at most %s", silent.Round(time.Second), limit)
	}
	return nil
}

// Ready returns nil once the node is labeled.
func (a *Agent) Ready() error {
	if !a.labeled.Load() {
		return errors.New("the node is not labeled yet")
	}
	return nil
}

// Run labels the node, then measures and publishes until ctx ends. Failures are
// logged, counted and retried in the next interval.
func (a *Agent) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		a.beat.Store(a.options.Now().UnixNano())
		started := time.Now()
		if err := a.Once(ctx); err != nil && ctx.Err() == nil {
			a.options.Logger.Error("will try again", "error", err)
		}
		rest(ctx, a.options.Interval-time.Since(started))
	}
	return nil
}

// rest waits, not longer than ctx lasts.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Once brings the node's entry up to date: labels, and one measurement.
func (a *Agent) Once(ctx context.Context) error {
	if err := a.label(ctx); err != nil {
		return err
	}
	if a.options.Measure == nil {
		return nil
	}
	traffic, err := a.options.Measure(ctx, a.options.Interval)
	if err != nil {
		a.metrics.failed()
		return fmt.Errorf("measure: %w", err)
	}
	a.metrics.measured(traffic)
	// What changed may have begun within the interval: the next measurement shows all of it.
	moved := a.last != nil && a.options.Pace.moved(a.last, traffic)
	if !moved && !a.moved && !a.options.Pace.Due(a.last, traffic) {
		a.metrics.publications.WithLabelValues("held-back").Inc()
		return nil
	}
	if err := a.publish(ctx, traffic); err != nil {
		a.metrics.publications.WithLabelValues("failed").Inc()
		return err
	}
	a.moved = moved
	a.metrics.publications.WithLabelValues("published").Inc()
	return nil
}

// label corrects the node's labels, which others may change and a new node lacks.
func (a *Agent) label(ctx context.Context) error {
	labels, annotations, err := a.node.Read(ctx)
	if err != nil {
		return err
	}
	a.recognize(ctx, labels[v1alpha1.MachineLabel])
	change := Metadata{Labels: map[string]*string{}, Annotations: map[string]*string{}}
	for label, want := range map[string]string{
		v1alpha1.MachineLabel: a.machine, v1alpha1.MemoryDomainLabel: a.options.MemoryDomain,
	} {
		if want != "" && labels[label] != want {
			change.Labels[label] = &want
		}
	}
	a.exclusive(annotations, change)
	// Remove the measurement of an earlier agent with counters.
	if _, ok := annotations[v1alpha1.MeasuredTrafficAnnotation]; ok && a.options.Measure == nil {
		change.Annotations[v1alpha1.MeasuredTrafficAnnotation] = nil
	}
	if err := a.node.Change(ctx, change); err != nil {
		return err
	}
	if len(change.Labels) > 0 {
		a.options.Logger.Info("labeled the node", "machine", a.machine, "memoryDomain", a.options.MemoryDomain)
	}
	a.labeled.Store(true)
	a.metrics.machine.Reset()
	a.metrics.machine.WithLabelValues(
		cmp.Or(a.machine, labels[v1alpha1.MachineLabel]),
		cmp.Or(a.options.MemoryDomain, labels[v1alpha1.MemoryDomainLabel]),
	).Set(1)
	return nil
}

// exclusive adds to a change the CPUs that pods have for themselves. Where they cannot be
// read, what the node says of them is removed: it may be wrong by now.
func (a *Agent) exclusive(annotations map[string]string, change Metadata) {
	var byPod map[string]string
	fault := ""
	if a.options.ExclusiveCPUs != nil {
		var err error
		if byPod, err = a.options.ExclusiveCPUs(); err != nil {
			fault = "the CPUs of pods cannot be read: " + err.Error()
		}
	}
	text, err := json.Marshal(byPod)
	if err != nil || len(text) > v1alpha1.MaxExclusiveCPUsBytes {
		fault = "the CPUs of pods do not fit into an annotation"
	}
	if fault != "" && fault != a.fault {
		a.options.Logger.Warn(fault)
	}
	a.fault = fault
	said, saying := annotations[v1alpha1.ExclusiveCPUsAnnotation]
	switch value := string(text); {
	case fault == "" && len(byPod) > 0 && said != value:
		change.Annotations[v1alpha1.ExclusiveCPUsAnnotation] = &value
	case saying && (fault != "" || len(byPod) == 0):
		change.Annotations[v1alpha1.ExclusiveCPUsAnnotation] = nil
	}
}

// recognize sets the machine where none was configured. The profile may arrive after
// the agent has started.
func (a *Agent) recognize(ctx context.Context, label string) {
	now := a.options.Now()
	wait := a.options.Retry
	switch {
	case a.machine != "" && label != "" && label != a.machine:
		wait = 0 // somebody chose another one
	case a.machine != "":
		wait = recheck * a.options.Retry // its profile may be deleted
	}
	if a.options.Recognize == nil || (!a.asked.IsZero() && now.Sub(a.asked) < wait) {
		return
	}
	name, why, err := a.options.Recognize(ctx, label)
	if err != nil {
		why = "the machine cannot be recognized: " + err.Error()
	}
	if why != "" && why != a.why {
		a.options.Logger.Warn(why)
	}
	a.why, a.asked = why, now
	if name != "" || err == nil {
		a.machine = name
	}
}

// recheck is after how many times Retry a recognized machine is recognized again.
const recheck = 10

func (a *Agent) publish(ctx context.Context, traffic v1alpha1.MeasuredTraffic) error {
	traffic.Start, traffic.Time = wholeSeconds(traffic.Start), wholeSeconds(traffic.Time)
	text, err := json.Marshal(traffic)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	value := string(text)
	if err := a.node.Change(ctx, Metadata{Annotations: map[string]*string{v1alpha1.MeasuredTrafficAnnotation: &value}}); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	a.last = &traffic
	return nil
}

// wholeSeconds cuts a time as the API server cuts the starts of pods. A pod that started in
// the second of t then does not count as one that ran before it.
func wholeSeconds(t metav1.Time) metav1.Time {
	return metav1.NewTime(t.UTC().Truncate(time.Second))
}

// Pace limits how often an agent writes to the API server.
type Pace struct {
	// Change is how much the read or the write bandwidth must have moved since
	// the last publication, relative to the total then; 0.1 is 10%.
	Change float64
	// Floor is the total, in bytes per second, below which traffic counts as zero.
	Floor float64
	// Refresh is the longest time between publications, which distinguishes a
	// steady node from a dead agent.
	Refresh time.Duration
}

// DefaultPace publishes changes of at least 10% of the total above 100 MB/s, and at
// least once a minute.
func DefaultPace() Pace {
	return Pace{Change: 0.1, Floor: 100e6, Refresh: time.Minute}
}

// Due reports whether next is worth publishing after last, which is nil when
// nothing was published yet. The age of a last from the future, by a clock that was set
// back, is its distance from next.
func (p Pace) Due(last *v1alpha1.MeasuredTraffic, next v1alpha1.MeasuredTraffic) bool {
	if last == nil || next.Time.Sub(last.Time.Time).Abs() >= p.Refresh {
		return true
	}
	return p.moved(last, next)
}

// moved reports whether traffic changed enough to be published at once.
func (p Pace) moved(last *v1alpha1.MeasuredTraffic, next v1alpha1.MeasuredTraffic) bool {
	total := last.ReadBytesPerSecond + last.WriteBytesPerSecond
	if max(total, next.ReadBytesPerSecond+next.WriteBytesPerSecond) < p.Floor {
		return false
	}
	change := max(math.Abs(next.ReadBytesPerSecond-last.ReadBytesPerSecond), math.Abs(next.WriteBytesPerSecond-last.WriteBytesPerSecond))
	return change >= p.Change*max(total, p.Floor)
}
