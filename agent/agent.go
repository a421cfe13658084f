package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Options say what an agent keeps true.
type Options struct {
	// Machine and MemoryDomain are the values of the node's labels; an empty
	// one leaves the label as it is.
	Machine, MemoryDomain string
	// Interval is how long a measurement lasts, and how often one is made.
	Interval time.Duration
	Pace     Pace
	// Source names what measures; NoSource where Measure is nil.
	Source string
	// Measure returns the traffic of the interval that it lasted. Nil where
	// nothing on the node can: then no traffic is published.
	Measure func(ctx context.Context, interval time.Duration) (v1alpha1.MeasuredTraffic, error)
	// Now is the clock.
	Now    func() time.Time
	Logger *slog.Logger
}

// NoSource is the name of no counters.
const NoSource = "none"

// Agent keeps one node's entry true.
type Agent struct {
	options Options
	node    *Node
	metrics *Metrics
	// last is what the node says; nil when it says nothing.
	last *v1alpha1.MeasuredTraffic
	// beat is when the loop last went round, in nanoseconds since 1970.
	beat atomic.Int64
	// labeled is true once the node's labels were set.
	labeled atomic.Bool
}

// New returns an agent of a node.
func New(node *Node, o Options) *Agent {
	a := &Agent{options: o, node: node, metrics: NewMetrics()}
	a.beat.Store(o.Now().UnixNano())
	a.metrics.source.WithLabelValues(o.Source).Set(1)
	return a
}

// Published returns the traffic that the node says; nil when it says none.
func (a *Agent) Published() *v1alpha1.MeasuredTraffic { return a.last }

// Alive is nil while the loop goes round.
func (a *Agent) Alive() error {
	silent := a.options.Now().Sub(time.Unix(0, a.beat.Load()))
	if limit := 3*a.options.Interval + time.Minute; silent > limit {
		return fmt.Errorf("nothing happened for %s, of at most %s", silent.Round(time.Second), limit)
	}
	return nil
}

// Ready is nil once the node bears its labels.
func (a *Agent) Ready() error {
	if !a.labeled.Load() {
		return errors.New("the node does not bear its labels yet")
	}
	return nil
}

// Run labels the node, then measures and publishes until ctx ends. What fails
// is logged, counted and tried again with the next interval.
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
	if !a.options.Pace.Due(a.last, traffic) {
		a.metrics.publications.WithLabelValues("held-back").Inc()
		return nil
	}
	if err := a.publish(ctx, traffic); err != nil {
		a.metrics.publications.WithLabelValues("failed").Inc()
		return err
	}
	a.metrics.publications.WithLabelValues("published").Inc()
	return nil
}

// label sets what of the node's labels is not as it should be. Somebody else
// may have changed them meanwhile, and a node that was made anew has none.
func (a *Agent) label(ctx context.Context) error {
	labels, annotations, err := a.node.Read(ctx)
	if err != nil {
		return err
	}
	change := Metadata{Labels: map[string]*string{}, Annotations: map[string]*string{}}
	for label, want := range map[string]string{
		v1alpha1.MachineLabel: a.options.Machine, v1alpha1.MemoryDomainLabel: a.options.MemoryDomain,
	} {
		if want != "" && labels[label] != want {
			change.Labels[label] = &want
		}
	}
	// What an agent with counters left would be taken for the truth until it
	// is too old.
	if _, ok := annotations[v1alpha1.MeasuredTrafficAnnotation]; ok && a.options.Measure == nil {
		change.Annotations[v1alpha1.MeasuredTrafficAnnotation] = nil
	}
	if err := a.node.Change(ctx, change); err != nil {
		return err
	}
	if len(change.Labels) > 0 {
		a.options.Logger.Info("labeled the node", "machine", a.options.Machine, "memoryDomain", a.options.MemoryDomain)
	}
	a.labeled.Store(true)
	a.metrics.machine.Reset()
	a.metrics.machine.WithLabelValues(
		cmp.Or(a.options.Machine, labels[v1alpha1.MachineLabel]),
		cmp.Or(a.options.MemoryDomain, labels[v1alpha1.MemoryDomainLabel]),
	).Set(1)
	return nil
}

func (a *Agent) publish(ctx context.Context, traffic v1alpha1.MeasuredTraffic) error {
	traffic.Time = metav1.NewTime(traffic.Time.UTC().Truncate(time.Second))
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
