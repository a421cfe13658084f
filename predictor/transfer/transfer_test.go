package transfer_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/transfer"
)

// app is the profile of an application of 10 GB/s on the machine old.
func app() *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindApplicationProfile, "solver"
	p.Spec.Machine.Name = "old"
	p.Spec.Measurement.Regime = &v1alpha1.Regime{Name: "cross-complex", RoundTripNanoseconds: 300}
	p.Spec.Solo = v1alpha1.Timing{Seconds: 2, Repeats: 3}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond: 8e9, WriteBytesPerSecond: 2e9, Source: "imc",
		Timeline: []v1alpha1.TrafficSample{{Seconds: 2, ReadBytesPerSecond: 8e9, WriteBytesPerSecond: 2e9}},
	}
	p.Spec.Phases = []v1alpha1.Phase{{TimeShare: 1, ReadBytesPerSecond: 8e9, WriteBytesPerSecond: 2e9}}
	p.Spec.Curves = []v1alpha1.SensitivityCurve{
		{ReadShare: 0.5, Points: []v1alpha1.CurvePoint{
			{Level: 0.5, InterfererBytesPerSecond: 10e9, AchievedBytesPerSecond: new(9.5e9), NormalizedPerformance: 0.9, Repeats: 3},
			{Level: 1, InterfererBytesPerSecond: 20e9, AchievedBytesPerSecond: new(17e9), NormalizedPerformance: 0.7, Repeats: 3},
		}},
		{ReadShare: 1, Points: []v1alpha1.CurvePoint{
			{Level: 0.5, InterfererBytesPerSecond: 10e9, AchievedBytesPerSecond: new(9.8e9), NormalizedPerformance: 0.95, Repeats: 3},
			{Level: 1, InterfererBytesPerSecond: 20e9, AchievedBytesPerSecond: new(18e9), NormalizedPerformance: 0.8, Repeats: 3},
		}},
	}
	return p
}

// machine sustains so much at 50% and 100% reads, and carries so much in all.
func machine(name string, sustained, carries float64) *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{}
	m.APIVersion, m.Kind, m.Name = v1alpha1.APIVersion, v1alpha1.KindMachineProfile, name
	m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = 1, 1, 2
	m.Spec.Sustained = []v1alpha1.SustainedBandwidth{
		{ReadShare: 0.5, BytesPerSecond: sustained, Repeats: 3}, {ReadShare: 1, BytesPerSecond: sustained, Repeats: 3},
	}
	if carries > 0 {
		m.Spec.ProbeMap = []v1alpha1.ProbePoint{{
			Probe: "reader", Regime: "cross-complex", ReadShare: 1, Level: 1, Repeats: 3,
			InterfererBytesPerSecond: carries, AchievedBytesPerSecond: carries - sustained/2, RelativeSpeed: 0.5,
		}}
	}
	return m
}

func carry(t *testing.T, p *v1alpha1.ApplicationProfile, from, to *v1alpha1.MachineProfile) *v1alpha1.ApplicationProfile {
	t.Helper()
	before := p.DeepCopy()
	moved, err := transfer.Profile(p, from, to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, p); diff != "" {
		t.Fatalf("the measured profile was changed: %s", diff)
	}
	if faults := moved.Validate(); len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return moved
}

// What was measured in both roles is scaled alike, and dropped where all are equally
// near the memory.
func TestDistance(t *testing.T) {
	p := app()
	p.Spec.Contentiousness.Timeline[0].Seconds = 3
	p.Spec.Distance = &v1alpha1.Distance{
		CorunnerCPUs: "4-7", CorunnerSolo: v1alpha1.Timing{Seconds: 3, Repeats: 3},
		TargetReadBytesPerSecond: 12e9, TargetWriteBytesPerSecond: 3e9,
	}
	slower := machine("new", 10e9, 12e9)
	slower.Spec.Sockets = 2
	moved := carry(t, p, machine("old", 20e9, 30e9), slower)
	d := moved.Spec.Distance
	if d == nil || d.CorunnerCPUs != "" {
		t.Fatalf("distance %+v, want one of no particular CPUs", d)
	}
	speed := p.Spec.Solo.Seconds / moved.Spec.Solo.Seconds
	for _, ratio := range []float64{3 / d.CorunnerSolo.Seconds, d.TargetReadBytesPerSecond / 12e9, d.TargetWriteBytesPerSecond / 3e9} {
		if math.Abs(ratio-speed) > 1e-9 {
			t.Errorf("scaled by %v, want the speed alone, %v", ratio, speed)
		}
	}
	for link, sockets := range map[string]int{v1alpha1.LinkNone: 2, "": 1} {
		near := machine("near", 10e9, 12e9)
		near.Spec.Link, near.Spec.Sockets = link, sockets
		asTarget(t, p, carry(t, p, machine("old", 20e9, 30e9), near))
	}
	// The curves were measured beside the traffic as a target, whatever a co-runner causes.
	farther := p.DeepCopy()
	farther.Spec.Contentiousness.ReadBytesPerSecond /= 4
	again := carry(t, farther, machine("old", 20e9, 30e9), slower)
	if diff := cmp.Diff(moved.Spec.Curves, again.Spec.Curves); diff != "" {
		t.Errorf("the traffic as a co-runner changes the curves: %s", diff)
	}
}

