package advisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

const gb = 1e9

var day = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// profile makes a sound profile that reads 10 GB/s and keeps 0.8 of its speed
// beside the full interferer.
func profile(name, machine string) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.Name = name
	p.Spec.Machine.Name = machine
	p.Spec.Measurement.Time = metav1.NewTime(day)
	p.Spec.Solo = v1alpha1.Timing{Seconds: 10, Repeats: 3}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: 10 * gb, Source: "imc"}
	for _, share := range []float64{0.5, 1} {
		c := v1alpha1.SensitivityCurve{ReadShare: share}
		for _, level := range []float64{0.25, 0.5, 0.75, 1} {
			b := 40 * level * gb
			c.Points = append(c.Points, v1alpha1.CurvePoint{
				Level: level, InterfererBytesPerSecond: b, AchievedBytesPerSecond: &b,
				NormalizedPerformance: 1 - 0.2*level, Repeats: 3,
			})
		}
		p.Spec.Curves = append(p.Spec.Curves, c)
	}
	return p
}

func machine(name string, sustained float64) *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{}
	m.Name = name
	m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = 1, 1, 8
	for _, share := range []float64{0.5, 1} {
		m.Spec.Sustained = append(m.Spec.Sustained, v1alpha1.SustainedBandwidth{ReadShare: share, BytesPerSecond: sustained * gb, Repeats: 3})
	}
	return m
}

func with(p *v1alpha1.ApplicationProfile, change func(*v1alpha1.ApplicationProfile)) *v1alpha1.ApplicationProfile {
	change(p)
	return p
}

func TestLookup(t *testing.T) {
	r := New([]*v1alpha1.ApplicationProfile{
		profile("web", "old"),
		profile("db", "old"),
		with(profile("db-on-new", "new"), func(p *v1alpha1.ApplicationProfile) {
			p.Labels = map[string]string{v1alpha1.ApplicationLabel: "db"}
		}),
		with(profile("broken", "old"), func(p *v1alpha1.ApplicationProfile) { p.Spec.Curves[0].Points[1].NormalizedPerformance = -1 }),
		profile("stray", "nowhere"),
	}, []*v1alpha1.MachineProfile{
		machine("old", 40), machine("new", 60),
		{ObjectMeta: metav1.ObjectMeta{Name: "bad"}},
	})
	for _, test := range []struct {
		name, application, machine string
		state                      State
		reason, warning, from      string
	}{
		{"measured here", "web", "old", Known, "", "", "old"},
		{"two machines, one each", "db", "old", Known, "", "", "old"},
		{"named by its label", "db", "new", Known, "", "", "new"},
		{"measured elsewhere", "web", "new", Transferred, "measured on old and transferred to new", "", "old"},
		{"a machine without a name", "web", "", Known, "", "taken to be a old", "old"},
		{"a machine without a name, and two to choose from", "db", "", Unknown, "label the node bandmate.dev/machine", "", ""},
		{"a machine without a profile", "web", "strange", Unknown, "not on strange, which has no profile", "", ""},
		{"a machine of an invalid profile", "web", "bad", Unknown, "whose profile is invalid: [spec.", "", ""},
		{"measured on a machine without a profile", "stray", "new", Unknown, "measured on nowhere, which has no profile: measure it with: bandmate machine --name nowhere", "", ""},
		{"an invalid profile", "broken", "old", Invalid, "normalizedPerformance", "", "old"},
		{"an invalid profile elsewhere", "broken", "new", Unknown, "normalizedPerformance", "", ""},
		{"nobody knows it", "ghost", "old", Unknown, "no profile of ghost: onboard it", "", ""},
		{"no name", "", "old", Unknown, "no application is named", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := r.Lookup(test.application, test.machine)
			if e.State != test.state || e.Machine != test.from {
				t.Errorf("%s, measured on %q; want %s, %q: %s", e.State, e.Machine, test.state, test.from, e.Reason)
			}
			if (test.reason == "") != (e.Reason == "") || !strings.Contains(e.Reason, test.reason) {
				t.Errorf("reason %q, want %q", e.Reason, test.reason)
			}
			if all := strings.Join(e.Warnings, "\n"); !strings.Contains(all, test.warning) || (test.warning == "" && all != "" && e.State != Transferred) {
				t.Errorf("warnings %q, want %q", all, test.warning)
			}
			if predicts := e.State != Unknown && e.State != Invalid; predicts != (e.Application != nil) {
				t.Errorf("%s, but the application is %v", e.State, e.Application)
			}
			if e.Application != nil && e.Application.Name() != test.application {
				t.Errorf("predicts as %s, want the name of the application, %s", e.Application.Name(), test.application)
			}
		})
	}
	if got := fmt.Sprint(r.Len(), r.Applications(), len(r.Own("db")), r.Own("ghost") == nil, r.Has("db"), r.Has("ghost")); got != "5 [broken db stray web] 2 true true false" {
		t.Error(got)
	}
}

