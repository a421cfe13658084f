package modulation

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"bandmate.dev/bandmate/regime"
)

// chosenBy measures a program on a machine whose caches follow with a time constant.
func chosenBy(t *testing.T, seed uint64, refill time.Duration, phases []phase) (*Plan, *simulated, Estimate) {
	t.Helper()
	m := newSimulation(seed, noise{white: 0.05, refill: refill})
	target := m.add(&simulated{phases: phases})
	m.stream(1)
	plan := m.plan(fine)
	plan.Points[0].Compare[0].Effect = 1
	plan.Choosing = &Choosing{}
	plan.Precision = Precision{StandardError: 0.003}
	if len(phases) > 1 {
		plan.Whole = func() bool { return target.runs >= 2 }
	}
	if err := plan.Run(t.Context()); err != nil || m.working() {
		t.Fatalf("seed %d: error %v, a party works: %v", seed, err, m.working())
	}
	return plan, target, Summarize(plan.Outcome.Readings[usual]["beside"], m.random)
}

// Short slices are chosen where caches follow soon, and only there. Wherever they are not, the
// readings show the whole effect of the neighbor.
func TestChoosing(t *testing.T) {
	const repeats = 50
	for _, test := range []struct {
		name        string
		refill      time.Duration
		phases      []phase
		least, most int // how often short slices are chosen
		repeats     int
	}{
		{"soon", 200 * time.Microsecond, steady, 40, repeats, repeats},
		{"late", 5 * time.Millisecond, steady, 0, 1, repeats},
		{"soon, with phases", 200 * time.Microsecond, phased, 8, 10, 10},
		{"late, with phases", 5 * time.Millisecond, phased, 0, 0, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			short, bias := 0, 0.0
			for seed := range uint64(test.repeats) {
				plan, target, e := chosenBy(t, seed, test.refill, test.phases)
				bias += (e.Performance - target.performance(false)) / float64(test.repeats)
				switch s := plan.Slicing(usual); s {
				case fine:
					short++
					if plan.Agreed(usual) != (plan.Whole == nil) {
						t.Errorf("seed %d: agreed along a run: %v", seed, plan.Agreed(usual))
					}
				case fine.Longer(), fine.Longer().Longer():
				default:
					t.Errorf("seed %d: slices %v", seed, s)
				}
			}
			t.Logf("short %d times of %d, bias %+.4f", short, test.repeats, bias)
			if short < test.least || short > test.most {
				t.Errorf("short slices %d times of %d, want %d to %d", short, test.repeats, test.least, test.most)
			}
			if limit := 0.01 + 4*test.refill.Seconds(); math.Abs(bias) > limit {
				t.Errorf("the bias is %+.4f, want at most %.3f", bias, limit)
			}
		})
	}
}

// Readings from slices that turn out to be long enough come first, as runs of their own.
func TestUseShort(t *testing.T) {
	early := &Ratio{Log: 3, Lost: 0.5, Alone: 10, Beside: 20}
	of := &chosen{short: fine, now: fine.Longer(), blocks: 2, before: map[string][]Reading{
		"beside": {{Run: 0, Log: 1}, {Run: 2, Log: 2}}, "once": {{Run: 1, Log: 4}},
	}}
	plan := &Plan{Outcome: newOutcome()}
	plan.Outcome.Blocks = map[regime.Class]int{usual: 3}
	plan.Outcome.Readings[usual] = map[string][]Reading{
		"beside": {{Run: 0, Log: 7, Early: early}, {Run: 1, Log: 8}}, "nothing": {{Run: 1, Log: 9, Early: early}},
	}
	plan.useShort(usual, of)
	want := map[string][]Reading{
		"beside":  {{Run: 0, Log: 1}, {Run: 2, Log: 2}, {Run: 3, Log: 3, Lost: 0.5, Alone: 10, Beside: 20, Early: early}, {Run: 4, Log: 8}},
		"nothing": {{Run: 1, Log: 3, Lost: 0.5, Alone: 10, Beside: 20, Early: early}},
		"once":    {{Run: 1, Log: 4}},
	}
	if got := plan.Outcome.Readings[usual]; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if plan.Outcome.Blocks[usual] != 5 || of.now != fine || of.before != nil {
		t.Errorf("%d blocks, %+v", plan.Outcome.Blocks[usual], of)
	}
}

// A plan that ends soon after its slices became longer keeps what it measured before.
func TestChoosingKeepsReadings(t *testing.T) {
	m := newSimulation(1, noise{white: 0.05, refill: 5 * time.Millisecond})
	m.add(&simulated{phases: steady})
	m.stream(1)
	plan := m.plan(fine)
	plan.Points[0].Compare[0].Effect, plan.Budget = 1, 100*time.Millisecond
	plan.Precision.StandardError = 1e-6
	plan.Choosing = &Choosing{first: fine}
	of := plan.Choosing.in(usual)
	plan.Choosing.doubt(of, fine.Longer())
	of.before, of.blocks = map[string][]Reading{"beside": make([]Reading, 50)}, 50
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	readings := plan.Outcome.Readings[usual]["beside"]
	if len(readings) <= 50 || len(readings) != plan.Outcome.Blocks[usual] || plan.Slicing(usual) != fine.Longer() || plan.Agreed(usual) {
		t.Errorf("%d readings of %d blocks in slices %v, agreed: %v", len(readings), plan.Outcome.Blocks[usual], plan.Slicing(usual), plan.Agreed(usual))
	}
}

