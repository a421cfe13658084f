package onboard

import (
	"context"
	"fmt"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// probeSetting returns the unpaced stream of a probe.
func probeSetting(probe string) (interferer.Setting, error) {
	share, ok := profiler.ProbeReadShare(probe)
	if !ok {
		return interferer.Setting{}, fmt.Errorf("unknown probe %q: calibrate again with: bandmate machine", probe)
	}
	return interferer.Setting{Mode: interferer.Stream, ReadShare: units.ReadShare(share), Pattern: interferer.Sequential}, nil
}

// ProbeMap returns the machine's calibration for a regime; nil without one.
func ProbeMap(machine *v1alpha1.MachineProfile, class regime.Class) (*profiler.Map, error) {
	points := profiler.PointsInRegime(machine.Spec.ProbeMap, string(class))
	if len(points) == 0 {
		return nil, nil
	}
	m, err := profiler.NewMap(points, machine.Spec.Sustained)
	if err != nil {
		return nil, fmt.Errorf("probe map of %s: %w", machine.Name, err)
	}
	return m, nil
}

// contentiousness returns the traffic that counters measured, or else infers it
// from the readings of the probes.
func (e *Experiment) contentiousness(application string, measured measured, machine *v1alpha1.MachineProfile) (v1alpha1.Contentiousness, []string, error) {
	if counted := e.Traffic[application]; counted != nil {
		return counted.Contentiousness(), counted.Warnings, nil
	}
	m, err := ProbeMap(machine, measured.class)
	if err != nil {
		return v1alpha1.Contentiousness{}, nil, err
	}
	if m == nil {
		return v1alpha1.Contentiousness{}, nil, fmt.Errorf("machine profile %s has no probe map for the %s placement: run: bandmate machine", machine.Name, measured.class)
	}
	estimate, err := m.Infer(measured.readings)
	if err != nil {
		return v1alpha1.Contentiousness{}, nil, err
	}
	return estimate.Contentiousness(), estimate.Warnings, nil
}

// ProbeRunner runs workloads beside the probes for a profiler.Probe.
type ProbeRunner struct {
	Session *bench.Session
	// Command is the command that Workload.Run runs; nil watches the machine for
	// the workload's duration.
	Command *launch.Command
	// Machine holds the bandwidths of the probes alone, for watching the machine.
	Machine   *v1alpha1.MachineProfile
	Precision sampling.Precision
	Reporter  sampling.Reporter
	// Class is the regime of the last readings of a command.
	Class regime.Class
}

var _ profiler.Runner = (*ProbeRunner)(nil)

// Read runs the workload alone and beside each probe.
func (r *ProbeRunner) Read(ctx context.Context, w profiler.Workload, probes []string) (profiler.Run, error) {
	if r.Command == nil {
		return r.watch(ctx, w.Duration, probes)
	}
	experiment := &Experiment{Session: r.Session, Applications: []Application{{Name: workloadName, Command: *r.Command}}}
	if _, err := experiment.CheckDuration(ctx, experiment.Applications[0]); err != nil {
		return profiler.Run{}, err
	}
	var err error
	if experiment.Pressures, err = r.Session.MeasurePressures(ctx, pressure.WithProbes(nil)); err != nil {
		return profiler.Run{}, err
	}
	conditions := experiment.Conditions()
	for i := range conditions {
		conditions[i].Needed = r.calibrated
	}
	plan := sampling.Plan{
		Conditions: conditions, Precision: r.Precision, Reporter: r.Reporter,
		Tag: r.Session.Tag, Random: r.Session.Random,
	}
	outcome, err := plan.Run(ctx)
	if err != nil {
		return profiler.Run{}, err
	}
	r.Class = outcome.Class
	calibration, err := ProbeMap(r.Machine, outcome.Class)
	if err != nil {
		return profiler.Run{}, err
	}
	curves, err := experiment.curves(workloadName, outcome)
	if err != nil {
		return profiler.Run{}, err
	}
	solo, _ := outcome.Solo(workloadName)
	return profiler.Run{
		Seconds: solo.Seconds, Readings: profiler.ReadingsFromCurves(curves), Map: calibration, Warnings: r.Session.Warnings(),
	}, nil
}

// calibrated reports whether the machine has a probe map for a regime.
func (r *ProbeRunner) calibrated(class regime.Class) bool {
	probes, err := ProbeMap(r.Machine, class)
	return err == nil && probes != nil
}

const workloadName = "workload"

// watchSlice is how long one probe watches before the next takes its turn.
const watchSlice = 200 * time.Millisecond

// watch runs the probes in turn beside whatever else runs on the machine.
func (r *ProbeRunner) watch(ctx context.Context, d time.Duration, probes []string) (profiler.Run, error) {
	speeds := map[string][]float64{}
	settings, alone := map[string]interferer.Setting{}, map[string]float64{}
	for _, probe := range probes {
		setting, err := probeSetting(probe)
		if err != nil {
			return profiler.Run{}, err
		}
		bandwidth, ok := sustainedAt(r.Machine, setting.ReadShare)
		if !ok {
			return profiler.Run{}, fmt.Errorf("machine profile %s lacks the sustained bandwidth at %s reads: run: bandmate machine", r.Machine.Name, setting.ReadShare)
		}
		settings[probe], alone[probe] = setting, bandwidth
	}
	start := time.Now()
	for turn := 0; time.Since(start) < d || turn < len(probes); turn++ {
		probe := probes[turn%len(probes)]
		slice := min(watchSlice, max(d/time.Duration(len(probes)), 10*time.Millisecond))
		achieved, err := r.Session.Alone(ctx, pressure.SettingsOf(settings[probe]), slice)
		if err != nil {
			return profiler.Run{}, err
		}
		speeds[probe] = append(speeds[probe], float64(achieved.Traffic.Total())/alone[probe])
	}
	run := profiler.Run{
		Seconds:  time.Since(start).Seconds(),
		Warnings: append(r.Session.Warnings(), "the machine was watched by probes, which press on it themselves: what ran may have been slowed down"),
	}
	for _, probe := range probes {
		reading := profiler.ProbeReading{Probe: probe, RelativeSpeed: stats.Median(speeds[probe]), Spread: stats.Spread(speeds[probe])}
		if reading.RelativeSpeed > profiler.MaxRelativeSpeed {
			return profiler.Run{}, fmt.Errorf("probe %q is %.1f times as fast as when the machine was measured, alone: measure the machine again, at a quiet moment, with: bandmate machine", probe, reading.RelativeSpeed)
		}
		run.Readings = append(run.Readings, reading)
	}
	return run, nil
}

func sustainedAt(machine *v1alpha1.MachineProfile, share units.ReadShare) (float64, bool) {
	for _, s := range machine.Spec.Sustained {
		if s.ReadShare == float64(share) && s.Pattern != string(interferer.Random) {
			return s.BytesPerSecond, true
		}
	}
	return 0, false
}

// Once runs the command a single time, undisturbed.
func (r *ProbeRunner) Once(ctx context.Context) error {
	_, err := r.Session.RunBeside(ctx, *r.Command, interferer.Setting{Mode: interferer.Idle})
	return err
}
