package fast_test

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/units"
)

// application has one curve per entry of keeps, at four levels up to 20 GB/s, all of
// which the interferer achieves.
func application(t testing.TB, name string, gigabytes, share float64, keeps map[float64][4]float64) *predictor.Application {
	t.Helper()
	p := &v1alpha1.ApplicationProfile{}
	p.Name = name
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond: gigabytes * 1e9 * share, WriteBytesPerSecond: gigabytes * 1e9 * (1 - share), Source: "imported",
	}
	for at, performance := range keeps {
		c := v1alpha1.SensitivityCurve{ReadShare: at}
		for i, p := range performance {
			b := 5e9 * float64(i+1)
			c.Points = append(c.Points, v1alpha1.CurvePoint{
				Level: float64(i+1) / 4, InterfererBytesPerSecond: b, AchievedBytesPerSecond: &b, NormalizedPerformance: p, Repeats: 1,
			})
		}
		p.Spec.Curves = append(p.Spec.Curves, c)
	}
	a, err := predictor.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPairsByHand(t *testing.T) {
	apps := []*predictor.Application{
		application(t, "target", 10, 1, map[float64][4]float64{0.5: {0.8, 0.6, 0.4, 0.2}, 1: {0.9, 0.8, 0.7, 0.6}}),
		application(t, "reads", 10, 1, nil),
		application(t, "mixed", 10, 0.75, nil),
		application(t, "silent", 0, 1, nil),
		// Beside anyone it keeps half of its 16 GB/s: the target then has 0.68 to 0.84.
		application(t, "slowed", 16, 1, map[float64][4]float64{1: {0.5, 0.5, 0.5, 0.5}}),
		predictor.Unprofiled("nobody"),
	}
	pairs := fast.NewPairs(apps)
	want := []float64{math.NaN(), 0.8, 0.7, 1, 0.76, 1}
	for i, got := range pairs.Row(nil, 0)[1:] {
		if math.Abs(float64(got)-want[i+1]) > 1e-4 {
			t.Errorf("beside %s: %v, want %v", apps[i+1].Name(), got, want[i+1])
		}
	}
}

// Beyond the table the slowdown goes on, however high the traffic.
func TestBeyondTheTable(t *testing.T) {
	target := application(t, "target", 10, 1, map[float64][4]float64{1: {0.9, 0.8, 0.7, 0.6}})
	last := units.NormalizedPerformance(1)
	for _, gigabytes := range []float64{20, 40, 80, 1e6, 1e200} {
		got := fast.Group(nil, []*fast.Model{fast.New(target), fast.New(application(t, "other", gigabytes, 1, nil))})[0]
		if !(got >= 0 && got <= last) {
			t.Errorf("beside %v GB/s: %v, beside less %v", gigabytes, got, last)
		}
		last = got
	}
}

// An aggregate of constant traffic says of a newcomer what Group says.
func TestAggregateAgreesWithGroup(t *testing.T) {
	steady := fast.Steady(units.Traffic{Read: 4e9, Write: 2e9})
	var g fast.Aggregate
	g.AddUp([]fast.Resident{steady}, false)
	for _, a := range applications(t, "ddr4x2", byCurves) {
		m := fast.New(a)
		want := fast.Group(nil, []*fast.Model{m, steady.Model})[0]
		if got := 1 / (1 + g.Estimate(m, 1)); math.Abs(got-float64(want)) > 1e-4 {
			t.Errorf("%s: %v in the aggregate, %v in the group", a.Name(), got, want)
		}
	}
}

func TestReliable(t *testing.T) {
	calibrated := applications(t, "ddr4x2", byModel)
	uncalibrated := fast.New(applications(t, "ddr4x2", byCurves)[0])
	resident, newcomer := fast.Resident{Model: fast.New(calibrated[1]), Weight: 1}, fast.New(calibrated[0])
	for name, test := range map[string]struct {
		residents []fast.Resident
		newcomer  *fast.Model
		want      bool
	}{
		"nobody there":            {nil, newcomer, false},
		"calibrated":              {[]fast.Resident{resident}, newcomer, true},
		"beside measured traffic": {[]fast.Resident{resident, fast.Steady(units.Traffic{Read: 1e9})}, newcomer, true},
		"beside one by curves":    {[]fast.Resident{resident, {Model: uncalibrated}}, newcomer, false},
		"one by curves":           {[]fast.Resident{resident}, uncalibrated, false},
		"nothing":                 {[]fast.Resident{resident}, nil, false},
	} {
		var g fast.Aggregate
		g.AddUp(test.residents, false)
		if got := g.Reliable(test.newcomer); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Every ordered pair of 10,000 applications.
func BenchmarkMatrix(b *testing.B) {
	some := applications(b, "ddr4x2", byCurves)
	var apps []*predictor.Application
	for len(apps) < 10_000 {
		apps = append(apps, some...)
	}
	apps = slices.Clip(apps[:10_000])
	pairs := fast.NewPairs(apps)
	b.ResetTimer()
	for b.Loop() {
		var workers sync.WaitGroup
		n := runtime.GOMAXPROCS(0)
		for first := range n {
			workers.Go(func() {
				row := make([]units.NormalizedPerformance, 0, len(apps))
				for i := first; i < len(apps); i += n {
					row = pairs.Row(row[:0], i)
				}
			})
		}
		workers.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e8, "ns/pair")
}

func BenchmarkNew(b *testing.B) {
	for name, rest := range map[string]string{"curves": byCurves, "calibrated": byModel} {
		apps := applications(b, "ddr4x2", rest)
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				fast.New(apps[i%len(apps)])
			}
		})
	}
}