// asTarget checks that p was moved to a machine where a co-runner is as near the memory as a
// target.
func asTarget(t *testing.T, p, moved *v1alpha1.ApplicationProfile) {
	t.Helper()
	s := &moved.Spec
	if s.Distance != nil {
		t.Errorf("distance %+v on a machine without any", s.Distance)
	}
	speed := p.Spec.Solo.Seconds / s.Solo.Seconds
	want := v1alpha1.Phase{
		TimeShare:          1,
		ReadBytesPerSecond: speed * p.Spec.Distance.TargetReadBytesPerSecond, WriteBytesPerSecond: speed * p.Spec.Distance.TargetWriteBytesPerSecond,
	}
	last := s.Contentiousness.Timeline[len(s.Contentiousness.Timeline)-1]
	for place, got := range map[string]v1alpha1.Phase{
		"contentiousness": {ReadBytesPerSecond: s.Contentiousness.ReadBytesPerSecond, WriteBytesPerSecond: s.Contentiousness.WriteBytesPerSecond, TimeShare: 1},
		"timeline":        {ReadBytesPerSecond: last.ReadBytesPerSecond, WriteBytesPerSecond: last.WriteBytesPerSecond, TimeShare: last.Seconds / s.Solo.Seconds},
		"phases":          s.Phases[0],
	} {
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s is not the target's: %s", place, diff)
		}
	}
}

// On a machine that carries just as much nothing changes but the name.
func TestEqualMachines(t *testing.T) {
	for _, carries := range []float64{0, 30e9} {
		moved := carry(t, app(), machine("old", 20e9, carries), machine("new", 20e9, carries))
		if diff := cmp.Diff(app().Spec.Curves, moved.Spec.Curves, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("curves: %s", diff)
		}
		if got := moved.Spec.Contentiousness.ReadBytesPerSecond; math.Abs(got-8e9) > 1 {
			t.Errorf("reads %v, want 8e9", got)
		}
		c := moved.Spec.Transferred
		if moved.Spec.Machine.Name != "new" || c == nil || c.FromMachine != "old" || len(moved.Spec.Warnings) == 0 {
			t.Errorf("not flagged: %+v, %v", c, moved.Spec.Warnings)
		}
		want := v1alpha1.TransferredBySustained
		if carries > 0 {
			want = v1alpha1.TransferredByCapacity
		}
		if c.Method != want {
			t.Errorf("method %s, want %s", c.Method, want)
		}
	}
}

// By hand: with half the capacity a point of (achieved a, performance p)
// becomes others of a/2 − 10·p/2 GB/s, and alone is the state in which the
// interferer transfers as much as the application.
func TestHalfTheCapacity(t *testing.T) {
	p := app()
	p.Spec.Curves = p.Spec.Curves[:1]
	p.Spec.Curves[0].Points = []v1alpha1.CurvePoint{
		{Level: 0.5, InterfererBytesPerSecond: 8e9, AchievedBytesPerSecond: new(8e9), NormalizedPerformance: 0.8, Repeats: 3},
		{Level: 1, InterfererBytesPerSecond: 20e9, AchievedBytesPerSecond: new(16e9), NormalizedPerformance: 0.5, Repeats: 3},
	}
	p.Spec.Communication = &v1alpha1.Communication{Source: v1alpha1.CommunicationDeclared, SentBytesPerSecond: new(1e9)}
	moved := carry(t, p, machine("old", 20e9, 30e9), machine("new", 10e9, 15e9))
	if got, before := *moved.Spec.Communication.SentBytesPerSecond, *p.Spec.Communication.SentBytesPerSecond; math.Abs(got-0.8e9) > 1 || before != 1e9 {
		t.Errorf("sends %v, want as much slower as it computes; before %v", got, before)
	}
	// At 8 GB/s the application transfers 10·0.8 = 8 too: that is alone there.
	if got := moved.Spec.Contentiousness.ReadBytesPerSecond; math.Abs(got-0.8*8e9) > 1e3 {
		t.Errorf("reads %v, want %v", got, 0.8*8e9)
	}
	points := moved.Spec.Curves[0].Points
	if len(points) != 1 {
		t.Fatalf("points %+v, want the second one only", points)
	}
	if got := *points[0].AchievedBytesPerSecond; math.Abs(got-(8e9-2.5e9)) > 1e3 {
		t.Errorf("achieved %v, want 5.5e9", got)
	}
	if got := points[0].NormalizedPerformance; math.Abs(got-0.5/0.8) > 1e-6 {
		t.Errorf("performance %v, want %v", got, 0.5/0.8)
	}
	if got := *moved.Spec.Transferred.CapacityBytesPerSecond; got != 15e9 {
		t.Errorf("capacity %v, want 15e9", got)
	}
}

