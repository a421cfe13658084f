package profiler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/api/v1alpha1"
)

func reading(probe string, speed, performance float64) ProbeReading {
	return ProbeReading{Probe: probe, RelativeSpeed: speed, ApplicationPerformance: &performance}
}

// TestInferRecovers puts applications on a noiseless machine.
func TestInferRecovers(t *testing.T) {
	c := newContention(0, 1)
	m, err := NewMap(c.calibrate(CalibrationGrid(false)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ gbs, share, performance float64 }{
		{20, 0.75, 1}, {30, 0.75, 0.6}, {25, 1, 0.7}, {40, 0.6, 0.6}, {45, 0.8, 0.5},
	} {
		var readings []ProbeReading
		for _, probe := range Probes() {
			r := reading(probe, c.speed(probe, 1e9*tt.gbs*tt.performance, tt.share), tt.performance)
			r.Spread, r.ApplicationSpread = new(0.0), new(0.0)
			readings = append(readings, r)
		}
		e := infer(t, m, readings)
		if got := e.Traffic.Total().GBps(); math.Abs(got/tt.gbs-1) > 0.2 || e.Low.GBps() > tt.gbs || e.High.GBps() < tt.gbs {
			t.Errorf("%+v: %.1f GB/s, 90%% %v to %v", tt, got, e.Low, e.High)
		}
	}
}

func TestInferWarns(t *testing.T) {
	m := readReal(t).newMap(t)
	for _, tt := range []struct {
		name       string
		readings   []ProbeReading
		want       string
		shareKnown bool
		saturated  bool
	}{
		{
			name:     "an application without traffic has an upper bound and no read share",
			readings: []ProbeReading{reading(Reader, 1, 1), reading(Modifier, 1, 1)},
			want:     "no effect on the probes: the traffic is at most",
		},
		{
			name:       "saturated probes give no upper bound",
			readings:   []ProbeReading{reading(Reader, 0.54, 0.5), reading(Modifier, 0.55, 0.45)},
			want:       "the probes are saturated",
			shareKnown: true,
			saturated:  true,
		},
		{
			name:     "readings that no traffic explains",
			readings: []ProbeReading{reading(Reader, 0.99, 0.9), reading(Modifier, 0.56, 0.9)},
			want:     "the probes disagree",
		},
		{
			name:       "a probe that the map lacks is left out",
			readings:   []ProbeReading{reading(Reader, 0.69, 0.96), reading(Modifier, 0.78, 0.91), reading("chase", 0.9, 1)},
			want:       "map lacks: chase",
			shareKnown: true,
		},
		{
			name:       "unknown performance",
			readings:   []ProbeReading{{Probe: Reader, RelativeSpeed: 0.69}, {Probe: Modifier, RelativeSpeed: 0.78}},
			want:       "performance beside a probe is unknown",
			shareKnown: true,
		},
		{
			name:       "the lowest read share of the map",
			readings:   []ProbeReading{reading(Reader, 0.80, 1), reading(Modifier, 0.62, 1)},
			want:       "may be below 50%",
			shareKnown: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := infer(t, m, tt.readings)
			if !strings.Contains(strings.Join(e.Warnings, "\n"), tt.want) {
				t.Errorf("warnings %q lack %q", e.Warnings, tt.want)
			}
			if e.ReadShareKnown != tt.shareKnown || e.Saturated != tt.saturated {
				t.Errorf("read share known %v, saturated %v; want %v, %v (%+v)", e.ReadShareKnown, e.Saturated, tt.shareKnown, tt.saturated, e)
			}
		})
	}
}

// TestInferConflictWidens: the same bandwidth with readings that disagree is
// known less well.
func TestInferConflictWidens(t *testing.T) {
	m := readReal(t).newMap(t)
	agree := infer(t, m, []ProbeReading{reading(Reader, 0.75, 1), reading(Modifier, 0.78, 1)})
	conflict := infer(t, m, []ProbeReading{reading(Reader, 0.75, 1), reading(Modifier, 1.05, 1)})
	if conflict.High-conflict.Low < (agree.High-agree.Low)*3/2 {
		t.Errorf("interval %v to %v where probes agree, %v to %v where not", agree.Low, agree.High, conflict.Low, conflict.High)
	}
	if conflict.Residual < 3*agree.Residual {
		t.Errorf("residual %v where probes agree, %v where not", agree.Residual, conflict.Residual)
	}
}