func TestZeroAdvisorKnowsNobody(t *testing.T) {
	var r Advisor
	if e := r.Lookup("web", "old"); e.State != Unknown || r.Len() != 0 {
		t.Errorf("%+v", e)
	}
}

// A profile that does not say how the application runs as a co-runner says what is
// assumed, where that is not the same; one that contradicts its machine says so.
func TestRoles(t *testing.T) {
	far := func(link string, ratio float64) []string {
		m := machine("old", 40)
		m.Spec.Sockets, m.Spec.Link = 2, link
		p := profile("web", "old")
		if ratio > 0 {
			p.Spec.Distance = &v1alpha1.Distance{CorunnerSolo: v1alpha1.Timing{Seconds: 10 * ratio, Repeats: 3}, TargetReadBytesPerSecond: 12 * gb}
		}
		return New([]*v1alpha1.ApplicationProfile{p}, []*v1alpha1.MachineProfile{m}).Lookup("web", "old").Warnings
	}
	for _, test := range []struct {
		link    string
		ratio   float64
		warning string
	}{
		{"", 0, ""},
		{v1alpha1.LinkNone, 0, ""},
		{v1alpha1.LinkShared, 0, "measured in one place only"},
		{v1alpha1.LinkOwn, 0, "measured in one place only"},
		{v1alpha1.LinkShared, 1.3, ""},
		{"", 1.3, ""},
		{v1alpha1.LinkNone, 1.05, ""},
		{v1alpha1.LinkNone, 1.3, "takes 30% longer as a co-runner"},
	} {
		got := strings.Join(far(test.link, test.ratio), "\n")
		if !strings.Contains(got, test.warning) || (test.warning == "") != (got == "") {
			t.Errorf("link %q, %v times as slow: warning %q, want %q", test.link, test.ratio, got, test.warning)
		}
	}
}

// A machine that turns out to have a link is fitted anew, and its profiles too.
func TestNextFollowsTheLink(t *testing.T) {
	p, m := profile("web", "old"), machine("old", 40)
	first := New([]*v1alpha1.ApplicationProfile{p}, []*v1alpha1.MachineProfile{m})
	shared := m.DeepCopy()
	shared.Spec.Link = v1alpha1.LinkShared
	next := first.Next([]*v1alpha1.ApplicationProfile{p}, []*v1alpha1.MachineProfile{shared})
	if was, is := len(first.Lookup("web", "old").Warnings), len(next.Lookup("web", "old").Warnings); was != 0 || is != 1 {
		t.Errorf("%d warnings without a link, %d with one, want 0 and 1", was, is)
	}
}

// A transferred profile doubts itself more than a measured one.
func TestTransferredIntervalIsWider(t *testing.T) {
	r := New([]*v1alpha1.ApplicationProfile{profile("web", "old")}, []*v1alpha1.MachineProfile{machine("old", 40), machine("new", 40)})
	width := func(e Entry) units.Slowdown {
		p, err := predictor.Predict(e.Application, []*predictor.Application{e.Application}, predictor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Interval.High - p.Interval.Low
	}
	own, transferred := width(r.Lookup("web", "old")), width(r.Lookup("web", "new"))
	if transferred <= own {
		t.Errorf("width %v transferred, %v measured", transferred, own)
	}
}

func TestTwoProfilesOfOneMachine(t *testing.T) {
	older := profile("web-a", "old")
	newer := profile("web-b", "old")
	newer.Spec.Measurement.Time = metav1.NewTime(day.Add(time.Hour))
	for _, p := range []*v1alpha1.ApplicationProfile{older, newer} {
		p.Labels = map[string]string{v1alpha1.ApplicationLabel: "web"}
	}
	for _, order := range [][]*v1alpha1.ApplicationProfile{{older, newer}, {newer, older}} {
		e := New(order, nil).Lookup("web", "old")
		if !e.Measured.Equal(day.Add(time.Hour)) || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "web-b is used, the newer") {
			t.Errorf("%+v", e)
		}
	}
}

func TestAge(t *testing.T) {
	e := Entry{Measured: day}
	if age, ok := e.Age(day.Add(time.Hour)); age != time.Hour || !ok {
		t.Errorf("%v %v", age, ok)
	}
	if age, ok := e.Age(day.Add(-time.Hour)); age != 0 || !ok {
		t.Errorf("a clock that runs behind: %v %v", age, ok)
	}
	if _, ok := (Entry{}).Age(day); ok {
		t.Error("an unknown time has an age")
	}
}

// Next compiles only what changed, and forgets what is gone.
func TestNext(t *testing.T) {
	web, db := profile("web", "old"), profile("db", "old")
	first := New([]*v1alpha1.ApplicationProfile{web, db}, nil)
	changed := profile("db", "old")
	changed.Spec.Contentiousness.ReadBytesPerSecond = 5 * gb
	next := first.Next([]*v1alpha1.ApplicationProfile{web, changed}, nil)
	if first.Lookup("web", "old").Application != next.Lookup("web", "old").Application {
		t.Error("the same object was compiled again")
	}
	if traffic, _ := next.Lookup("db", "old").Application.Contentiousness(); traffic.Total() != 5*gb {
		t.Errorf("the changed profile still causes %v", traffic.Total())
	}
	if traffic, _ := first.Lookup("db", "old").Application.Contentiousness(); traffic.Total() != 10*gb {
		t.Errorf("the first advisor changed: %v", traffic.Total())
	}
	if e := next.Next(nil, nil).Lookup("web", "old"); e.State != Unknown {
		t.Errorf("gone, but %s", e.State)
	}
}

