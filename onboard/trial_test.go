package onboard

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/topology"
)

// TestTrialWithGaps checks that an application that was not measured under pressure is
// left out, and that the others are reported.
func TestTrialWithGaps(t *testing.T) {
	session := &bench.Session{Random: rand.New(rand.NewPCG(1, 1)), Machine: &topology.Machine{}}
	probe := pressure.Measured{
		Pressure: pressure.Pressure{ReadShare: 1, Level: 1, Pattern: interferer.Sequential},
		Setting:  interferer.Setting{Mode: interferer.Stream, ReadShare: 1, Pattern: interferer.Sequential},
	}
	applications := []Application{{Name: "measured"}, {Name: "gap"}}
	taken := func(performance float64) []modulation.Reading { return readings(20, performance, 1e9) }
	run := &trial{
		Trial: &Trial{Session: session, Applications: applications},
		Stage: &bench.Stage{Session: session},
		class: regime.SameComplex,
		experiment: &Experiment{
			Session: session, Pressures: []pressure.Measured{probe},
			Traffic: map[string]*profiler.Summary{"measured": {}, "gap": {}},
		},
		outcome: &modulation.Outcome{
			RoundTrips: map[regime.Class][]float64{regime.SameComplex: {50}},
			Readings: map[regime.Class]map[string][]modulation.Reading{regime.SameComplex: {
				besideName("measured", probe.String()):              taken(0.8),
				besideName(probe.String(), "measured"):              taken(0.9),
				besideName("measured", corunLabel(applications[0])): taken(0.85),
				besideName("gap", corunLabel(applications[0])):      taken(0.7),
			}},
		},
	}
	tried := run.collect(&v1alpha1.MachineProfile{})
	if len(tried.Profiles) != 1 || tried.Profiles[0].Name != "measured" {
		t.Errorf("profiles %v", tried.Profiles)
	}
	if len(tried.Pairs) != 1 || tried.Pairs[0].Target != "measured" || tried.Pairs[0].Corunner != "measured" {
		t.Errorf("pairs %+v", tried.Pairs)
	}
	if want := []string{"gap under pressure"}; !slices.Equal(tried.Missing, want) {
		t.Errorf("missing %q, want %q", tried.Missing, want)
	}

	// One reading of an application has no spread.
	single := run.outcome.Readings[regime.SameComplex]
	single[besideName("gap", probe.String())] = readings(1, 0.8, 1e9)
	single[besideName(probe.String(), "gap")] = readings(1, 0.9, 1e9)
	if tried := run.collect(&v1alpha1.MachineProfile{}); len(tried.Profiles) != 1 || len(tried.LeftOut) > 0 {
		t.Errorf("with a single reading of another application: %+v", tried)
	}

	// No traffic makes a probe run three times as fast.
	single[besideName("gap", probe.String())] = readings(20, 0.8, 1e9)
	single[besideName(probe.String(), "gap")] = readings(20, 3, 1e9)
	delete(run.experiment.Traffic, "gap")
	if tried := run.collect(&v1alpha1.MachineProfile{}); len(tried.Profiles) != 1 || len(tried.Pairs) != 1 || len(tried.LeftOut) != 1 {
		t.Errorf("with an application that cannot be: %+v", tried)
	}

	delete(single, besideName("measured", corunLabel(applications[0])))
	if tried := run.collect(&v1alpha1.MachineProfile{}); len(tried.Profiles) != 1 || len(tried.Pairs) > 0 {
		t.Errorf("without a pair: %+v", tried)
	}
}

