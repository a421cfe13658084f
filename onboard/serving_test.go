package onboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/gonum/stat/distuv"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/load"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
)

func TestSlicesOfServices(t *testing.T) {
	for _, test := range []struct {
		rate float64
		want time.Duration
	}{{50_000, shortestServed}, {1000, shortestServed}, {600, 100 * time.Millisecond}, {100, 600 * time.Millisecond}, {1, longestServed}} {
		s := servedSlicing(test.rate)
		if s.Length != test.want || s.Settle <= 0 || s.Settle > s.Length/2 {
			t.Errorf("%v per second: slices of %v, %v settling; want %v", test.rate, s.Length, s.Settle, test.want)
		}
	}
}

func TestLoadOfVisits(t *testing.T) {
	v := visited{p99: []float64{0.0098, 0.0102, 0.0098, 0.0102}, cpu: []float64{0.2, 0.3, 0.4}, seconds: 100}
	for range v.p99 {
		v.latencies = append(v.latencies, hdrhistogram.New(1, 1e12, 3))
	}
	for i := range 1000 {
		if err := v.latencies[i%len(v.latencies)].RecordValue(int64(i+1) * 10_000); err != nil {
			t.Fatal(err)
		}
	}
	l := v.load(500, 5000)
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 2e-3 }
	if !near(l.P50Seconds, 0.005) || !near(l.P90Seconds, 0.009) || !near(l.P99Seconds, 0.0099) || !near(l.P999Seconds, 0.00999) {
		t.Errorf("quantiles %+v", l)
	}
	if l.RequestsPerSecond != 500 || l.Requests != 1000 || l.CPUSecondsPerSecond != 0.3 {
		t.Errorf("%+v", l)
	}
	// A standard deviation of 0.00023 over four visits.
	if got := *l.P99RelativeSpread; math.Abs(got-0.0117) > 5e-4 {
		t.Errorf("spread %v", got)
	}
}

// Failed requests are slower than p99 until they are so many that it is theirs.
func TestVisitsWithFailures(t *testing.T) {
	for _, test := range []struct {
		failed int64
		p99    float64
		most   bool
	}{{0, 0.00891, false}, {5, 0.00896, false}, {10, 0.009, true}} {
		v := visited{latencies: []*hdrhistogram.Histogram{hdrhistogram.New(1, 1e12, 4)}, p99: []float64{0.009}, cpu: []float64{1}, failed: test.failed}
		for i := range int64(900) {
			if err := v.latencies[0].RecordValue((i + 1) * 10_000); err != nil {
				t.Fatal(err)
			}
		}
		if got := v.failedMost(); got != test.most {
			t.Errorf("%d failed: too many %v, want %v", test.failed, got, test.most)
		}
		if l := v.load(500, 5000); math.Abs(l.P99Seconds/test.p99-1) > 1e-3 {
			t.Errorf("%d failed: p99 %v, want %v", test.failed, l.P99Seconds, test.p99)
		}
	}
}

// A visit in which the machine stood still is left out; a queue that varies is not.
func TestStalledVisit(t *testing.T) {
	visits := func(p99 ...float64) *visited {
		v := &visited{p99: p99, lag: make([]float64, len(p99)), cpu: make([]float64, len(p99))}
		for i := range p99 {
			v.latencies = append(v.latencies, hdrhistogram.New(1, 1e12, 3))
			if err := v.latencies[i].RecordValues(1000, int64(i)+1); err != nil {
				t.Fatal(err)
			}
		}
		return v
	}
	v := visits(0.002, 0.569, 0.0021, 0.0018)
	if p99, highest, ok := v.dropStalled(); !ok || p99 != 0.569 || highest != 0.0021 || v.answers() != 1+3+4 || len(v.lag) != 3 {
		t.Errorf("left out %v of %v, %v answers remain", p99, highest, v.answers())
	}
	for _, p99 := range [][]float64{{0.002, 0.0075, 0.0021, 0.0018}, {0.5, 0.002, 0.6, 0.0019}, {0.002, 0.6}} {
		v := visits(p99...)
		if _, _, ok := v.dropStalled(); ok || len(v.p99) != len(p99) {
			t.Errorf("%v: one was left out", p99)
		}
	}
}