// Slices stay short where a program ends before a block of longer ones does.
func TestChoosingOfShortPrograms(t *testing.T) {
	for _, longest := range []time.Duration{0, 4 * time.Millisecond} {
		m := newSimulation(1, noise{refill: 5 * time.Millisecond})
		m.add(&simulated{phases: []phase{{solo: 0.03, slowdown: 2}}})
		m.stream(1)
		plan := m.plan(fine)
		plan.Points[0].Compare[0].Effect = 1
		plan.Choosing = &Choosing{Longest: longest}
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := plan.Slicing(usual); s != fine || plan.Agreed(usual) || len(plan.Outcome.Readings[usual]["beside"]) == 0 {
			t.Errorf("longest %v: slices %v, agreed: %v, %d readings", longest, s, plan.Agreed(usual), len(plan.Outcome.Readings[usual]["beside"]))
		}
		if longest > 0 && plan.Outcome.Lost > plan.Outcome.Blocks[usual] {
			t.Errorf("longest %v: %d blocks lost of %d", longest, plan.Outcome.Lost, plan.Outcome.Blocks[usual])
		}
	}
}

// Without a decision, longer slices are known to be long enough where short ones leave little
// out.
func TestAgreedWithoutDecision(t *testing.T) {
	for _, test := range []struct {
		leftOut, se float64
		compared    int
		want        bool
	}{
		{0.01, 0.01, 40, true},
		{-0.01, 0.01, 40, true},
		{0.025, 0.01, 40, false},
		{0, 0.04, 40, false},
		{0, 0, 0, false},
	} {
		plan := &Plan{Choosing: &Choosing{first: fine}}
		of := plan.Choosing.in(usual)
		of.leftOut, of.leftOutError, of.compared = test.leftOut, test.se, test.compared
		if got := plan.Agreed(usual); got != test.want {
			t.Errorf("%+v: agreed: %v", test, got)
		}
	}
	if (&Plan{}).Agreed(usual) {
		t.Error("agreed without having compared")
	}
}

// Slices that are long already stay as they are.
func TestChoosingOfLongSlices(t *testing.T) {
	m := newSimulation(1, noise{})
	m.add(&simulated{phases: steady})
	m.stream(1)
	long := milliseconds(60, 1.5)
	plan := m.plan(long)
	plan.Points[0].Compare[0].Effect, plan.Choosing = 1, &Choosing{}
	if err := plan.Run(t.Context()); err != nil || plan.Slicing(usual) != long || plan.Agreed(usual) {
		t.Errorf("slices %v, agreed: %v, error %v", plan.Slicing(usual), plan.Agreed(usual), err)
	}
}

// A placement in which caches follow late does not learn from one in which they follow soon.
func TestChoosingByRegime(t *testing.T) {
	m := newSimulation(3, noise{white: 0.03, refill: 200 * time.Microsecond})
	m.add(&simulated{phases: steady})
	m.stream(1)
	plan := m.plan(fine)
	plan.Points[0].Compare[0].Effect, plan.Choosing = 1, &Choosing{}
	plan.Precision = Precision{Fewest: 40}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if plan.Slicing(usual) != fine || plan.Slicing(unusual) != fine.Longer() {
		t.Errorf("slices %v, and %v in another placement", plan.Slicing(usual), plan.Slicing(unusual))
	}
}

// sharedPlan measures some pressures, a control and a pressure whose speed is measured too.
func sharedPlan(m *simulation, sharing int) (plan *Plan, slowdowns map[string]float64) {
	m.add(&simulated{phases: steady})
	m.stream(1.25)
	plan = m.plan(fine)
	plan.Points, plan.Sharing = nil, sharing
	plan.Precision = Precision{Fewest: 60, Most: 60}
	slowdowns = map[string]float64{"weak": 1.1, "middle": 1.5, "strong": 2, "probe": 1.8, "control": 1}
	for _, name := range slices.Sorted(maps.Keys(slowdowns)) {
		point := Point{
			States:  []State{1, 3},
			Compare: []Comparison{{Name: name, On: 1, Off: 0}},
			Prepare: func() error { m.parties[0].phases = []phase{{solo: 3, slowdown: slowdowns[name]}}; return nil },
		}
		switch name {
		case "control":
			point.States[1], point.Prepare = 1, nil
		case "probe":
			point.States = append(point.States, 2)
			point.Compare = append(point.Compare, Comparison{Name: "speed", Party: 1, On: 1, Off: 2})
		}
		plan.Points = append(plan.Points, point)
	}
	return plan, slowdowns
}

// Points that share the slices in which the program is alone give the same results in less
// time.
func TestSharing(t *testing.T) {
	var took [2]time.Duration
	for i, sharing := range []int{0, 2} {
		m := newSimulation(1, noise{white: 0.05, drift: 0.05})
		plan, slowdowns := sharedPlan(m, sharing)
		if err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		took[i] = m.now
		slowdowns["speed"] = 1.25
		for name, slowdown := range slowdowns {
			e := Summarize(plan.Outcome.Readings[usual][name], m.random)
			if e.Readings < 60 || math.Abs(e.Performance-1/slowdown) > 4*e.StandardError+0.004 {
				t.Errorf("sharing by %d: %s: %+v, want %.3f", sharing, name, e, 1/slowdown)
			}
		}
	}
	t.Logf("took %v, shared %v", took[0], took[1])
	if took[1] > took[0]*85/100 {
		t.Errorf("took %v, shared %v", took[0], took[1])
	}
}
