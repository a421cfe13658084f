package onboard

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/units"
)

// at is an interval with enough units at a rate.
func at(beside string, rate float64) Interval {
	return Interval{Beside: beside, Seconds: 2, Units: 2 * rate, Arrivals: 40}
}

func TestReadIntervals(t *testing.T) {
	few, back, still := at("p", 50), at("p", 50), at("p", 0)
	few.Arrivals, back.WentBack, still.Seconds = leastArrivals-1, true, 0
	for _, c := range []struct {
		name string
		run  []Interval
		want []float64
		lost string
	}{
		{"half the rate", []Interval{at("", 100), at("p", 50), at("", 100)}, []float64{0.5}, ""},
		{"mean of the controls", []Interval{at("", 90), at("p", 50), at("", 110)}, []float64{0.5}, ""},
		{"two", []Interval{at("", 100), at("p", 50), at("", 100), at("p", 60), at("", 100)}, []float64{0.5, 0.6}, ""},
		{"no control after it", []Interval{at("", 100), at("p", 50)}, nil, "1: no control on both sides"},
		{"no control before it", []Interval{at("p", 50), at("", 100)}, nil, "1: no control on both sides"},
		{"few", []Interval{at("", 100), few, at("", 100)}, nil, "1: too few units"},
		{"few in a control", []Interval{at("", 100), at("p", 50), {Seconds: 1, Units: 3, Arrivals: 3}}, nil, "1: no control on both sides"},
		{"back", []Interval{at("", 100), back, at("", 100)}, nil, "1: count went back"},
		{"no time", []Interval{at("", 100), still, at("", 100)}, nil, "1: too few units"},
		{"phase", []Interval{at("", 100), at("p", 100), at("", 200)}, nil, "1: pace changed"},
		{"much faster", []Interval{at("", 100), at("p", 160), at("", 100)}, nil, "1: pace changed"},
		{"nearly stopped", []Interval{at("", 1e6), at("p", 1), at("", 1e6)}, []float64{lowestPerformance}, ""},
		{"none", nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readIntervals([][]Interval{c.run})
			values := got.performance["p"]
			if len(values) != len(c.want) || got.lost() != c.lost {
				t.Fatalf("%v, left out %q; want %v, %q", values, got.lost(), c.want, c.lost)
			}
			for i := range values {
				if math.Abs(values[i]-c.want[i]) > 1e-12 {
					t.Errorf("%v, want %v", values, c.want)
				}
			}
		})
	}
}

func TestReadIntervalsFindsWhatWasThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := map[string]float64{
			"a": rapid.Float64Range(0.05, 1).Draw(t, "a"), "b": rapid.Float64Range(0.05, 1).Draw(t, "b"),
		}
		var runs [][]Interval
		pressed := 0
		for range rapid.IntRange(1, 4).Draw(t, "runs") {
			pace := rapid.Float64Range(1, 1e9).Draw(t, "pace")
			// A steady drift: the mean of two controls is the pace between them.
			drift := rapid.Float64Range(-0.01, 0.01).Draw(t, "drift")
			var run []Interval
			for i := range 2*rapid.IntRange(1, 8).Draw(t, "turns") + 1 {
				rate := pace * (1 + drift*float64(i))
				if i%2 == 0 {
					run = append(run, at("", rate))
					continue
				}
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pressure")
				run = append(run, at(name, rate*truth[name]))
				pressed++
			}
			runs = append(runs, run)
		}
		got := readIntervals(runs)
		if got.kept() != pressed || got.lost() != "" {
			t.Fatalf("%d of %d kept, left out %q", got.kept(), pressed, got.lost())
		}
		for name, values := range got.performance {
			for _, v := range values {
				if math.Abs(v-truth[name]) > 1e-9 {
					t.Fatalf("%s: %v, want %v", name, v, truth[name])
				}
			}
		}
	})
}

