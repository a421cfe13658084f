package modulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/regime"
)

// alike is a steady program on a machine, and a neighbor that slows it down.
func alike(seed uint64, n noise) (*simulation, *simulated, *Plan) {
	m := newSimulation(seed, n)
	target := m.add(&simulated{phases: steady})
	m.stream(1)
	return m, target, m.plan(fine)
}

func TestRunStopsWhenPrecise(t *testing.T) {
	m, _, plan := alike(1, noise{white: 0.1})
	plan.Precision = Precision{StandardError: 0.01}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wide := len(plan.Outcome.Readings[usual]["beside"])
	if e := Summarize(plan.Outcome.Readings[usual]["beside"], m.random); e.StandardError > 0.0115 || wide < 10 {
		t.Errorf("%d blocks, standard error %.4f, want 0.01", wide, e.StandardError)
	}
	// Half the error takes four times the blocks: an earlier outcome counts.
	plan.Precision.StandardError = 0.005
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	narrow := len(plan.Outcome.Readings[usual]["beside"])
	if narrow < 2*wide || narrow > 10*wide {
		t.Errorf("%d blocks after %d for half the standard error", narrow, wide)
	}
	took := m.now
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(plan.Outcome.Readings[usual]["beside"]); n != narrow || m.now-took > 5*time.Millisecond {
		t.Errorf("a plan that was precise took %d more blocks, %v", n-narrow, m.now-took)
	}
}

func TestRunTakesTheMostBlocksAtMost(t *testing.T) {
	_, _, plan := alike(2, noise{white: 0.3})
	plan.Precision = Precision{StandardError: 1e-6, Fewest: 10, Most: 40}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(plan.Outcome.Readings[usual]["beside"]); n < 40 || n > 46 {
		t.Errorf("%d blocks, want 40 and at most the rest of a group", n)
	}
}

func TestRunKeepsItsBudget(t *testing.T) {
	m, _, plan := alike(3, everything)
	plan.Precision = Precision{StandardError: 1e-6, Most: 1e6}
	plan.Budget = 2 * time.Second
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.now < plan.Budget || m.now > plan.Budget+250*time.Millisecond {
		t.Errorf("it took %v of %v", m.now, plan.Budget)
	}
	if m.working() {
		t.Error("a party works")
	}
}

func TestRunSharesItsTime(t *testing.T) {
	_, _, plan := alike(3, everything)
	for i := range 8 {
		another := plan.Points[0]
		another.Compare = slices.Clone(another.Compare)
		if another.Compare[0].Name = fmt.Sprint(i); i == 0 {
			another.Share = 3
		}
		plan.Points = append(plan.Points, another)
	}
	plan.Precision = Precision{StandardError: 1e-6, Most: 1e6}
	plan.Budget = 10 * time.Second
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	one, three := len(plan.Outcome.Readings[usual]["beside"]), len(plan.Outcome.Readings[usual]["0"])
	if ratio := float64(three) / float64(one); math.Abs(ratio-3) > 0.3 {
		t.Errorf("%d readings and %d for a share of 3", one, three)
	}
}

func TestRunTakesTheLeastReadings(t *testing.T) {
	_, _, plan := alike(3, everything)
	plan.Precision = Precision{StandardError: 1e-6, Most: 1e6}
	plan.Budget, plan.Least = time.Nanosecond, 7
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(plan.Outcome.Readings[usual]["beside"]); n < 7 || n > 20 {
		t.Errorf("%d readings, want 7 and at most the rest of a group", n)
	}
}

