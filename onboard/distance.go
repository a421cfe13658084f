package onboard

import (
	"context"
	"fmt"

	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
)

// distantRuns is the number of runs alone as a co-runner without counters.
const distantRuns = 3

// distant is an application alone as a co-runner, farther from the memory than the target.
type distant struct {
	cpus    cpuset.CPUSet
	seconds []float64
	traffic *profiler.Summary // by counters; nil without
}

// MeasureDistance runs an application alone where co-runners stand, if they are farther
// from the memory than the target there, and counts its traffic with source, which may be
// nil. Its profile then has both roles.
func (e *Experiment) MeasureDistance(ctx context.Context, a Application, source profiler.Source) error {
	s := e.Session
	if !s.Machine.Distant(s.Placement) {
		return nil
	}
	d := &distant{cpus: s.CorunnerCPUs()}
	run := func(ctx context.Context) error {
		o, err := s.RunAway(ctx, a.Command, d.cpus)
		d.seconds = append(d.seconds, o.Wall.Seconds())
		return err
	}
	var err error
	if source != nil {
		d.traffic, err = measureTraffic(ctx, a.Name, source, profiler.Workload{Run: run})
	} else {
		for range distantRuns {
			if err = run(ctx); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s as a co-runner, on CPUs %s: %w", a.Name, d.cpus, err)
	}
	if e.distant == nil {
		e.distant = map[string]*distant{}
	}
	e.distant[a.Name] = d
	return nil
}

// addTo makes a profile that was measured as a target one of both roles: its
// contentiousness becomes that of the co-runner. Without counters the co-runner is taken
// to move the same bytes as the target, in its own time.
func (d *distant) addTo(p *v1alpha1.ApplicationProfile, target cpuset.CPUSet) {
	solo := sampling.Timing(d.seconds)
	home := &p.Spec.Contentiousness
	p.Spec.Distance = &v1alpha1.Distance{
		CorunnerCPUs: d.cpus.String(), CorunnerSolo: solo,
		TargetReadBytesPerSecond: home.ReadBytesPerSecond, TargetWriteBytesPerSecond: home.WriteBytesPerSecond,
	}
	if d.traffic != nil {
		*home = d.traffic.Contentiousness()
	} else {
		speed := p.Spec.Solo.Seconds / solo.Seconds
		home.ReadBytesPerSecond *= speed
		home.WriteBytesPerSecond *= speed
		for i := range home.Timeline {
			t := &home.Timeline[i]
			t.Seconds /= speed
			t.ReadBytesPerSecond *= speed
			t.WriteBytesPerSecond *= speed
		}
	}
	if d.cpus.Size() < target.Size() {
		p.Spec.Warnings = append(p.Spec.Warnings, fmt.Sprintf(
			"as a co-runner it had %d CPUs (%s), as a target %d: the difference of its times is not that of the memory alone", d.cpus.Size(), d.cpus, target.Size()))
	}
}