// TestPoorest checks what is measured once more: what is missing, then what is least
// precise for its readings, and nothing that is precise or has all readings it may have.
func TestPoorest(t *testing.T) {
	applications := []Application{{Name: "a"}, {Name: "b"}}
	session := &bench.Session{Random: rand.New(rand.NewPCG(1, 1))}
	list := map[string][]modulation.Reading{}
	run := &trial{
		Trial:      &Trial{Session: session, Applications: applications, Precision: modulation.Precision{StandardError: 0.01, Fewest: 10, Most: 100}},
		Stage:      &bench.Stage{Session: session},
		class:      regime.SameComplex,
		experiment: &Experiment{},
		outcome:    &modulation.Outcome{Readings: map[regime.Class]map[string][]modulation.Reading{regime.SameComplex: list}},
	}
	fill := func(p part, n int, spread float64) {
		for _, point := range run.points(p, nil) {
			for _, c := range point.Compare {
				list[c.Name] = nil
				for i := range n {
					list[c.Name] = append(list[c.Name], modulation.Reading{Log: spread * float64(i%2*2-1), Position: float64(i)})
				}
			}
		}
	}
	want := func(what string, want part, wantOK bool) {
		t.Helper()
		if got, ok := run.poorest(regime.SameComplex); ok != wantOK || ok && got != want {
			t.Errorf("%s: %v, %v; want %v, %v", what, got, ok, want, wantOK)
		}
	}
	for _, p := range run.parts() {
		fill(p, 40, 0.01)
	}
	want("all precise", part{}, false)
	fill(part{0, 1}, 40, 0.2)
	want("a noisy pair", part{0, 1}, true)
	fill(part{1, 1}, 40, 0.3)
	want("a noisier pair", part{1, 1}, true)
	fill(part{1, 1}, 100, 0.3)
	want("a noisier pair that has been measured for long", part{0, 1}, true)
	fill(part{1, theInterferer}, 9, 0.01)
	want("curves with too few readings", part{1, theInterferer}, true)
	fill(part{0, theInterferer}, 9, 0.01)
	want("curves of two applications", part{0, theInterferer}, true)
	run.target, run.running = &bench.Program{}, 1
	want("curves of two applications, of which one runs", part{1, theInterferer}, true)
	if p, ok := run.poorest(regime.CrossComplex); !ok || p != (part{1, theInterferer}) {
		t.Errorf("in a regime without readings: %v, %v", p, ok)
	}
}

// TestTrialMoves checks that a trial leaves a regime for one in which far more has been
// measured, and reports that.
func TestTrialMoves(t *testing.T) {
	applications := []Application{{Name: "a"}}
	const first, second = regime.CrossComplex, regime.SameComplex
	run := &trial{
		Trial:      &Trial{Session: &bench.Session{}, Applications: applications, Budget: time.Hour},
		class:      first,
		until:      time.Now().Add(time.Hour),
		experiment: &Experiment{},
		machines:   map[regime.Class]*v1alpha1.MachineProfile{first: {}, second: {}},
		outcome: &modulation.Outcome{
			RoundTrips: map[regime.Class][]float64{first: make([]float64, 5), second: make([]float64, 5)},
			Readings: map[regime.Class]map[string][]modulation.Reading{
				second: {besideName("a", corunLabel(applications[0])): readings(60, 0.8, 1e9)},
			},
		},
	}
	if run.settleFullest(); run.class != second {
		t.Errorf("reports %q, want %q", run.class, second)
	}
	run.class = first
	if err := run.settle(t.Context(), second); err != nil || run.class != second {
		t.Errorf("settled in %q: %v", run.class, err)
	}
	run.class = first
	if class, ok := run.fuller(); ok {
		t.Errorf("left for %q, in which one pair has been measured", class)
	}
	run.outcome.Readings[second][besideName("a", control)] = readings(60, 1, 1e9)
	if class, ok := run.fuller(); !ok || class != second {
		t.Errorf("stayed: %q, %v", class, ok)
	}
	run.outcome.Readings[first] = map[string][]modulation.Reading{besideName("a", control): readings(60, 1, 1e9)}
	if class, ok := run.fuller(); !ok || class != second {
		t.Errorf("stayed where a pair lacks, although nothing does elsewhere: %q, %v", class, ok)
	}
	run.until = time.Now()
	if err := run.move(t.Context()); err != nil || run.class != first {
		t.Errorf("moved to %q without time to measure there: %v", run.class, err)
	}
	run.until = time.Now().Add(time.Hour)
	if err := run.move(t.Context()); err != nil || run.class != second {
		t.Errorf("stayed in %q: %v", run.class, err)
	}
}