func TestReadIntervalsOfAnything(t *testing.T) {
	number := rapid.OneOf(rapid.Float64Range(-1, 1e3), rapid.Just(0.0))
	interval := rapid.Custom(func(t *rapid.T) Interval {
		return Interval{
			Beside:  rapid.SampledFrom([]string{"", "p", "q"}).Draw(t, "beside"),
			Seconds: number.Draw(t, "seconds"), Units: number.Draw(t, "units"),
			Arrivals: rapid.IntRange(0, 60).Draw(t, "arrivals"), WentBack: rapid.Bool().Draw(t, "back"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		run := rapid.SliceOf(interval).Draw(t, "run")
		got := readIntervals([][]Interval{run})
		pressed, lost := 0, 0
		for _, i := range run {
			if i.Beside != "" {
				pressed++
			}
		}
		for _, n := range got.discarded {
			lost += n
		}
		if got.kept()+lost != pressed {
			t.Fatalf("%d kept and %d left out of %d", got.kept(), lost, pressed)
		}
		for _, values := range got.performance {
			for _, v := range values {
				if !(v >= lowestPerformance && v <= v1alpha1.MaxNormalizedPerformance) {
					t.Fatalf("performance %v", v)
				}
			}
		}
	})
}

func TestWatchedCurves(t *testing.T) {
	pressure := func(share units.ReadShare, level float64, alone units.Bandwidth) MeasuredPressure {
		return MeasuredPressure{
			Pressure: Pressure{ReadShare: share, Level: level, Pattern: interferer.Sequential},
			Alone:    units.TrafficOf(alone, share),
		}
	}
	strong, weak, unseen := pressure(1, 1, 10e9), pressure(1, 0.5, 5e9), pressure(0.5, 1, 9e9)
	run := []Interval{
		at("", 100), at(strong.String(), 40), at("", 100), at(weak.String(), 80),
		at("", 100), at(strong.String(), 60), at("", 100),
	}
	read := readIntervals([][]Interval{run})
	if got := read.missing([]MeasuredPressure{strong, unseen}); len(got) != 1 || got[0] != unseen.String() {
		t.Errorf("missing %v", got)
	}
	for _, c := range []struct {
		p    MeasuredPressure
		want Precision
		more bool
	}{
		{weak, Precision{HalfWidth: 1, MinRepeats: 2, MaxRepeats: 7}, true},
		{strong, Precision{HalfWidth: 1, MinRepeats: 2, MaxRepeats: 7}, false},
		{strong, Precision{HalfWidth: 0.01, MinRepeats: 2, MaxRepeats: 7}, true},
		{strong, Precision{HalfWidth: 0.01, MinRepeats: 2, MaxRepeats: 2}, false},
	} {
		if got := read.wants([]MeasuredPressure{c.p}, c.want); got != c.more {
			t.Errorf("%v to %+v: wants more %v", c.p, c.want, got)
		}
	}
	curves := read.curves([]MeasuredPressure{strong, weak})
	if len(curves) != 1 || len(curves[0].Points) != 2 {
		t.Fatalf("curves %+v", curves)
	}
	low, high := curves[0].Points[0], curves[0].Points[1]
	if low.NormalizedPerformance != 0.8 || low.Repeats != 1 || low.Spread != nil {
		t.Errorf("one interval: %+v", low)
	}
	if math.Abs(high.NormalizedPerformance-0.5) > 1e-12 || high.Repeats != 2 || high.Spread == nil || high.InterfererBytesPerSecond != 10e9 {
		t.Errorf("two intervals: %+v", high)
	}
}

func TestPaceInterval(t *testing.T) {
	for _, c := range []struct {
		name      string
		wall      int // seconds
		arrivals  int
		pressures int
		each      float64
		runs      int
		fault     string
	}{
		{"all in one run", 17, 17000, 8, 1, 1, ""},
		{"coarse units", 100, 250, 8, 10, 2, ""},
		{"just three intervals", 30, 75, 8, 10, 8, ""},
		{"too coarse", 30, 74, 8, 0, 0, "stdbuf"},
		{"once", 30, 1, 1, 0, 0, "75 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pace{wall: time.Duration(c.wall) * time.Second, arrivals: c.arrivals}
			each, runs, err := p.interval(c.pressures)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Fatalf("error %v, want %q", err, c.fault)
				}
				return
			}
			if err != nil || math.Abs(each.Seconds()-c.each) > 0.01 || runs != c.runs {
				t.Errorf("%v, %d runs, %v; want %vs, %d runs", each, runs, err, c.each, c.runs)
			}
		})
	}
}