func TestRunMeasuresEveryPoint(t *testing.T) {
	m := newSimulation(4, everything)
	m.add(&simulated{phases: steady})
	neighbor := m.stream(1.25)
	plan := m.plan(fine)
	prepared := map[string]int{}
	plan.Points = nil
	slowdowns := map[string]float64{"weak": 1.1, "middle": 1.5, "strong": 2.5}
	for _, name := range slices.Sorted(maps.Keys(slowdowns)) {
		slowdown := slowdowns[name]
		plan.Points = append(plan.Points, Point{
			States: []State{1, 3, 2},
			Compare: []Comparison{
				{Name: name, On: 1, Off: 0}, {Name: "neighbor of " + name, Party: 1, On: 1, Off: 2},
			},
			Prepare: func() error {
				prepared[name]++
				m.parties[0].phases = []phase{{solo: 3, slowdown: slowdown}}
				return nil
			},
		})
	}
	var done []float64
	plan.Report = func(share float64) { done = append(done, share) }
	plan.Class = usual
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := 0
	for name, slowdown := range slowdowns {
		all += len(plan.Outcome.Readings[usual][name])
		e := Summarize(plan.Outcome.Readings[usual][name], m.random)
		if math.Abs(e.Performance-1/slowdown) > 4*e.StandardError+0.003 || e.StandardError > 0.0075 {
			t.Errorf("%s: %+v, want %.3f", name, e, 1/slowdown)
		}
		own := Summarize(plan.Outcome.Readings[usual]["neighbor of "+name], m.random)
		if math.Abs(own.Performance-1/neighbor.phases[0].slowdown) > 4*own.StandardError+0.003 {
			t.Errorf("neighbor of %s: %+v, want 0.8", name, own)
		}
		if blocks := len(plan.Outcome.Readings[usual][name]); prepared[name] < blocks {
			t.Errorf("%s was prepared %d times for %d blocks", name, prepared[name], blocks)
		}
	}
	if blocks := plan.Outcome.Blocks[usual]; blocks != all {
		t.Errorf("%d blocks, want %d: two readings are from one block", blocks, all)
	}
	for i, share := range done {
		if share < 0 || share > 1 {
			t.Errorf("report %d is %v", i, share)
		}
	}
}

func TestRunNeverMixesRegimes(t *testing.T) {
	m, _, plan := alike(5, noise{white: 0.02, regimes: true})
	plan.Precision = Precision{StandardError: 1e-6, Most: 1e6}
	plan.Budget = 60 * time.Second
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for class, want := range map[regime.Class]float64{usual: 1 / 1.5, unusual: 1 / 1.2} {
		e := Summarize(plan.Outcome.Readings[class]["beside"], m.random)
		if math.Abs(e.Performance-want) > 0.01 || e.Readings < 100 {
			t.Errorf("%s: %.4f ± %.4f from %d blocks, want %.4f", class, e.Performance, e.StandardError, e.Readings, want)
		}
	}
	if plan.Outcome.Dropped == 0 {
		t.Error("no block was dropped")
	}
	if got := plan.Outcome.Complete(10); got != usual {
		t.Errorf("the most complete regime is %s", got)
	}
	if len(plan.Outcome.RoundTrips[usual]) == 0 || len(plan.Outcome.RoundTrips[unusual]) == 0 {
		t.Error("round trips are missing")
	}
}