// TestInferCorrectsForPerformance: an application that keeps half its speed
// beside a probe has about twice the traffic of one that keeps all, when both
// slow the probe alike.
func TestInferCorrectsForPerformance(t *testing.T) {
	m := readReal(t).newMap(t)
	fast := infer(t, m, []ProbeReading{reading(Reader, 0.75, 1), reading(Modifier, 0.78, 1)})
	slow := infer(t, m, []ProbeReading{reading(Reader, 0.75, 0.5), reading(Modifier, 0.78, 0.5)})
	if got := float64(slow.Traffic.Total() / fast.Traffic.Total()); math.Abs(got-2) > 0.1 {
		t.Errorf("traffic %v and %v, want a factor of 2", fast.Traffic.Total(), slow.Traffic.Total())
	}
}

// TestInferOneReadShare: with a map of one read share the bandwidth is inferred
// and the read share is not.
func TestInferOneReadShare(t *testing.T) {
	d := readReal(t)
	points := slices.DeleteFunc(d.points, func(p v1alpha1.ProbePoint) bool { return p.ReadShare != 1 })
	m, err := NewMap(points, d.sustained)
	if err != nil {
		t.Fatal(err)
	}
	e := infer(t, m, []ProbeReading{reading(Reader, 0.8368, 1), reading(Modifier, 0.8449, 1)})
	if got := e.Traffic.Total().GBps(); math.Abs(got/10.16-1) > 0.1 {
		t.Errorf("%.2f GB/s, want 10.16 within 10%%", got)
	}
	if e.ReadShareKnown || e.ReadShareUncertainty != 0.5 {
		t.Errorf("read share known %v ± %v, want unknown ± 0.5", e.ReadShareKnown, e.ReadShareUncertainty)
	}
}

func TestInferRefuses(t *testing.T) {
	m := readReal(t).newMap(t)
	for _, tt := range []struct {
		name     string
		readings []ProbeReading
		want     []string
	}{
		{"none", nil, []string{"no reading", "modifier, reader"}},
		{"only unknown probes", []ProbeReading{reading("chase", 0.9, 1)}, []string{"no reading"}},
		{"every fault at once", []ProbeReading{
			reading(Reader, math.NaN(), 1), reading(Modifier, 0.9, 0),
			{Probe: Reader, RelativeSpeed: 0.9, Spread: new(-1.0), ApplicationSpread: new(math.Inf(1))},
		}, []string{`"reader": relative speed NaN`, `"modifier": application performance 0`, "spread -1", "application spread +Inf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := m.Infer(tt.readings)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q: %v", want, err)
				}
			}
		})
	}
}

func TestEstimateContentiousness(t *testing.T) {
	e := infer(t, readReal(t).newMap(t), []ProbeReading{reading(Reader, 0.75, 1), reading(Modifier, 0.78, 1)})
	c := e.Contentiousness()
	if c.Source != "probe" || c.ReadBytesPerSecond != float64(e.Traffic.Read) || c.WriteBytesPerSecond != float64(e.Traffic.Write) ||
		*c.RelativeUncertainty != e.RelativeUncertainty || *c.ReadShareUncertainty != e.ReadShareUncertainty {
		t.Errorf("%+v does not hold %+v", c, e)
	}
}

// drawPoints draws maps that a broken calibration might leave: any spread of
// rates, read shares and speeds that are each valid.
func drawPoints(t *rapid.T) ([]v1alpha1.ProbePoint, []v1alpha1.SustainedBandwidth) {
	rate := rapid.OneOf(rapid.Float64Range(1, 1e15), rapid.Float64Range(1e9, 60e9))
	share := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.5, 0.75, 1}))
	spread := rapid.Ptr(rapid.OneOf(rapid.Float64Range(0, 0.1), rapid.Float64Range(0, math.MaxFloat64)), true)
	points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.ProbePoint {
		return v1alpha1.ProbePoint{
			Probe:                    rapid.SampledFrom([]string{Reader, Modifier, "other"}).Draw(t, "probe"),
			ReadShare:                share.Draw(t, "share"),
			Level:                    rapid.OneOf(rapid.Just(1.0), rapid.Float64Range(0.001, 1)).Draw(t, "level"),
			InterfererBytesPerSecond: rate.Draw(t, "solo"),
			AchievedBytesPerSecond:   rate.Draw(t, "achieved"),
			RelativeSpeed:            rapid.Float64Range(1e-300, 2).Draw(t, "speed"),
			Spread:                   spread.Draw(t, "spread"),
			Repeats:                  rapid.IntRange(-1, 5).Draw(t, "repeats"),
		}
	}), 0, 12).Draw(t, "points")
	sustained := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.SustainedBandwidth {
		return v1alpha1.SustainedBandwidth{ReadShare: share.Draw(t, "share"), BytesPerSecond: rate.Draw(t, "rate")}
	}), 0, 4).Draw(t, "sustained")
	return points, sustained
}