// A visit is long against the time in which the queue forgets, and bounded.
// TestNothingKept tells loads that were not reached from those with too few answers.
func TestNothingKept(t *testing.T) {
	late := errors.New("late")
	for _, test := range []struct {
		name   string
		visits []visited
		want   string
		late   bool
	}{
		{"too few answers", make([]visited, 3), "raise --load-time", false},
		{"one visit missed", []visited{{behind: late, missed: 1}, {}}, "raise --load-time", false},
		{"not reached", []visited{{}, {behind: late, missed: sweepPasses}}, "quieter machine", true},
		{"failed", []visited{{failed: 3, failure: late}}, "too many requests failed", true},
	} {
		err := nothingKept(test.visits)
		if !errors.Is(err, ErrService) || errors.Is(err, late) != test.late || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestVisitTimes(t *testing.T) {
	for _, test := range []struct {
		rate, saturation float64
		settle, measured time.Duration
	}{
		{2_000, 20_000, settleTime, 500 * time.Millisecond},
		{18_000, 20_000, settleTime, 500 * time.Millisecond},
		{900, 1000, 1139 * time.Millisecond, 7595 * time.Millisecond},
		{300, 1000, settleTime, 2 * time.Second},
		{9, 10, 3 * time.Second, 20 * time.Second},
	} {
		settle, measured := visitTimes(test.rate, test.saturation, 2*time.Second)
		if settle.Round(time.Millisecond) != test.settle || measured.Round(time.Millisecond) != test.measured {
			t.Errorf("%v of %v per second: %v left out and %v measured; want %v and %v", test.rate, test.saturation, settle, measured, test.settle, test.measured)
		}
	}
}

// TestVisitsOfASimulatedQueue simulates the visits of a load of an M/M/1 queue, whose p99
// is known: a visit that is short against the queue finds half of it.
func TestVisitsOfASimulatedQueue(t *testing.T) {
	const repeats = 100
	for _, saturation := range []float64{400, 1000, 4000} {
		for _, share := range []float64{0.3, 0.7, 0.9} {
			rate := share * saturation
			truth := math.Log(100) / (saturation - rate)
			settle, measured := visitTimes(rate, saturation, defaultLoadTime)
			var ratios []float64
			for repeat := range uint64(repeats) {
				all := hdrhistogram.New(1, 1e12, 3)
				for visit := range uint64(sweepPasses) {
					simulateVisit(all, rand.New(rand.NewPCG(repeat, visit)), rate, saturation, settle.Seconds(), measured.Seconds())
				}
				ratios = append(ratios, float64(all.ValueAtQuantile(99))/1e9/truth)
			}
			if ratio := stats.Median(ratios); ratio < 0.9 || ratio > 1.05 {
				t.Errorf("%v of %v requests per second: p99 is %.2f of the true one", rate, saturation, ratio)
			}
		}
	}
}

// TestIntervalsOfASimulatedQueue holds the interval of p99 to what it says.
func TestIntervalsOfASimulatedQueue(t *testing.T) {
	const repeats = 200
	reach := distuv.StudentsT{Sigma: 1, Nu: sweepPasses - 1}.Quantile(0.95) // as in service.Beside
	saturations := []float64{400, 4000}
	if testing.Short() {
		saturations = saturations[:1]
	}
	for _, saturation := range saturations {
		for _, share := range []float64{0.3, 0.5, 0.7, 0.9} {
			rate := share * saturation
			truth := math.Log(100) / (saturation - rate)
			settle, measured := visitTimes(rate, saturation, defaultLoadTime)
			held := 0
			for repeat := range uint64(repeats) {
				v := visited{seconds: measured.Seconds(), cpu: []float64{0}}
				for visit := range uint64(sweepPasses) {
					h := hdrhistogram.New(1, 1e12, 3)
					simulateVisit(h, rand.New(rand.NewPCG(repeat, visit)), rate, saturation, settle.Seconds(), measured.Seconds())
					v.latencies = append(v.latencies, h)
					v.p99 = append(v.p99, float64(h.ValueAtQuantile(99))/1e9)
				}
				l := v.load(rate, saturation)
				if math.Abs(math.Log(l.P99Seconds/truth)) <= reach**l.P99RelativeSpread {
					held++
				}
			}
			if held := float64(held) / repeats; held < 0.85 || held > 0.97 {
				t.Errorf("%v of %v requests per second: the interval holds %.0f%%", rate, saturation, 100*held)
			}
		}
	}
}

// simulateVisit adds the latencies of the requests that arrive after settle seconds, for
// so many measured ones, at an M/M/1 queue that begins empty.
func simulateVisit(latencies *hdrhistogram.Histogram, random *rand.Rand, rate, saturation, settle, measured float64) {
	free := 0.0
	for now := random.ExpFloat64() / rate; now < settle+measured; now += random.ExpFloat64() / rate {
		free = max(now, free) + random.ExpFloat64()/saturation
		if now >= settle {
			_ = latencies.RecordValue(int64((free - now) * 1e9))
		}
	}
}

func TestPlacementWith(t *testing.T) {
	probed := func(classes ...regime.Class) (points []v1alpha1.ProbePoint) {
		for _, class := range classes {
			for _, probe := range []string{"reader", "modifier"} {
				for _, share := range []float64{0.5, 1} {
					for _, level := range []float64{0.5, 1} {
						points = append(points, v1alpha1.ProbePoint{
							Probe: probe, Regime: string(class), ReadShare: share, Level: level, InterfererBytesPerSecond: level * 2e10,
							AchievedBytesPerSecond: level * 1.5e10, RelativeSpeed: 1 - level/3, Repeats: 3,
						})
					}
				}
			}
		}
		return points
	}
	counted := &Serving{Traffic: struct{ profiler.Source }{}}
	for _, test := range []struct {
		name   string
		serve  *Serving
		main   regime.Class
		probes []v1alpha1.ProbePoint
		want   regime.Class
	}{
		{"that of the machine", &Serving{}, regime.CrossComplex, probed(regime.SameComplex, regime.CrossComplex), regime.CrossComplex},
		{"the only one", &Serving{}, regime.CrossComplex, probed(regime.SameComplex), regime.SameComplex},
		{"none", &Serving{}, regime.CrossComplex, nil, ""},
		{"counters", counted, regime.CrossComplex, probed(regime.CrossComplex), ""},
	} {
		machine := &v1alpha1.MachineProfile{Spec: v1alpha1.MachineProfileSpec{
			Measurement: v1alpha1.Measurement{Regime: &v1alpha1.Regime{Name: string(test.main)}}, ProbeMap: test.probes,
			Sustained: []v1alpha1.SustainedBandwidth{{ReadShare: 0.5, BytesPerSecond: 3e10}, {ReadShare: 1, BytesPerSecond: 3e10}},
		}}
		service := &serving{Serving: test.serve, machine: machine}
		if got := service.placementWith(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		service.class = regime.SameCore
		if got := service.placementWith(); test.serve.Traffic == nil && got != regime.SameCore {
			t.Errorf("%s: %q after a load in another placement", test.name, got)
		}
	}
}

func TestFirstPlacement(t *testing.T) {
	left := fmt.Errorf("measuring: %w", modulation.ErrRegimeLeft)
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		// errs are those of the calls of each way, the last of them for ever.
		errs  [2][]error
		calls [2]int
		want  int
		err   error
	}{
		{"at once", [2][]error{{nil}, {nil}}, [2]int{1, 0}, 0, nil},
		{"the other", [2][]error{{left}, {nil}}, [2]int{1, 1}, 1, nil},
		{"later", [2][]error{{left, left, nil}, {left}}, [2]int{3, 2}, 0, nil},
		{"another error", [2][]error{{left}, {broken}}, [2]int{1, 1}, 1, broken},
		{"neither", [2][]error{{left}, {left}}, [2]int{mostAlternations, mostAlternations}, 0, modulation.ErrRegimeLeft},
	} {
		var calls [2]int
		way := func(i int) func(context.Context) error {
			return func(context.Context) error {
				calls[i]++
				return test.errs[i][min(calls[i], len(test.errs[i]))-1]
			}
		}
		got, err := firstPlacement(t.Context(), way(0), way(1))
		if got != test.want || !errors.Is(err, test.err) || calls != test.calls {
			t.Errorf("%s: way %d, %v after %d calls; want way %d, %v after %d", test.name, got, err, calls, test.want, test.err, test.calls)
		}
	}
}

// The rate of a load generator of its own is the saturation where the server was at its
// limit.
func TestUnsaturated(t *testing.T) {
	for server, want := range map[float64]bool{0.97: false, 0.3: true} {
		s := &serving{Serving: &Serving{}}
		if got := s.unsaturated(6400, server); got != want || (len(s.warnings) > 0) != want {
			t.Errorf("the server used %v of its CPUs: lower bound %v, warnings %q", server, got, s.warnings)
		}
	}
}

// A saturation is a lower bound where the load, or the number of its requests, was at its
// limit and the server was not.
func TestBoundedSaturation(t *testing.T) {
	for _, test := range []struct {
		name              string
		server, generator float64
		twice             float64 // of the rate, with twice the connections; 0: not asked
		err               error
		want              bool
	}{
		{"server at its limit", 0.97, 0.3, 0, nil, false},
		{"both at their limits", 0.97, 0.97, 0, nil, false},
		{"load at its limit", 0.5, 0.97, 0, nil, true},
		{"server of one thread on two CPUs", 0.5, 0.3, 1.02, nil, false},
		{"server that waits", 0.05, 0.05, 2, nil, true},
		{"server that refuses so many", 0.05, 0.05, 1, load.ErrFailing, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &serving{Serving: &Serving{Connections: 64}}
			asked := false
			got := s.bounded(saturated{rate: 6400, server: test.server, generator: test.generator}, func() (saturated, error) {
				asked = true
				return saturated{rate: 6400 * test.twice}, test.err
			})
			if got != test.want || asked != (test.twice > 0) {
				t.Errorf("lower bound %v, asked %v; want %v", got, asked, test.want)
			}
			if warned := len(s.warnings) > 0; warned != (test.twice > 1.5) {
				t.Errorf("warnings %q", s.warnings)
			}
		})
	}
}