// A placement in which only some comparisons were measured often enough does not go before
// one in which all were measured.
func TestCompleteHasAllComparisons(t *testing.T) {
	o := &Outcome{Readings: map[regime.Class]map[string][]Reading{
		usual:   {"program": make([]Reading, 5), "interferer": make([]Reading, 5)},
		unusual: {"program": make([]Reading, 1), "interferer": make([]Reading, 40)},
	}}
	if got := o.Complete(10); got != usual {
		t.Errorf("%q, want %q: there the program has a spread", got, usual)
	}
	o.Readings[usual]["program"] = nil
	if got := o.Complete(10); got != unusual {
		t.Errorf("%q, want %q, which has the most", got, unusual)
	}
	if got := newOutcome().Complete(10); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

// TestRunDropsBlocksOfAChange changes the regime in one group.
func TestRunDropsBlocksOfAChange(t *testing.T) {
	m, _, plan := alike(6, noise{})
	plan.Precision = Precision{Fewest: 20}
	m.atProbe = func(n int) { m.other = n == 1 }
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Both the group that ends in the other regime and the one that begins there.
	if d := plan.Outcome.Dropped; d < 6 || d > 14 {
		t.Errorf("%d blocks were dropped", d)
	}
	if n := len(plan.Outcome.Readings[unusual]["beside"]); n != 0 {
		t.Errorf("%d readings in a regime that did not last", n)
	}
}

// TestRunBetweenFlips has a regime last for two blocks or three, about.
func TestRunBetweenFlips(t *testing.T) {
	for _, class := range []regime.Class{"", usual} {
		m, _, plan := alike(8, noise{white: 0.02, regimes: true, flips: 40 * time.Millisecond})
		plan.Precision = Precision{StandardError: 1e-6, Most: 1e6}
		plan.Budget, plan.Class = 20*time.Second, class
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		readings := plan.Outcome.Readings[usual]["beside"]
		kept := len(readings) + len(plan.Outcome.Readings[unusual]["beside"])
		if kept < plan.Outcome.Dropped {
			t.Errorf("class %q: %d blocks were kept, %d dropped", class, kept, plan.Outcome.Dropped)
		}
		if e := Summarize(readings, m.random); math.Abs(e.Performance*1.5-1) > 0.02 {
			t.Errorf("class %q: %.4f ± %.4f, want %.4f", class, e.Performance, e.StandardError, 1/1.5)
		}
		t.Logf("class %q: %d kept, %d dropped", class, kept, plan.Outcome.Dropped)
	}
}

func TestRunWaitsForItsRegime(t *testing.T) {
	m, _, plan := alike(7, noise{})
	plan.Class = usual
	m.other = true
	m.atProbe = func(int) { m.other = m.now < 3*time.Second }
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.now < 3*time.Second || len(plan.Outcome.Readings[unusual]) > 0 {
		t.Errorf("measured in another regime, until %v", m.now)
	}
	m, _, plan = alike(8, noise{})
	plan.Class, m.other = usual, true
	if err := plan.Run(t.Context()); !errors.Is(err, ErrRegimeLeft) || m.now > regimePatience+time.Second {
		t.Errorf("error %v after %v, want ErrRegimeLeft", err, m.now)
	}
	m, _, plan = alike(8, noise{})
	plan.Class, plan.Patience, m.other = usual, time.Second, true
	if err := plan.Run(t.Context()); !errors.Is(err, ErrRegimeLeft) || m.now > 2*time.Second {
		t.Errorf("error %v after %v, want ErrRegimeLeft after a second", err, m.now)
	}
	// It comes back for a moment, again and again.
	m, _, plan = alike(8, noise{})
	plan.Class, plan.MostWaited, m.other = usual, time.Second, true
	m.atProbe = func(n int) { m.other = n%20 != 0 }
	if err := plan.Run(t.Context()); !errors.Is(err, ErrRegimeLeft) || m.now > 3*time.Second {
		t.Errorf("error %v after %v, want ErrRegimeLeft after a second of waiting", err, m.now)
	}
}

func TestRunStartsEndedProgramsAgain(t *testing.T) {
	m := newSimulation(9, noise{white: 0.05})
	target := m.add(&simulated{phases: []phase{{solo: 0.2, slowdown: 1.5}}})
	m.stream(1)
	plan := m.plan(fine)
	plan.Precision = Precision{Fewest: 100}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	readings := plan.Outcome.Readings[usual]["beside"]
	if target.runs < 5 || plan.Outcome.Lost != target.runs {
		t.Errorf("%d runs ended, %d blocks were lost", target.runs, plan.Outcome.Lost)
	}
	if last := readings[len(readings)-1].Run; last < target.runs-1 || last > target.runs {
		t.Errorf("the readings are from %d runs of %d", last+1, target.runs+1)
	}
	for _, r := range readings {
		if r.Position < 0 || r.Position > 0.2 {
			t.Fatalf("a reading at %.3f of a run of 0.2", r.Position)
		}
	}
	if e := Summarize(readings, m.random); math.Abs(e.Performance-1/1.5) > 4*e.StandardError+0.003 {
		t.Errorf("%+v, want 0.667", e)
	}
}

// TestRunKeepsSlicesOfEndedPrograms has the first blocks fail because the program ends,
// which longer slices would not prevent.
func TestRunKeepsSlicesOfEndedPrograms(t *testing.T) {
	m, target, plan := alike(9, noise{})
	target.phases = []phase{{solo: 1e-3, slowdown: 1.5}}
	m.atProbe = func(int) {
		if target.runs > 2*failuresToLengthen {
			target.phases = steady
		}
	}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if plan.Outcome.Lost < failuresToLengthen || plan.Bench.Slicing != fine {
		t.Errorf("slices %+v after %d lost blocks, want %+v", plan.Bench.Slicing, plan.Outcome.Lost, fine)
	}
}

// TestRunTellsFaults has a party fail in the middle of a plan.
func TestRunTellsFaults(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		fault func(m *simulation, target *simulated, plan *Plan)
		want  error
	}{
		{"ended for good", func(_ *simulation, target *simulated, plan *Plan) { plan.Again, target.ended = nil, true }, ErrEnded},
		{"not started again", func(_ *simulation, target *simulated, plan *Plan) {
			target.ended = true
			plan.Again = func(context.Context) error { return broken }
		}, broken},
		{"ends at once", func(_ *simulation, target *simulated, _ *Plan) { target.phases = []phase{{solo: 1e-3, slowdown: 1}} }, ErrEnded},
		{"stalled", func(m *simulation, target *simulated, _ *Plan) { target.interrupted = m.now + time.Hour }, ErrStalled},
		{"coarse", func(_ *simulation, target *simulated, _ *Plan) { target.grain = 0.5 }, ErrStalled},
		{"unreadable", func(_ *simulation, target *simulated, _ *Plan) { target.readFault = broken }, broken},
		{"back", func(_ *simulation, target *simulated, _ *Plan) { target.falls = true }, ErrBack},
		{"probe", func(_ *simulation, _ *simulated, plan *Plan) {
			plan.Probe = func(context.Context) (regime.Tag, error) { return regime.Tag{}, broken }
		}, broken},
		{"prepare", func(_ *simulation, _ *simulated, plan *Plan) {
			plan.Points[0].Prepare = func() error { return broken }
		}, broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, target, plan := alike(10, noise{white: 0.02})
			plan.Precision = Precision{Fewest: 1000, Most: 1000}
			m.atProbe = func(n int) {
				if n == 3 {
					test.fault(m, target, plan)
				}
			}
			err := plan.Run(t.Context())
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if strings.Count(err.Error(), test.want.Error()) != 1 {
				t.Errorf("the error says it more than once: %v", err)
			}
			if m.working() {
				t.Error("a party works")
			}
			if m.now > time.Minute {
				t.Errorf("it took %v to see", m.now)
			}
		})
	}
}