func drawReadings(t *rapid.T) []ProbeReading {
	ratio := rapid.OneOf(rapid.Float64Range(0.3, 1.05), rapid.Float64Range(math.SmallestNonzeroFloat64, 2))
	spread := rapid.Ptr(rapid.OneOf(rapid.Float64Range(0, 0.1), rapid.Float64Range(0, math.MaxFloat64)), true)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ProbeReading {
		return ProbeReading{
			Probe:                  rapid.SampledFrom([]string{Reader, Modifier, "other"}).Draw(t, "probe"),
			RelativeSpeed:          ratio.Draw(t, "speed"),
			Spread:                 spread.Draw(t, "spread"),
			ApplicationPerformance: rapid.Ptr(ratio, true).Draw(t, "performance"),
			ApplicationSpread:      spread.Draw(t, "performance spread"),
		}
	}), 1, 5).Draw(t, "readings")
}

func inferAnything(t *rapid.T) {
	points, sustained := drawPoints(t)
	m, err := NewMap(points, sustained)
	if err != nil {
		return
	}
	e, err := m.Infer(drawReadings(t))
	if err != nil {
		if !strings.Contains(err.Error(), "no reading of a probe in the map") {
			t.Fatalf("valid readings refused: %v", err)
		}
		return
	}
	if err := checkEstimate(m, e); err != nil {
		t.Fatal(err)
	}
}

func checkEstimate(m *Map, e Estimate) error {
	for name, v := range map[string]float64{
		"read": float64(e.Traffic.Read), "write": float64(e.Traffic.Write), "low": float64(e.Low), "high": float64(e.High),
		"relative uncertainty": e.RelativeUncertainty, "read share uncertainty": e.ReadShareUncertainty, "residual": e.Residual,
	} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v", name, v)
		}
	}
	var top float64
	for _, y := range m.bound.y {
		top = max(top, y)
	}
	const rounding = 1 + 1e-9
	total := float64(e.Traffic.Total())
	if !(total > 0) || total > top*rounding {
		return fmt.Errorf("total %v outside 0 to %v", total, top)
	}
	if total*rounding < float64(e.Low) || total > float64(e.High)*rounding {
		return fmt.Errorf("total %v outside its interval %v to %v", total, e.Low, e.High)
	}
	low, high := m.ReadShares()
	if share, ok := e.Traffic.ReadShare(); !ok || float64(share) < float64(low)-1e-9 || float64(share) > float64(high)+1e-9 {
		return fmt.Errorf("read share %v outside %v to %v", share, low, high)
	}
	if e.ReadShareUncertainty > 0.5 {
		return fmt.Errorf("read share uncertainty %v", e.ReadShareUncertainty)
	}
	return nil
}

func TestInferStaysWithinBounds(t *testing.T) { rapid.Check(t, inferAnything) }

func FuzzInfer(f *testing.F) { f.Fuzz(rapid.MakeFuzz(inferAnything)) }

// FuzzReading feeds numbers of any kind: an error or an estimate within bounds.
func FuzzReading(f *testing.F) {
	c := newContention(0.01, 1)
	m, err := NewMap(c.calibrate(CalibrationGrid(true)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0.8, 0.9, 0.02, 0.7, 0.8, 0.02)
	f.Add(math.NaN(), 0.9, 0.0, math.Inf(1), -1.0, math.NaN())
	f.Fuzz(func(t *testing.T, s1, n1, d1, s2, n2, d2 float64) {
		e, err := m.Infer([]ProbeReading{
			{Probe: Reader, RelativeSpeed: s1, ApplicationPerformance: &n1, Spread: &d1},
			{Probe: Modifier, RelativeSpeed: s2, ApplicationPerformance: &n2, ApplicationSpread: &d2},
		})
		if err != nil {
			return
		}
		if err := checkEstimate(m, e); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkInfer(b *testing.B) {
	c := newContention(0.01, 1)
	m, err := NewMap(c.calibrate(CalibrationGrid(false)))
	if err != nil {
		b.Fatal(err)
	}
	_, _, readings := c.application()
	for b.Loop() {
		if _, err := m.Infer(readings); err != nil {
			b.Fatal(err)
		}
	}
}
