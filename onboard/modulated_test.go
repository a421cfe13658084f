package onboard

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
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
	e := &estimator{session: &Session{Random: rand.New(rand.NewPCG(1, 1))}, readings: map[string][]modulation.Reading{
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

func TestRecording(t *testing.T) {
	var r recording
	for i, n := range []float64{0, 0, 1, 1, 4, 5} {
		r.add(n, time.Duration(i)*time.Millisecond, false)
	}
	r.add(5, 6*time.Millisecond, true)
	if r.steps != 3 || len(r.progress) != 7 {
		t.Errorf("%d steps and %d kept, want 3 and 7", r.steps, len(r.progress))
	}
}

// TestRecordingOfABusyMachine has a reader that runs for 2 ms of every 23, and counts of 300
// and 3,000 changes per second.
func TestRecordingOfABusyMachine(t *testing.T) {
	for _, perSecond := range []float64{300, 3000} {
		r := recording{wall: 2 * time.Second}
		for at := time.Duration(0); at < r.wall; at += 200 * time.Microsecond {
			if at%(23*time.Millisecond) < 2*time.Millisecond {
				r.add(math.Floor(perSecond*at.Seconds()), at, false)
			}
		}
		if got := r.perSecond(); math.Abs(got/perSecond-1) > 0.25 {
			t.Errorf("%.0f changes per second, want %.0f; %d were seen", got, perSecond, r.steps)
		}
	}
	// Between bunches, half of the time, nothing changes.
	bunches := recording{wall: 2 * time.Second}
	var n float64
	for at := time.Duration(0); at < bunches.wall; at += 200 * time.Microsecond {
		if at%(20*time.Millisecond) < 10*time.Millisecond {
			n++
		}
		bunches.add(n, at, false)
	}
	if got := bunches.perSecond(); got < 150 || got > 250 {
		t.Errorf("%.0f bunches and changes per second, want about 200", got)
	}
	seldom := recording{wall: time.Second, steps: 40}
	if got := seldom.perSecond(); got != 40 {
		t.Errorf("without close readings %.0f changes per second, want the 40 that were seen", got)
	}
}

// TestFineRecording has a reader that reads all the time now and then, of a program whose
// CPU others hold for a fifth of the time. Its count grows every 4, 30 or 200 µs, or every
// 4 µs at first and then every millisecond.
func TestFineRecording(t *testing.T) {
	const mixed = 0
	for _, each := range []time.Duration{4 * time.Microsecond, 30 * time.Microsecond, 200 * time.Microsecond, mixed} {
		r := recording{wall: 100 * time.Millisecond}
		n := 0.0
		for at := time.Duration(0); at < r.wall; {
			switch held := at%(15*time.Millisecond) >= 12*time.Millisecond; {
			case held:
			case each != mixed:
				n = float64(at / each)
			case at < 10*time.Millisecond:
				n = float64(at / (4 * time.Microsecond))
			default:
				n = 1e4 + float64(at/time.Millisecond)
			}
			r.add(n, at, false)
			if at%(20*time.Millisecond) < time.Millisecond {
				at += time.Microsecond
			} else {
				at += 200 * time.Microsecond
			}
		}
		if want := each == 4*time.Microsecond; r.fine() != want {
			t.Errorf("a change every %v: fine %v, want %v (%.0f per second)", each, r.fine(), want, r.finest.Rate())
		}
		if r.fine() && r.perSecond() < finePerSecond {
			t.Errorf("a change every %v: %.0f per second", each, r.perSecond())
		}
	}
}

func TestLongRecordingIsBounded(t *testing.T) {
	var r recording
	const hour = 3600 * 1000
	for i := range hour {
		r.add(float64(i), time.Duration(i)*time.Millisecond, i == hour-1)
	}
	if r.steps != hour-1 || len(r.progress) > 8*recordParts {
		t.Errorf("%d steps and %d kept", r.steps, len(r.progress))
	}
	if last := r.progress[len(r.progress)-1]; last.Count != hour-1 {
		t.Errorf("the last is %v", last)
	}
}
