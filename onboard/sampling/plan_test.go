package sampling

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// fakeMachine yields samples of known slowdown whose regime moves.
type fakeMachine struct {
	random *rand.Rand
	// slowdown of each condition per regime; 1 when absent.
	slowdown map[regime.Class]map[Key]float64
	// moves is the chance that a sample ends in another regime.
	moves float64
	noise float64
	now   regime.Class
	taken []Key
}

var roundTrips = map[regime.Class]time.Duration{
	regime.SameComplex:  78 * time.Nanosecond,
	regime.CrossComplex: 370 * time.Nanosecond,
}

func (m *fakeMachine) tag(context.Context) (regime.Tag, error) {
	return regime.Tag{Class: m.now, RoundTrip: roundTrips[m.now]}, nil
}

func (m *fakeMachine) condition(target, beside string) Condition {
	key := Key{target, beside}
	return Condition{Target: target, Beside: beside, Run: func(context.Context) (Observation, error) {
		m.taken = append(m.taken, key)
		slowdown := 1.0
		if s, ok := m.slowdown[m.now][key]; ok {
			slowdown = s
		}
		if m.random.Float64() < m.moves {
			m.now = map[regime.Class]regime.Class{
				regime.SameComplex: regime.CrossComplex, regime.CrossComplex: regime.SameComplex,
			}[m.now]
		}
		seconds := 0.3 * slowdown * (1 + m.noise*m.random.NormFloat64())
		return Observation{
			Wall:     time.Duration(seconds * float64(time.Second)),
			Achieved: interferer.Achieved{Traffic: units.Traffic{Read: 1e10, Write: 2e9}},
		}, nil
	}}
}

func (m *fakeMachine) conditions(targets, besides int) []Condition {
	var all []Condition
	for t := range targets {
		target := fmt.Sprintf("app%d", t)
		all = append(all, m.condition(target, ""))
		for b := range besides {
			all = append(all, m.condition(target, fmt.Sprintf("pressure%d", b)))
		}
	}
	return all
}

func newFakeMachine(seed uint64) *fakeMachine {
	return &fakeMachine{random: rand.New(rand.NewPCG(seed, 1)), now: regime.SameComplex, slowdown: map[regime.Class]map[Key]float64{}}
}

func TestPlanNeverMixesRegimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newFakeMachine(rapid.Uint64().Draw(t, "seed"))
		m.moves = rapid.Float64Range(0, 0.3).Draw(t, "moves")
		key := Key{"app0", "pressure0"}
		m.slowdown[regime.SameComplex] = map[Key]float64{key: 2}
		m.slowdown[regime.CrossComplex] = map[Key]float64{key: 1.25}
		plan := Plan{Conditions: m.conditions(2, 3), Tag: m.tag, Random: m.random}
		o, err := plan.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := map[regime.Class]float64{regime.SameComplex: 0.5, regime.CrossComplex: 0.8}[o.Class]
		result, ok := o.Result(key)
		if !ok || math.Abs(float64(result.NormalizedPerformance)-want) > 1e-6 {
			t.Fatalf("in %s: %v, want %v", o.Class, result.NormalizedPerformance, want)
		}
		for _, s := range o.samples {
			if s.Tag.Class != o.Class {
				t.Fatalf("a sample of %s among those of %s", s.Tag.Class, o.Class)
			}
		}
		if kept, taken := o.size(), len(m.taken); kept+o.Dropped != taken {
			t.Fatalf("%d kept + %d dropped, but %d taken", kept, o.Dropped, taken)
		}
	})
}

func TestPlanRepeatsUntilPrecise(t *testing.T) {
	for _, test := range []struct {
		name  string
		noise float64
		want  int
	}{
		{"quiet: the least repeats", 0, 3},
		{"noisy: the most", 0.2, 9},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newFakeMachine(7)
			m.noise = test.noise
			plan := Plan{Conditions: m.conditions(1, 4), Tag: m.tag, Random: m.random, Precision: Precision{MinRepeats: 3, MaxRepeats: 9, HalfWidth: 0.001}}
			o, err := plan.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for b := range 4 {
				result, ok := o.Result(Key{"app0", fmt.Sprintf("pressure%d", b)})
				if !ok || result.Repeats != test.want {
					t.Errorf("pressure%d: %d repeats, want %d", b, result.Repeats, test.want)
				}
			}
		})
	}
}

// reports are what a plan said was left, with how many samples were taken before.
type reports struct {
	m    *fakeMachine
	said []leftAt
}

type leftAt struct{ taken, least, most int }

func (r *reports) Left(least, most int, _ string) {
	r.said = append(r.said, leftAt{len(r.m.taken), least, most})
}

