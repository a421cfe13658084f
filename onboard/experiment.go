package onboard

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
)

// Application is a command with the name its profile gets.
type Application struct {
	Name    string
	Command launch.Command
}

// Experiment measures applications under the same pressures.
type Experiment struct {
	Session      *bench.Session
	Applications []Application
	Pressures    []pressure.Measured
	// Traffic is what counters measured of an application alone, by its name.
	// The traffic of other applications is inferred from their curves.
	Traffic map[string]*profiler.Summary
	// Version is written into the profiles.
	Version string

	distant map[string]*distant // by the name of the application
}

// tooShort is the shortest solo time whose start-up noise, about a
// millisecond, stays near the precision that is asked for.
const tooShort = 20 * time.Millisecond

// runSolo runs an application once, beside a CPU that spins.
func runSolo(ctx context.Context, s *bench.Session, a Application) (sampling.Observation, error) {
	o, err := s.RunBeside(ctx, a.Command, interferer.Setting{Mode: interferer.Spin})
	if err != nil {
		return sampling.Observation{}, fmt.Errorf("%s alone: %w", a.Name, err)
	}
	return o, nil
}

// CheckDuration runs an application once, beside a spinning CPU, and fails
// when it fails or is too short to time. It returns the time of the run.
func (e *Experiment) CheckDuration(ctx context.Context, a Application) (time.Duration, error) {
	observation, err := runSolo(ctx, e.Session, a)
	if err != nil {
		return 0, err
	}
	if observation.Wall < tooShort {
		return 0, errTooShort(a.Name, observation.Wall)
	}
	return observation.Wall, nil
}

func errTooShort(name string, wall time.Duration) error {
	needed := int(tooShort/max(wall, time.Microsecond))*5 + 1
	return fmt.Errorf("%s takes %v, too short to time: give it more work, or run it several times per sample with --iterations %d", name, wall.Round(10*time.Microsecond), needed)
}

// soloCondition is the solo control of an application.
func (e *Experiment) soloCondition(a Application) sampling.Condition {
	return sampling.Condition{Target: a.Name, Run: func(ctx context.Context) (sampling.Observation, error) {
		return e.Session.RunBeside(ctx, a.Command, interferer.Setting{Mode: interferer.Spin})
	}}
}

// Conditions returns the solo control and every pressure, for each application.
func (e *Experiment) Conditions() []sampling.Condition {
	var all []sampling.Condition
	for _, a := range e.Applications {
		all = append(all, e.soloCondition(a))
		for _, p := range e.Pressures {
			all = append(all, sampling.Condition{
				Target: a.Name, Beside: p.String(),
				Run: func(ctx context.Context) (sampling.Observation, error) {
					return e.Session.RunUnder(ctx, a.Command, p.Settings())
				},
			})
		}
	}
	return all
}

// Profile turns a finished plan into an application's profile. The
// contentiousness comes from counters where they were read, otherwise from the
// machine's probe map for the outcome's regime.
func (e *Experiment) Profile(a Application, o *sampling.Outcome, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	curves, err := e.curves(a.Name, o)
	if err != nil {
		return nil, err
	}
	return e.profileOf(a, o, machine, curves)
}

// profileOf is Profile with the measured curves.
func (e *Experiment) profileOf(a Application, o *sampling.Outcome, machine *v1alpha1.MachineProfile, curves []v1alpha1.SensitivityCurve) (*v1alpha1.ApplicationProfile, error) {
	solo, ok := o.Solo(a.Name)
	if !ok {
		return nil, fmt.Errorf("%s was never run alone", a.Name)
	}
	return e.profile(a, measured{circumstancesOfRuns(o), solo, curves, profiler.ReadingsFromCurves(curves)}, machine)
}

// circumstances are those under which something was measured.
type circumstances struct {
	class     regime.Class
	roundTrip time.Duration
	dropped   int
}

func circumstancesOfRuns(o *sampling.Outcome) circumstances {
	return circumstances{o.Class, o.RoundTrip, o.Dropped}
}

// measured is what was measured of an application.
type measured struct {
	circumstances
	solo   v1alpha1.Timing
	curves []v1alpha1.SensitivityCurve
	// readings are those of the probes beside it.
	readings []profiler.ProbeReading
}

// TrafficWarning begins the warnings of a profile about its contentiousness, which is replaced
// with them.
const TrafficWarning = "traffic: "

func (e *Experiment) profile(a Application, m measured, machine *v1alpha1.MachineProfile) (*v1alpha1.ApplicationProfile, error) {
	traffic, warnings, err := e.contentiousness(a.Name, m, machine)
	if err != nil {
		return nil, fmt.Errorf("contentiousness of %s: %w", a.Name, err)
	}
	profile := &v1alpha1.ApplicationProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindApplicationProfile},
		ObjectMeta: metav1.ObjectMeta{Name: a.Name},
		Spec: v1alpha1.ApplicationProfileSpec{
			Command:         a.Command.Args,
			Machine:         v1alpha1.MachineReference{Name: machine.Name, CPUModel: e.Session.Machine.CPUModel},
			Measurement:     measurement(e.Session, m.circumstances, e.Version),
			Solo:            m.solo,
			Contentiousness: traffic,
			Curves:          m.curves,
			Warnings:        e.Session.Warnings(),
		},
	}
	for _, w := range warnings {
		profile.Spec.Warnings = append(profile.Spec.Warnings, TrafficWarning+w)
	}
	if d := e.distant[a.Name]; d != nil {
		d.addTo(profile, e.Session.Placement.Target)
	}
	if s := e.Session; s.Count() > 1 {
		profile.Spec.Measurement.Interferers = s.Count()
		profile.Spec.Measurement.InterfererCPUs = s.InterfererCPUs().String()
	}
	return profile, nil
}

// measurement records how and where samples were taken.
func measurement(s *bench.Session, c circumstances, version string) v1alpha1.Measurement {
	return v1alpha1.Measurement{
		Time:                 metav1.NewTime(time.Now().UTC().Truncate(time.Second)),
		BandmateVersion:      version,
		TargetCPUs:           s.Placement.Target.String(),
		InterfererCPUs:       s.Placement.Interferer.String(),
		MemoryNode:           s.Placement.MemoryNode,
		SharedLastLevelCache: s.Placement.SharedLastLevelCache,
		Regime:               &v1alpha1.Regime{Name: string(c.class), RoundTripNanoseconds: float64(c.roundTrip)},
		DroppedSamples:       c.dropped,
	}
}

func (e *Experiment) curves(target string, o *sampling.Outcome) ([]v1alpha1.SensitivityCurve, error) {
	var curves []v1alpha1.SensitivityCurve
	for _, p := range e.Pressures {
		result, ok := o.Result(sampling.Key{Target: target, Beside: p.String()})
		if !ok {
			return nil, fmt.Errorf("%s was never run beside %s", target, p)
		}
		alone, achieved := p.Bandwidths(result)
		curves = pressure.AddPoint(curves, p, v1alpha1.CurvePoint{
			Level: p.Level, InterfererBytesPerSecond: alone, AchievedBytesPerSecond: &achieved,
			NormalizedPerformance: float64(result.NormalizedPerformance), Repeats: result.Repeats, Spread: result.Spread,
		})
	}
	return pressure.Ordered(curves), nil
}
