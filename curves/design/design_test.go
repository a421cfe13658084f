package design

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

func supplies() []Supply {
	return []Supply{
		{ReadShare: 1, Sustained: 33e9, Capacity: 35e9},
		{ReadShare: 0.5, Sustained: 31e9, Capacity: 32e9},
		{ReadShare: 0.75, Sustained: 30e9, Capacity: 32e9},
	}
}

func options() Options {
	return Options{Supplies: supplies(), Levels: []float64{1, 0.25, 0.5, 0.75, 0.9}}
}

func newDesign(t interface{ Fatal(...any) }, o Options) *Design {
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// application answers as the model would with coefficients of its own.
type application struct {
	own   units.Bandwidth
	terms [terms]float64
}

func (a application) run(d *Design, s Setting, duty float64) Observation {
	at := d.supply(s.ReadShare).beside(a.own, math.Exp(dot(basis(s), a.terms)), s.Level)
	return Observation{Setting: s, Performance: at.performance, Achieved: at.achieved, Cost: Cost(float64(at.performance), duty)}
}

// search runs to the end and returns the number of runs.
func (a application) search(t interface{ Fatalf(string, ...any) }, d *Design) int {
	for runs := 0; ; runs++ {
		c, ok := d.Next()
		if !ok {
			return runs
		}
		if runs > 20 {
			t.Fatalf("the search does not end: %v", c)
		}
		if left := d.Budget() - d.Spent(); runs > 0 && c.Cost > left*(1+1e-9) {
			t.Fatalf("%v: expected to cost %.2f of %.2f solo times left", c, c.Cost, left)
		}
		d.Observe(a.run(d, c.Setting, c.Duty))
	}
}

func (a application) error(d *Design) float64 {
	sum, n := 0.0, 0
	for _, s := range d.all() {
		sum += math.Abs(float64(d.Estimate(s).Performance - a.run(d, s, 1).Performance))
		n++
	}
	return sum / float64(n)
}

func TestInsensitiveApplicationStopsAtOnce(t *testing.T) {
	d := newDesign(t, options())
	runs := application{own: 1e9, terms: [terms]float64{-9}}.search(t, d)
	if runs != 1 || d.Spent() > 1.1 {
		t.Errorf("%d runs for %.2f solo times, want one", runs, d.Spent())
	}
	if reason := d.Reason(); !strings.Contains(reason, "known to") {
		t.Errorf("reason %q", reason)
	}
}

func TestSensitiveApplicationIsKnownWithinItsBudget(t *testing.T) {
	a := application{own: 6e9, terms: [terms]float64{-2, -0.3, -0.1, 0.05, -0.1, 0.2}}
	for _, own := range []units.Bandwidth{0, a.own} {
		o := options()
		o.Own = own
		d := newDesign(t, o)
		first, _ := d.Next()
		if first.Level != 1 || first.ReadShare != 0.5 || !strings.Contains(first.String(), "strongest") {
			t.Errorf("first %+v: want the strongest pressure at an extreme read share", first)
		}
		runs := a.search(t, d)
		if runs < 2 || d.Spent() > 4 {
			t.Errorf("own %v: %d runs for %.2f solo times", own, runs, d.Spent())
		}
		if e := a.error(d); e > 0.03 {
			t.Errorf("own %v: off by %.3f on average", own, e)
		}
	}
}

// A stream that fills the memory loses much, though after one noisy run nothing is
// sure: doubt does not halve its budget.
func TestDoubtDoesNotHalveTheBudget(t *testing.T) {
	o := Options{
		Supplies: []Supply{{ReadShare: 0.5, Sustained: 19.2e9, Capacity: 46e9}, {ReadShare: 1, Sustained: 21.7e9, Capacity: 46e9}},
		Levels:   []float64{0.25, 0.5, 0.75, 1}, Own: 42.4e9, Noise: 0.02,
	}
	d := newDesign(t, o)
	d.Observe(Observation{Setting: Setting{0.5, 1}, Performance: 0.66, Achieved: 19.1e9, Cost: Cost(0.66, 0.5), Noise: 0.03})
	if doubt := d.Uncertainty(); doubt < 0.04 {
		t.Fatalf("doubt %.3f: nothing is in doubt", doubt)
	}
	if got := d.Budget(); got != defaultBudget {
		t.Errorf("budget %v, want %v", got, defaultBudget)
	}
	if _, more := d.Next(); !more {
		t.Errorf("ended: %s", d.Reason())
	}
}

// What a run teaches is foretold, and a longer budget ends in less doubt.
func TestDoubtFalls(t *testing.T) {
	a := application{own: 10e9, terms: [terms]float64{-2}}
	last := math.Inf(1)
	for _, budget := range []float64{2, 4, 8} {
		o := options()
		o.Own, o.Budget = a.own, budget
		d := newDesign(t, o)
		a.search(t, d)
		if doubt := d.Uncertainty(); doubt > last {
			t.Errorf("budget %v leaves %.4f, less left %.4f", budget, doubt, last)
		} else {
			last = doubt
		}
	}
}

// Any application: the search ends, begins no run that is expected to exceed
// its budget, and what it estimates is a performance.
func TestAnyApplication(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options()
		a := application{own: units.Bandwidth(rapid.Float64Range(0, 40e9).Draw(t, "own"))}
		for i := range a.terms {
			a.terms[i] = priorMean[i] + priorSD[i]*rapid.Float64Range(-2, 2).Draw(t, "term")
		}
		if rapid.Bool().Draw(t, "counted") {
			o.Own = a.own
		}
		o.Budget = rapid.Float64Range(2, 10).Draw(t, "budget")
		d := newDesign(t, o)
		a.search(t, d)
		for _, s := range d.all() {
			e := d.Estimate(s)
			if !(e.Performance > 0 && e.Performance <= 1) || !(e.SD >= 0) || !e.Achieved.Valid() || e.Achieved > e.Alone*(1+1e-9) {
				t.Fatalf("%+v: %+v", s, e)
			}
		}
	})
}