// The number of samples lies within the range that the plan says at its beginning, and
// without noise within each that it says.
func TestPlanSaysWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newFakeMachine(rapid.Uint64().Draw(t, "seed"))
		m.noise = rapid.SampledFrom([]float64{0, 0.01, 0.05}).Draw(t, "noise")
		r := &reports{m: m}
		plan := Plan{
			Conditions: m.conditions(rapid.IntRange(1, 3).Draw(t, "targets"), rapid.IntRange(0, 6).Draw(t, "pressures")),
			Precision:  Precision{MinRepeats: rapid.IntRange(1, 4).Draw(t, "fewest"), MaxRepeats: rapid.IntRange(4, 9).Draw(t, "most")},
			Tag:        m.tag, Random: m.random, Reporter: r,
		}
		if _, err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.noise > 0 {
			r.said = r.said[:1]
		}
		for _, at := range r.said {
			if left := len(m.taken) - at.taken; left < at.least || left > at.most {
				t.Fatalf("after %d samples %d to %d were left, and %d were", at.taken, at.least, at.most, left)
			}
		}
	})
}

func TestPlanTakesControlsOften(t *testing.T) {
	m := newFakeMachine(3)
	plan := Plan{Conditions: m.conditions(1, 8), Tag: m.tag, Random: m.random}
	if _, err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	since := soloEvery
	for i, key := range m.taken {
		if key.Beside == "" {
			since = 0
			continue
		}
		if since++; since > soloEvery {
			t.Fatalf("sample %d is %d after its control, want at most %d", i, since, soloEvery)
		}
	}
}

func TestPlanNormalizesWithinASpell(t *testing.T) {
	c := newCollection()
	sample := func(spell int, beside string, seconds float64) {
		c.add(Sample{Key: Key{"a", beside}, Spell: spell, Observation: Observation{Wall: time.Duration(seconds * 1e9)}})
	}
	for _, seconds := range []float64{1, 1.01, 5, 0.99, 1, 4} { // two were disturbed
		sample(1, "", seconds)
	}
	sample(1, "p", 2)
	sample(2, "p", 3) // its own controls come after it
	for range 5 {
		sample(2, "", 1.5)
	}
	got := c.normalized(Key{"a", "p"})
	if len(got) != 2 || math.Abs(got[0]-0.505) > 1e-9 || math.Abs(got[1]-0.5) > 1e-9 {
		t.Fatalf("normalized %v, want [0.505 0.5]", got)
	}
}

func TestPlanGivesUpWithoutAStableRegime(t *testing.T) {
	m := newFakeMachine(5)
	m.moves = 1
	plan := Plan{Conditions: m.conditions(1, 2), Tag: m.tag, Random: m.random}
	_, err := plan.Run(t.Context())
	if err == nil {
		t.Fatal("want an error when every sample is dropped")
	}
}

func TestPlanReportsWhatFailed(t *testing.T) {
	errCommand := errors.New("the command failed")
	m := newFakeMachine(5)
	conditions := m.conditions(1, 1)
	conditions[1].Run = func(context.Context) (Observation, error) { return Observation{}, errCommand }
	plan := Plan{Conditions: conditions, Tag: m.tag, Random: m.random}
	_, err := plan.Run(t.Context())
	if !errors.Is(err, errCommand) || err.Error() != "app0 beside pressure0: the command failed" {
		t.Fatalf("got %v", err)
	}
}

func TestPlanForgivesLostSamples(t *testing.T) {
	for _, test := range []struct {
		inARow int
		lost   error
		want   error
	}{
		{starvedLimit, ErrStarved, nil},
		{starvedLimit, ErrDisturbed, nil},
		{starvedLimit + 1, ErrStarved, ErrStarved},
		{starvedLimit + 1, ErrDisturbed, ErrDisturbed},
	} {
		m := newFakeMachine(5)
		conditions := m.conditions(1, 1)
		measure, lost := conditions[1].Run, 0
		conditions[1].Run = func(ctx context.Context) (Observation, error) {
			if lost++; lost%(test.inARow+1) != 0 {
				return Observation{}, test.lost
			}
			return measure(ctx)
		}
		plan := Plan{Conditions: conditions, Precision: Precision{MinRepeats: 2, MaxRepeats: 2}, Tag: m.tag, Random: m.random}
		o, err := plan.Run(t.Context())
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Fatalf("%d in a row: %v, want %v", test.inARow, err, test.want)
		}
		if err == nil && o.Dropped != 2*starvedLimit {
			t.Errorf("%d samples dropped, want %d", o.Dropped, 2*starvedLimit)
		}
	}
}

func TestPlanResumes(t *testing.T) {
	m := newFakeMachine(11)
	var kept []Sample
	stop := errors.New("stop")
	plan := Plan{Conditions: m.conditions(2, 3), Tag: m.tag, Random: m.random, Keep: func(s Sample) error {
		kept = append(kept, s)
		if len(kept) == 10 {
			return stop
		}
		return nil
	}}
	if _, err := plan.Run(t.Context()); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	m.taken = nil
	again := Plan{Conditions: m.conditions(2, 3), Tag: m.tag, Random: m.random}
	again.Restore(kept)
	o, err := again.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.size() != 10+len(m.taken) {
		t.Fatalf("%d samples in all, %d new: the first 10 were not used", o.size(), len(m.taken))
	}
}