// TestSetStopsTheOthers has one party refuse to stop.
func TestSetStopsTheOthers(t *testing.T) {
	m, target, plan := alike(11, noise{})
	if err := plan.Bench.Set(3); err != nil {
		t.Fatal(err)
	}
	target.switchFault = errors.New("it does not listen")
	if err := plan.Bench.Set(0); !errors.Is(err, target.switchFault) {
		t.Fatalf("error %v", err)
	}
	if m.parties[1].on {
		t.Error("the other party works")
	}
	target.switchFault = nil
	if err := plan.Bench.Set(0); err != nil || m.working() {
		t.Errorf("error %v, working %v", err, m.working())
	}
}

// TestSetSwitchesOnlyWhatChanges counts the switches.
func TestSetSwitchesOnlyWhatChanges(t *testing.T) {
	m, target, plan := alike(12, noise{})
	for _, s := range []State{1, 3, 3, 1, 0} {
		if err := plan.Bench.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	if target.switched != 2 || m.parties[1].switched != 3 {
		t.Errorf("%d and %d switches, want 2 and 3", target.switched, m.parties[1].switched)
	}
	plan.Bench.Forget()
	if err := plan.Bench.Set(0); err != nil {
		t.Fatal(err)
	}
	if target.switched != 3 || m.parties[1].switched != 4 {
		t.Error("somebody was not switched although the state was not known")
	}
}

// canceling is a Clock that cancels a context at a moment.
type canceling struct {
	*simulation
	at     time.Duration
	cancel func()
}

func (c *canceling) Now() time.Duration {
	if c.now >= c.at {
		c.cancel()
	}
	return c.simulation.Now()
}

// TestCancelLeavesNobodyWorking cancels at every quarter of a millisecond of a
// plan whose program ends and is started again.
func TestCancelLeavesNobodyWorking(t *testing.T) {
	for at := time.Duration(0); at < 300*time.Millisecond; at += 250 * time.Microsecond {
		m := newSimulation(13, noise{white: 0.05, latency: true, regimes: true})
		m.add(&simulated{phases: []phase{{solo: 0.1, slowdown: 1.5}}})
		m.stream(1)
		plan := m.plan(fine)
		plan.Precision = Precision{Fewest: 1000, Most: 1000}
		ctx, cancel := context.WithCancel(t.Context())
		plan.Bench.Clock = &canceling{m, at, cancel}
		err := plan.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled at %v: error %v", at, err)
		}
		if m.working() {
			t.Fatalf("canceled at %v: a party works", at)
		}
		if m.now > at+120*time.Millisecond {
			t.Fatalf("canceled at %v: returned at %v", at, m.now)
		}
		cancel()
	}
}