// Noise cannot break the search: performance above 1, far off, or nonsense.
func TestAnyObservations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDesign(t, options())
		for range rapid.IntRange(1, 6).Draw(t, "runs") {
			c, ok := d.Next()
			if !ok {
				break
			}
			d.Observe(Observation{
				Setting: c.Setting, Performance: units.NormalizedPerformance(rapid.Float64Range(0, 2).Draw(t, "performance")),
				Achieved: units.Bandwidth(rapid.Float64Range(0, 40e9).Draw(t, "achieved")), Cost: rapid.Float64Range(0.5, 3).Draw(t, "cost"),
				Noise: rapid.Float64Range(0, 0.2).Draw(t, "noise"),
			})
			for _, s := range d.all() {
				if e := d.Estimate(s); !(e.Performance > 0 && e.Performance <= 1) || math.IsNaN(e.SD) {
					t.Fatalf("%+v: %+v", s, e)
				}
			}
		}
	})
}

// More pressure and more sensitivity never help.
func TestStateIsMonotone(t *testing.T) {
	s := supplies()[1]
	for _, own := range []units.Bandwidth{0, 5e9, 32e9} {
		for _, theta := range []float64{0, 1e-3, 0.1, 3} {
			last := units.NormalizedPerformance(1)
			for level := 0.05; level <= 1; level += 0.05 {
				p := s.beside(own, theta, level).performance
				if p > last+1e-9 || p > s.beside(own, theta/2, level).performance+1e-9 {
					t.Errorf("own %v, θ %v, level %.2f: %v after %v", own, theta, level, p, last)
				}
				last = p
			}
		}
	}
}

func TestFaultsAreReportedAtOnce(t *testing.T) {
	_, err := New(Options{
		Supplies: []Supply{{ReadShare: 2, Sustained: 0, Capacity: -1}}, Levels: []float64{0, 1.5}, Own: -1, Noise: 3, Budget: 0.1,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"read share 2", "sustained bandwidth 0", "capacity -1", "level 0", "level 1.5", "own traffic -1", "noise 3", "budget 0.1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no read share and no level is no fault")
	}
}

// By hand: pressed half of the time, an application that keeps half of its
// performance takes 1 ÷ (1 − 0.5·0.5) solo times.
func TestCost(t *testing.T) {
	for _, tt := range []struct{ p, duty, want float64 }{{0.5, 0.5, 4. / 3}, {1, 1, 1}, {0.5, 1, 2}, {1.2, 1, 1}} {
		if got := Cost(tt.p, tt.duty); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Cost(%v, %v) = %v, want %v", tt.p, tt.duty, got, tt.want)
		}
		if d := dutyFor(tt.p, tt.want); tt.p < 1 && math.Abs(d-tt.duty) > 1e-12 {
			t.Errorf("dutyFor(%v, %v) = %v, want %v", tt.p, tt.want, d, tt.duty)
		}
	}
}