func TestRefusals(t *testing.T) {
	twice := app()
	twice.Spec.Transferred = &v1alpha1.Transfer{FromMachine: "older", Method: v1alpha1.TransferredBySustained}
	randomOnly := machine("new", 20e9, 0)
	for i := range randomOnly.Spec.Sustained {
		randomOnly.Spec.Sustained[i].Pattern = "random"
	}
	tests := []struct {
		name     string
		app      *v1alpha1.ApplicationProfile
		from, to *v1alpha1.MachineProfile
		want     error
		text     string
	}{
		{"other machine", app(), machine("other", 20e9, 0), machine("new", 20e9, 0), transfer.ErrOtherMachine, "its profile is of old"},
		{"transferred twice", twice, machine("old", 20e9, 0), machine("new", 20e9, 0), transfer.ErrOtherMachine, "transferred from older"},
		{"no read share in common", app(), machine("old", 20e9, 0), randomOnly, transfer.ErrIncomparable, "bandmate machine"},
		{"nothing left", app(), machine("old", 20e9, 100e9), machine("new", 1e9, 2e9), transfer.ErrIncomparable, "onboard it there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := transfer.Profile(tt.app, tt.from, tt.to)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
	same := app()
	if got, err := transfer.Profile(same, machine("old", 20e9, 0), machine("old", 20e9, 0)); err != nil || got != same {
		t.Errorf("on its own machine: %v, %v", got, err)
	}
}

// A curve without a read share in common is left out, and said so.
func TestCurvesLeftOut(t *testing.T) {
	to := machine("new", 20e9, 0)
	to.Spec.Sustained = to.Spec.Sustained[:1]
	moved := carry(t, app(), machine("old", 20e9, 0), to)
	if n := len(moved.Spec.Curves); n != 1 || !strings.Contains(strings.Join(moved.Spec.Warnings, " "), "100%") {
		t.Errorf("%d curves, %v", n, moved.Spec.Warnings)
	}
}

// A transferred profile predicts with a wider interval.
func TestWiderInterval(t *testing.T) {
	width := func(p *v1alpha1.ApplicationProfile) float64 {
		c, err := predictor.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := predictor.Predict(c, []*predictor.Application{c}, predictor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return float64(got.Interval.High - got.Interval.Low)
	}
	moved := carry(t, app(), machine("old", 20e9, 30e9), machine("new", 20e9, 30e9))
	if was, is := width(app()), width(moved); is < 1.5*was {
		t.Errorf("width %v transferred, %v measured", is, was)
	}
}

// The more the new machine carries, the less one and the same pressure hurts;
// whatever the machines, what comes out is a sound profile or a refusal.
func TestAnyMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1e8, 1e12)
		from := machine("old", rate.Draw(t, "from"), 0)
		to := machine("new", rate.Draw(t, "to"), 0)
		if rapid.Bool().Draw(t, "probes") {
			from, to = machine("old", 20e9, rapid.Float64Range(11e9, 1e11).Draw(t, "carries from")),
				machine("new", 20e9, rapid.Float64Range(11e9, 1e11).Draw(t, "carries to"))
		}
		p := app()
		for i := range p.Spec.Curves {
			for j := range p.Spec.Curves[i].Points {
				p.Spec.Curves[i].Points[j].NormalizedPerformance = rapid.Float64Range(0.02, 1.2).Draw(t, "performance")
			}
		}
		moved, err := transfer.Profile(p, from, to)
		if err != nil {
			if !errors.Is(err, transfer.ErrIncomparable) {
				t.Fatal(err)
			}
			return
		}
		if faults := moved.Validate(); len(faults) > 0 {
			t.Fatal(faults.ToAggregate())
		}
		if _, err := predictor.Compile(moved); err != nil {
			t.Fatal(err)
		}
	})
}