func ExamplePlan() {
	m := newSimulation(1, everything)
	m.add(&simulated{phases: []phase{{solo: 10, slowdown: 1.25}}})
	m.stream(1)
	plan := &Plan{
		Bench: &Bench{
			Clock: m, Random: m.random, Parties: []Party{m.parties[0], m.parties[1]},
			Slicing: Slicing{Length: 4 * time.Millisecond, Settle: 1500 * time.Microsecond},
		},
		Probe: m.probe,
		Points: []Point{{
			States:  []State{1, 3}, // the first alone, both
			Compare: []Comparison{{Name: "first beside second", Party: 0, On: 1, Off: 0}},
		}},
	}
	if err := plan.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	class := plan.Outcome.Complete(10)
	e := Summarize(plan.Outcome.Readings[class]["first beside second"], m.random)
	fmt.Printf("%.2f of the speed alone\n", e.Performance)
	// Output: 0.80 of the speed alone
}

// starved is a party that gets its CPU for 3 ms in every 24.
type starved struct {
	clock Clock
	on    bool
}

func (s *starved) Switch(on bool) error { s.on = on; return nil }
func (s *starved) Smooth() bool         { return true }

func (s *starved) Read() (float64, time.Duration, error) {
	const cycle, turn = 24 * time.Millisecond, 3 * time.Millisecond
	now := s.clock.Now()
	return float64(now/cycle)*float64(turn) + float64(min(now%cycle, turn)), now, nil
}

// Slices in which nobody gets on are made longer until somebody does.
func TestRunBearsABusyMachine(t *testing.T) {
	_, _, plan := alike(11, noise{})
	for p := range plan.Bench.Parties {
		plan.Bench.Parties[p] = &starved{clock: plan.Bench.Clock}
	}
	plan.Precision = Precision{StandardError: 1, Fewest: 20, Most: 40}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(plan.Outcome.Readings[usual]["beside"]); n < 20 {
		t.Errorf("%d readings, want 20", n)
	}
}

// recorder tells in which states a bench let time pass.
type recorder struct {
	*simulation
	bench  *Bench
	states []State
}

func (r *recorder) Sleep(d time.Duration) {
	if s := r.bench.state; len(r.states) == 0 || r.states[len(r.states)-1] != s {
		r.states = append(r.states, s)
	}
	r.simulation.Sleep(d)
}

// TestTakeKeepsNeighbors has three states take turns forward and backward, so that no
// slice of a party alone follows one of the other alone, which empties its cache.
func TestTakeKeepsNeighbors(t *testing.T) {
	m, _, plan := alike(11, noise{})
	r := &recorder{simulation: m, bench: plan.Bench}
	r.bench.Clock = r
	seen := map[State]int{}
	for range 40 {
		r.states = nil
		if _, err := r.bench.Take(t.Context(), 1, 3, 2); err != nil {
			t.Fatal(err)
		}
		first := r.states[0]
		seen[first]++
		if want := []State{first, 3, 3 - first, 3, first}; !slices.Equal(r.states, want) {
			t.Fatalf("states %v, want %v", r.states, want)
		}
	}
	if seen[1] < 10 || seen[2] < 10 {
		t.Errorf("blocks by their first state: %v", seen)
	}
}
