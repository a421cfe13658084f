package v1alpha1

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns every fault of p at once, each with its field path, the bad
// value and what is wanted; empty for a sound profile. Numbers are judged at
// SignificantDigits, as a file holds them. An empty apiVersion and kind are
// accepted: the Go type says them.
func (p *ApplicationProfile) Validate() field.ErrorList {
	f := &faults{}
	f.header(p.TypeMeta, &p.ObjectMeta, KindApplicationProfile)
	f.application(field.NewPath("spec"), p.Spec.rounded())
	return f.list
}

func (f *faults) application(p *field.Path, s *ApplicationProfileSpec) {
	if command := p.Child("command"); f.length(command, len(s.Command), 0, MaxArguments) {
		for i, argument := range s.Command {
			f.text(command.Index(i), argument, MaxArgumentBytes, "\n\t")
		}
	}
	f.name(p.Child("machine", "name"), s.Machine.Name)
	f.text(p.Child("machine", "cpuModel"), s.Machine.CPUModel, MaxStringBytes, "")
	f.measurement(p.Child("measurement"), &s.Measurement)
	f.timing(p.Child("solo"), &s.Solo)
	f.contentiousness(p.Child("contentiousness"), &s.Contentiousness)
	f.curves(p.Child("curves"), s.Curves)
	f.communication(p.Child("communication"), s.Communication)
	f.carried(p.Child("carried"), s.Carried)
	f.phases(p.Child("phases"), s.Phases)
	f.warnings(p.Child("warnings"), s.Warnings)
}

func (f *faults) timing(p *field.Path, t *Timing) {
	f.above(p.Child("seconds"), t.Seconds, 0, MaxSeconds, "want seconds, above 0 to 1e9")
	f.atLeast(p.Child("repeats"), t.Repeats, 1)
	f.spread(p.Child("relativeSpread"), t.RelativeSpread, t.Repeats)
}

func (f *faults) contentiousness(p *field.Path, c *Contentiousness) {
	f.bandwidth(p.Child("readBytesPerSecond"), c.ReadBytesPerSecond)
	f.bandwidth(p.Child("writeBytesPerSecond"), c.WriteBytesPerSecond)
	if total := c.ReadBytesPerSecond + c.WriteBytesPerSecond; total > 0 && total < MinBytesPerSecond {
		f.invalid(p, total, "want reads and writes in bytes per second, together 0 or at least 1e3 (is this in GB/s?)")
	}
	if c.Source == "" {
		f.list = append(f.list, field.Required(p.Child("source"), "want what measured it, such as imc, probe or imported"))
	}
	f.text(p.Child("source"), c.Source, MaxStringBytes, "")
	if u := c.RelativeUncertainty; u != nil {
		f.within(p.Child("relativeUncertainty"), *u, 0, math.MaxFloat64, "want a finite half width of 0 or more")
	}
	if u := c.ReadShareUncertainty; u != nil {
		f.share(p.Child("readShareUncertainty"), *u)
	}
	f.timeline(p.Child("timeline"), c.Timeline)
}

func (f *faults) timeline(p *field.Path, timeline []TrafficSample) {
	if !f.length(p, len(timeline), 0, MaxTimeline) {
		return
	}
	previous := 0.0
	for i, s := range timeline {
		at := p.Index(i)
		f.above(at.Child("seconds"), s.Seconds, previous, MaxSeconds,
			fmt.Sprintf("want seconds above the previous %v, to 1e9", previous))
		previous = s.Seconds
		f.bandwidth(at.Child("readBytesPerSecond"), s.ReadBytesPerSecond)
		f.bandwidth(at.Child("writeBytesPerSecond"), s.WriteBytesPerSecond)
	}
}

// curveKey tells the curves of a family apart.
type curveKey struct {
	readShare float64
	pattern   string
}

func (k curveKey) String() string { return fmt.Sprintf("read share %v, %s", k.readShare, k.pattern) }

func (f *faults) curves(p *field.Path, curves []SensitivityCurve) {
	if !f.length(p, len(curves), 1, MaxCurves) {
		return
	}
	seen := map[curveKey]bool{}
	for i, c := range curves {
		at, key := p.Index(i), curveKey{c.ReadShare, normalPattern(c.Pattern)}
		f.share(at.Child("readShare"), c.ReadShare)
		f.pattern(at.Child("pattern"), c.Pattern)
		duplicate(f, at, seen, key, key.String())
		f.points(at.Child("points"), c.Points)
	}
}

func (f *faults) points(p *field.Path, points []CurvePoint) {
	if !f.length(p, len(points), 1, MaxCurvePoints) {
		return
	}
	levels := map[float64]bool{}
	for i, c := range points {
		at := p.Index(i)
		f.above(at.Child("level"), c.Level, 0, MaxLevel, wantCurveLevel)
		duplicate(f, at.Child("level"), levels, c.Level, c.Level)
		x := at.Child("interfererBytesPerSecond")
		f.within(x, c.InterfererBytesPerSecond, MinBytesPerSecond, MaxBytesPerSecond, wantInterferer)
		if i > 0 && c.InterfererBytesPerSecond <= points[i-1].InterfererBytesPerSecond {
			f.invalid(x, c.InterfererBytesPerSecond, fmt.Sprintf("want points in rising order, above the previous %v", points[i-1].InterfererBytesPerSecond))
		}
		if a := c.AchievedBytesPerSecond; a != nil {
			f.bandwidth(at.Child("achievedBytesPerSecond"), *a)
		}
		f.above(at.Child("normalizedPerformance"), c.NormalizedPerformance, 0, MaxNormalizedPerformance,
			"want solo time ÷ co-run time, above 0 to 1.5")
		f.repeats(at, c)
	}
}

func (f *faults) carried(p *field.Path, c *Carrying) {
	if c == nil {
		return
	}
	f.name(p.Child("fromMachine"), c.FromMachine)
	f.oneOf(p.Child("method"), c.Method, CarriedByCapacity, CarriedBySustained)
	f.share(p.Child("lossUncertainty"), c.LossUncertainty)
	if b := c.CapacityBytesPerSecond; b != nil {
		f.within(p.Child("capacityBytesPerSecond"), *b, MinBytesPerSecond, MaxBytesPerSecond, wantInterferer)
	}
}

// repeats wants an inferred point to have none, and any other one or more.
func (f *faults) repeats(at *field.Path, c CurvePoint) {
	if !c.Inferred {
		f.atLeast(at.Child("repeats"), c.Repeats, 1)
		f.spread(at.Child("spread"), c.Spread, c.Repeats)
		return
	}
	if c.Repeats != 0 {
		f.invalid(at.Child("repeats"), c.Repeats, "want 0: an inferred point was not measured")
	}
	f.spread(at.Child("spread"), c.Spread, 2)
}

func (f *faults) phases(p *field.Path, phases []Phase) {
	if len(phases) == 0 || !f.length(p, len(phases), 0, MaxPhases) {
		return
	}
	sum := 0.0
	for i, phase := range phases {
		at := p.Index(i)
		f.above(at.Child("timeShare"), phase.TimeShare, 0, 1, "want a share above 0 to 1")
		f.bandwidth(at.Child("readBytesPerSecond"), phase.ReadBytesPerSecond)
		f.bandwidth(at.Child("writeBytesPerSecond"), phase.WriteBytesPerSecond)
		sum += phase.TimeShare
	}
	f.within(p, sum, 1-phaseSumTolerance, 1+phaseSumTolerance, "want time shares that add up to 1")
}
