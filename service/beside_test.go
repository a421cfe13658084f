package service_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

// exponential is M/M/1 of the saturation, by its formula.
func exponential(saturation float64) *v1alpha1.Service {
	s := &v1alpha1.Service{SaturationRequestsPerSecond: saturation, SaturationRelativeSpread: new(0.0)}
	for _, share := range []float64{0.1, 0.5, 0.9} {
		load := share * saturation
		s.Loads = append(s.Loads, v1alpha1.ServiceLoad{RequestsPerSecond: load, P99Seconds: math.Log(100) / (saturation - load), P99RelativeSpread: new(0.0)})
	}
	return s
}

func TestNoLatencyAboveSaturation(t *testing.T) {
	for _, test := range []struct {
		name          string
		load, s       float64
		alone, beside bool
		warning       string
	}{
		{"idle", 1, 1.5, true, true, ""},
		{"below", 5000, 1.5, true, true, ""},
		{"saturated beside", 8000, 1.5, true, false, "beside its neighbors the load is above 99% of saturation, 6666.67"},
		{"saturated alone", 12000, 1.5, false, false, "even alone"},
		{"on the edge", 10000, 1, false, false, "even alone"},
	} {
		a, err := service.Beside(exponential(1e4), test.load, constant(test.s))
		if err != nil {
			t.Fatal(err)
		}
		if (a.P99AloneSeconds != nil) != test.alone || (a.P99BesideSeconds != nil) != test.beside || (a.P99Interval != nil) != test.beside {
			t.Errorf("%s: %+v", test.name, a)
		}
		if got := strings.Join(a.Warnings, "\n"); !strings.Contains(got, test.warning) || test.warning == "" && got != "" {
			t.Errorf("%s: warnings %q", test.name, got)
		}
	}
}

// A factor that grows with the load: the saturation is where s of that very load leaves
// nothing.
func TestSaturationOfAGrowingFactor(t *testing.T) {
	growing := func(load float64) (service.Factor, error) {
		s := units.Slowdown(1 + load/2e4)
		return service.Factor{Slowdown: s, Low: s, High: s}, nil
	}
	a, err := service.Beside(exponential(1e4), 5000, growing)
	if err != nil {
		t.Fatal(err)
	}
	// λ·(1 + λ ÷ 2e4) = 1e4.
	if want := 1e4 * (math.Sqrt(3) - 1); math.Abs(a.SaturationBeside/want-1) > 1e-3 {
		t.Errorf("saturation %v, want %v", a.SaturationBeside, want)
	}
	if want := 1.25 * math.Log(100) / (1e4 - 6250); math.Abs(*a.P99BesideSeconds/want-1) > 1e-9 {
		t.Errorf("p99 %v, want %v", *a.P99BesideSeconds, want)
	}
}