// Whatever profiles there are in whatever order, a lookup says the same, and
// gives an application exactly where it says so.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var profiles []*v1alpha1.ApplicationProfile
		for i := range rapid.IntRange(0, 6).Draw(t, "profiles") {
			p := profile(fmt.Sprintf("p%d", i), rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "machine"))
			if label := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label"); label != "" {
				p.Labels = map[string]string{v1alpha1.ApplicationLabel: label}
			}
			p.Spec.Solo.Repeats = rapid.IntRange(0, 1).Draw(t, "repeats")
			profiles = append(profiles, p)
		}
		machines := []*v1alpha1.MachineProfile{machine("a", 40), machine("b", 50), machine("c", 30)}
		one, other := New(profiles, machines), New(rapid.Permutation(profiles).Draw(t, "order"), machines)
		for _, application := range []string{"p0", "p1", "x", "y"} {
			for _, name := range []string{"a", "b", "c", "d", ""} {
				e, f := one.Lookup(application, name), other.Lookup(application, name)
				if e.State != f.State || e.Reason != f.Reason || e.Machine != f.Machine {
					t.Fatalf("%s on %s: %+v, in another order %+v", application, name, e, f)
				}
				if predicts := e.State != Unknown && e.State != Invalid; predicts != (e.Application != nil) || (e.Reason == "") != (e.State == Known) {
					t.Fatalf("%s on %s: %+v", application, name, e)
				}
			}
		}
	})
}

func many(n int) []*v1alpha1.ApplicationProfile {
	profiles := make([]*v1alpha1.ApplicationProfile, n)
	for i := range profiles {
		profiles[i] = profile(fmt.Sprintf("app-%d", i), "old")
	}
	return profiles
}

func given(profiles []*v1alpha1.ApplicationProfile) []*Profile {
	all := make([]*Profile, len(profiles))
	for i, p := range profiles {
		all[i] = profileOf(p)
	}
	return all
}

func BenchmarkNew10000(b *testing.B) {
	profiles := many(10_000)
	for b.Loop() {
		New(profiles, nil)
	}
}

func BenchmarkNextOneChanged10000(b *testing.B) {
	profiles := many(10_000)
	r := New(profiles, nil)
	for b.Loop() {
		profiles[7] = profile("app-7", "old")
		r = r.Next(profiles, nil)
	}
}

func BenchmarkLookup(b *testing.B) {
	r := New(many(10_000), nil)
	for b.Loop() {
		r.Lookup("app-77", "old")
	}
}

// What an application waits for on the network is that of the machine it is asked
// about, and of that machine's latest profile.
func TestNetworkIsThatOfTheMachine(t *testing.T) {
	p := with(profile("a", "m"), func(p *v1alpha1.ApplicationProfile) {
		p.Spec.Communication = &v1alpha1.Communication{Source: v1alpha1.CommunicationDeclared, SentBytesPerSecond: new(0.5 * gb), Overlapped: new(false)}
	})
	connected := func(rate float64) *v1alpha1.MachineProfile {
		m := machine("m", 40)
		m.Spec.Network = &v1alpha1.Network{Model: "gigabit-ethernet", BytesPerSecond: rate, Beta: new(1.0), GammaOut: new(0.0), GammaIn: new(0.0)}
		return m
	}
	share := func(r *Advisor, on string) (float64, bool) {
		e := r.Lookup("a", on)
		if e.Application == nil || e.Application.Communication() == nil {
			t.Fatalf("on %s: %+v", on, e)
		}
		return e.Application.Communication().Share()
	}
	other := machine("other", 40)
	applications := []*v1alpha1.ApplicationProfile{p}
	r := New(applications, []*v1alpha1.MachineProfile{connected(1 * gb), other})
	if got, known := share(r, "m"); !known || got != 0.5 {
		t.Errorf("half of what the network carries: %v, %v", got, known)
	}
	if _, known := share(r, "other"); known {
		t.Error("transferred to a machine of which no network is known")
	}
	next := r.Next(applications, []*v1alpha1.MachineProfile{connected(2 * gb), other})
	if got, known := share(next, "m"); !known || got != 0.25 {
		t.Errorf("after a new profile of the machine: %v, %v", got, known)
	}
	same := next.Next(applications, []*v1alpha1.MachineProfile{next.machines["m"], other})
	if same.applications["a"]["m"].member != next.applications["a"]["m"].member {
		t.Error("compiled anew though nothing has changed")
	}
}
