package onboard

import (
	"math"
	"math/rand/v2"
	"testing"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// readings are n of a performance, with a rate alone, one percent apart.
func readings(n int, performance, alone float64) []modulation.Reading {
	var all []modulation.Reading
	for i := range n {
		y := math.Log(performance) + 0.01*float64(i%2*2-1)
		all = append(all, modulation.Reading{Log: y, Position: float64(i), Alone: alone, Beside: alone * math.Exp(y)})
	}
	return all
}

func TestResultsOfReadings(t *testing.T) {
	probe := pressure.Measured{
		Pressure: pressure.Pressure{ReadShare: 1, Level: 1, Pattern: interferer.Sequential},
		Setting:  interferer.Setting{Mode: interferer.Stream, ReadShare: 1, Pattern: interferer.Sequential},
	}
	half := pressure.Measured{
		Pressure: pressure.Pressure{ReadShare: 1, Level: 0.5, Pattern: interferer.Sequential},
		Setting:  interferer.Setting{Mode: interferer.Stream, ReadShare: 1, Pattern: interferer.Sequential, Bandwidth: 5e9},
		Alone:    units.Traffic{Read: 5e9},
	}
	pressures := []pressure.Measured{half, probe}
	e := &estimator{session: &bench.Session{Random: rand.New(rand.NewPCG(1, 1))}, readings: map[string][]modulation.Reading{
		besideName("app", probe.String()): readings(40, 0.8, 1000),
		besideName(probe.String(), "app"): readings(40, 0.9, 10e9),
		besideName("app", half.String()):  readings(40, 0.95, 1000),
		besideName(half.String(), "app"):  readings(40, 1, 4.9e9),
	}}
	curves, err := e.curves("app", pressures)
	if err != nil {
		t.Fatal(err)
	}
	if len(curves) != 1 || len(curves[0].Points) != 2 {
		t.Fatalf("curves %+v", curves)
	}
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	low, high := curves[0].Points[0], curves[0].Points[1]
	near("performance at half", low.NormalizedPerformance, 0.95, 0.003)
	near("bandwidth at half is that of the setting", low.InterfererBytesPerSecond, 5e9, 1e-9)
	near("achieved at half", *low.AchievedBytesPerSecond, 4.9e9, 0.02)
	near("performance at full", high.NormalizedPerformance, 0.8, 0.003)
	near("bandwidth at full is that measured within the blocks", high.InterfererBytesPerSecond, 10e9, 0.02)
	near("achieved at full", *high.AchievedBytesPerSecond, 9e9, 0.02)
	if high.Repeats != 40 || high.Spread == nil || *high.Spread < 0.002 || *high.Spread > 0.05 {
		t.Errorf("point %+v", high)
	}
	read := e.probeReadings("app", pressures)
	if len(read) != 1 || read[0].Probe != profiler.Reader {
		t.Fatalf("probes %+v", read)
	}
	near("probe's speed", read[0].RelativeSpeed, 0.9, 0.003)
	if _, err := e.curves("other", pressures); err == nil {
		t.Error("curves of what was not measured")
	}
	e.readings[besideName(probe.String(), "app")] = readings(2, 2.3, 10e9)
	if read := e.probeReadings("app", pressures); len(read) != 1 || read[0].Validate() != nil {
		t.Errorf("readings of a disturbed probe %+v are refused", read)
	}
}

func TestCircumstancesCountOtherRegimes(t *testing.T) {
	o := &modulation.Outcome{
		Dropped: 3,
		Readings: map[regime.Class]map[string][]modulation.Reading{
			regime.SameComplex: {"a": readings(9, 1, 1)}, regime.CrossComplex: {"a": readings(4, 1, 1), "b": readings(4, 1, 1)},
		},
		Blocks:     map[regime.Class]int{regime.SameComplex: 9, regime.CrossComplex: 4},
		RoundTrips: map[regime.Class][]float64{regime.SameComplex: {50, 60, 70}},
	}
	if c := circumstancesOf(o, regime.SameComplex); c.dropped != 7 || c.roundTrip != 60 || c.class != regime.SameComplex {
		t.Errorf("%+v", c)
	}
}

// An application beside itself is compared once: two comparisons of one name would count the
// same block twice.
func TestPairPoint(t *testing.T) {
	a, b := Application{Name: "a"}, Application{Name: "b"}
	for _, tt := range []struct {
		second Application
		want   int
	}{{a, 1}, {b, 2}} {
		names := map[string]bool{}
		p := pairPoint(a, tt.second)
		for _, c := range p.Compare {
			names[c.Name] = true
			if c.On >= len(p.States) || c.Off >= len(p.States) {
				t.Errorf("%s: states %d and %d of %d", c.Name, c.On, c.Off, len(p.States))
			}
		}
		if len(names) != tt.want || len(p.Compare) != tt.want {
			t.Errorf("a beside %s: %d comparisons of %d names, want %d", tt.second.Name, len(p.Compare), len(names), tt.want)
		}
	}
}