// Where s grows faster than the load, substitution swings between two loads: the saturation
// is between them.
func TestSaturationOfASteepFactor(t *testing.T) {
	for _, steep := range []float64{2, 4, 16} {
		s := func(load float64) float64 { return 1 + math.Pow(load/6e3, steep) }
		a, err := service.Beside(exponential(1e4), 1000, func(load float64) (service.Factor, error) {
			f := units.Slowdown(s(load))
			return service.Factor{Slowdown: f, Low: f, High: f}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.SaturationBeside * s(a.SaturationBeside); math.Abs(got/1e4-1) > 1e-3 {
			t.Errorf("s grows with the load to the power of %v: at the saturation, %v, %v of 1e4 are used", steep, a.SaturationBeside, got)
		}
	}
}

// Below the lowest load measured the interval reaches down to what p99 of M/M/1 is there.
func TestBelowTheSweep(t *testing.T) {
	s := exponential(250)
	s.Loads = slices.DeleteFunc(s.Loads, func(l v1alpha1.ServiceLoad) bool { return l.RequestsPerSecond < 140 })
	none := func(float64) (service.Factor, error) { return service.Factor{Slowdown: 1, Low: 1, High: 1}, nil }
	a, err := service.Beside(s, 10, none)
	if err != nil {
		t.Fatal(err)
	}
	if truth := math.Log(100) / (250 - 10); a.P99Interval.Low > truth*(1+1e-9) {
		t.Errorf("the interval begins at %v s, p99 is %v s", a.P99Interval.Low, truth)
	}
	if len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "that of the lowest load measured") {
		t.Errorf("%q", a.Warnings)
	}
	if within, err := service.Beside(s, s.Loads[0].RequestsPerSecond, none); err != nil || len(within.Warnings) != 0 {
		t.Errorf("%q: %v", within.Warnings, err)
	}
}

// The interval of a p99 that four visits tell holds it as often as it says.
func TestIntervalOfFourVisits(t *testing.T) {
	const truth, trials = 0.01, 2000
	random := rand.New(rand.NewPCG(1, 2))
	held := 0
	for range trials {
		visits := make([]float64, 4)
		for i := range visits {
			visits[i] = truth * math.Exp(0.1*random.NormFloat64())
		}
		p99 := stat.Mean(visits, nil)
		s := &v1alpha1.Service{SaturationRequestsPerSecond: 1e4, Loads: []v1alpha1.ServiceLoad{
			{RequestsPerSecond: 5000, P99Seconds: p99, P99RelativeSpread: new(*stats.Spread(visits) / math.Sqrt(4) / p99)},
		}}
		a, err := service.Beside(s, 5000, func(float64) (service.Factor, error) { return service.Factor{Slowdown: 1, Low: 1, High: 1}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if a.P99Interval.Low <= truth && truth <= *a.P99Interval.High {
			held++
		}
	}
	if share := float64(held) / trials; share < 0.87 || share > 0.93 {
		t.Errorf("the 90%% interval holds %.1f%%", 100*share)
	}
}

func TestIntervals(t *testing.T) {
	factor := func(float64) (service.Factor, error) {
		return service.Factor{Slowdown: 1.3, Low: 1.2, High: 1.5}, nil
	}
	s := exponential(1e4)
	narrow, err := service.Beside(s, 5000, factor)
	if err != nil {
		t.Fatal(err)
	}
	truth := func(by float64) float64 { return by * math.Log(100) / (1e4 - by*5000) }
	if math.Abs(narrow.P99Interval.Low/truth(1.2)-1) > 1e-9 || math.Abs(*narrow.P99Interval.High/truth(1.5)-1) > 1e-9 {
		t.Errorf("interval %v to %v, want %v to %v", narrow.P99Interval.Low, *narrow.P99Interval.High, truth(1.2), truth(1.5))
	}
	s.SaturationRelativeSpread = new(0.02)
	for i := range s.Loads {
		s.Loads[i].P99RelativeSpread = new(0.1)
	}
	wide, err := service.Beside(s, 5000, factor)
	if err != nil {
		t.Fatal(err)
	}
	if !(wide.P99Interval.Low < narrow.P99Interval.Low*0.95 && *wide.P99Interval.High > 1.03**narrow.P99Interval.High) {
		t.Errorf("spreads do not widen the interval: %+v, %v", wide.P99Interval, *wide.P99Interval.High)
	}
	open, err := service.Beside(s, 7000, factor)
	if err != nil || open.P99BesideSeconds == nil || open.P99Interval.High != nil {
		t.Errorf("no open end: %+v %v", open, err)
	}
}

// A spread that is not known is not 0.
func TestUnknownSpreads(t *testing.T) {
	for name, lose := range map[string]func(*v1alpha1.Service){
		"p99":        func(s *v1alpha1.Service) { s.Loads[1].P99RelativeSpread = nil },
		"saturation": func(s *v1alpha1.Service) { s.SaturationRelativeSpread = nil },
	} {
		s := exponential(1e4)
		lose(s)
		a, err := service.Beside(s, 5000, constant(1.25))
		if err != nil || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "too narrow") {
			t.Errorf("%s: %q: %v", name, a.Warnings, err)
		}
	}
}

func TestHold(t *testing.T) {
	closed := &v1alpha1.Service{SaturationRequestsPerSecond: 1e4}
	for _, test := range []struct {
		of    *v1alpha1.Service
		load  float64
		limit time.Duration
		by    float64
		want  *bool
	}{
		{exponential(1e4), 5000, 2 * time.Millisecond, 1.1, new(true)}, // 1.15 ms
		{exponential(1e4), 5000, time.Millisecond, 1.1, new(false)},
		{exponential(1e4), 9900, time.Hour, 1.1, new(false)},
		{exponential(1e4), 9950, time.Hour, 1, new(false)},
		{exponential(1e4), 2e4, time.Hour, 1.1, new(false)},
		{closed, 5000, time.Hour, 1.1, nil},
		{closed, 2e4, time.Hour, 1.1, new(false)},
	} {
		a, err := service.Beside(test.of, test.load, constant(test.by))
		if err != nil {
			t.Fatal(err)
		}
		if a.Hold(test.limit); (a.Kept == nil) != (test.want == nil) || a.Kept != nil && *a.Kept != *test.want || *a.MaxP99Seconds != test.limit.Seconds() {
			t.Errorf("load %v, limit %v: kept %v, want %v", test.load, test.limit, a.Kept, test.want)
		}
	}
}

func TestWithoutASweep(t *testing.T) {
	s := &v1alpha1.Service{SaturationRequestsPerSecond: 1e4, SaturationAtLeast: true}
	a, err := service.Beside(s, 100, constant(1.25))
	if err != nil || a.P99AloneSeconds != nil || a.SaturationBeside != 8000 || len(a.Warnings) != 2 {
		t.Errorf("%+v %v", a, err)
	}
	failed := errors.New("no factor")
	if _, err := service.Beside(s, 100, func(float64) (service.Factor, error) { return service.Factor{}, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
}

func TestAtALoad(t *testing.T) {
	curve := func(performance float64) []v1alpha1.SensitivityCurve {
		return []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{
			{Level: 1, InterfererBytesPerSecond: 1e10, NormalizedPerformance: performance, Spread: new(0.01), Repeats: 9},
		}}}
	}
	p := &v1alpha1.ApplicationProfile{}
	p.Spec.Curves = curve(0.8)
	p.Spec.Phases = []v1alpha1.Phase{{TimeShare: 1}}
	p.Spec.Service = &v1alpha1.Service{SaturationRequestsPerSecond: 1000, Factors: []v1alpha1.ServiceFactors{
		{RequestsPerSecond: 300, ReadBytesPerSecond: 3e8, WriteBytesPerSecond: 3e7, Curves: curve(0.9)},
		{RequestsPerSecond: 700, ReadBytesPerSecond: 9e8, WriteBytesPerSecond: 9e7, Curves: curve(0.8)},
	}}
	for _, test := range []struct{ load, busy, performance, read float64 }{
		{100, 100, 0.9, 1e8},
		{300, 300, 0.9, 3e8},
		{500, 500, 0.85, 6e8},
		{500, 600, 0.85, 7.5e8}, // busier beside its neighbors
		{700, 700, 0.8, 9e8},
		{900, 5000, 0.8, 9e8 * 1000 / 700}, // no busier than when saturated
		{1e-9, 1e-9, 0.9, 0},               // idle
	} {
		at := service.At(p, test.load, test.busy)
		got := at.Spec.Curves[0].Points[0].NormalizedPerformance
		if math.Abs(got-test.performance) > 1e-12 || math.Abs(at.Spec.Contentiousness.ReadBytesPerSecond-test.read) > 1 {
			t.Errorf("%v: performance %v, reads %v", test, got, at.Spec.Contentiousness.ReadBytesPerSecond)
		}
		if at.Spec.Service != nil || at.Spec.Phases != nil {
			t.Errorf("%v: phases or a service are left", test)
		}
	}
	if p.Spec.Curves[0].Points[0].NormalizedPerformance != 0.8 || p.Spec.Service == nil {
		t.Error("the profile changed")
	}
	batch := &v1alpha1.ApplicationProfile{}
	if service.At(batch, 5, 5) != batch {
		t.Error("an application that is no service has no load")
	}
}
