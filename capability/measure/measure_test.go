package measure

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/cpuset"
	"pgregory.net/rapid"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/topology"
)

func TestMain(m *testing.M) {
	interferer.RunIfChild()
	os.Exit(m.Run())
}

// A ring visits every line once before it returns to the first.
func TestRingVisitsEveryLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.IntRange(1, 500).Draw(t, "lines")
		r := lay(make([]uint32, lines*wordsPerLine+rapid.IntRange(0, wordsPerLine-1).Draw(t, "rest")))
		r.modify()
		seen := make([]bool, lines)
		at := uint32(0)
		for range lines {
			if at%wordsPerLine != 0 || seen[at/wordsPerLine] {
				t.Fatalf("back at %d", at)
			}
			seen[at/wordsPerLine] = true
			at = r.chase(at, 1)
		}
		if at != 0 || r.chase(0, 2*lines) != 0 {
			t.Fatalf("ends at %d", at)
		}
	})
}

// The numbers are those of tables of the sign test: with n values, the k lowest
// and the k highest lie outside.
func TestOutside(t *testing.T) {
	for n, want := range map[int]int{6: 0, 8: 0, 9: 1, 11: 1, 12: 2, 20: 5, 50: 17, 100: 39} {
		if got := outside(n); got != want {
			t.Errorf("%d values: %d outside, want %d", n, got, want)
		}
	}
}

func TestMedianOf(t *testing.T) {
	m := medianOf([]float64{9, 10, 11, 10, 8, 13})
	if m.Value != 10 || math.Abs(m.RelativeInterval-0.3) > 1e-12 || m.Repeats != 6 || m.Precise() {
		t.Errorf("got %+v", m)
	}
}

// What is doubted is not said to be what is wanted.
func TestDoubt(t *testing.T) {
	for interval, want := range map[float64]string{
		0.1: "", 0.1002: "the 95% interval is ±10.1% after 11 repeats, not within 10%", 1.3175: "the 95% interval is ±131.8% after 11 repeats, not within 10%",
	} {
		if got := (Median{Value: 1, RelativeInterval: interval, Repeats: 11}).Doubt(); got != want {
			t.Errorf("%v: %q, want %q", interval, got, want)
		}
	}
}

// The interval holds the true median in at least 95% of the cases, whatever the
// distribution; here one with a long tail.
func TestIntervalCoversTheMedian(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	covered := 0
	for range trials {
		values := make([]float64, 25)
		for i := range values {
			values[i] = random.ExpFloat64()
		}
		m := medianOf(values)
		if math.Abs(m.Value-math.Ln2) <= m.RelativeInterval*m.Value {
			covered++
		}
	}
	if covered < trials*95/100 {
		t.Errorf("%d of %d intervals hold the median", covered, trials)
	}
}

func TestMiddle(t *testing.T) {
	if got := interquartileMean([]time.Duration{1000, 20, 10, 20, 30, 1, 20, 20}); got != 20 {
		t.Errorf("got %v", got)
	}
	if got := interquartileMean([]time.Duration{7}); got != 7 {
		t.Errorf("of one: %v", got)
	}
	if got := interquartileMean([]time.Duration{10, 20, 20, 20}); got != 20 {
		t.Errorf("of four: %v", got)
	}
}

func TestUntil(t *testing.T) {
	never, always := func() bool { return false }, func() bool { return true }
	constant := func() (float64, error) { return 5, nil }
	m, err := Repeats{6, 20}.until(t.Context(), never, constant)
	if err != nil || m != (Median{Value: 5, Repeats: 6}) {
		t.Errorf("constant: %+v, %v", m, err)
	}
	calls := 0
	wild := func() (float64, error) { calls++; return 1 + float64(calls%2), nil }
	if m, err = (Repeats{6, 20}).until(t.Context(), never, wild); err != nil || m.Repeats != 20 || m.Precise() {
		t.Errorf("wild: %+v, %v", m, err)
	}
	if m, err = (Repeats{6, 20}).until(t.Context(), always, wild); err != nil || m.Repeats != 6 || m.Precise() {
		t.Errorf("wild, the time spent: %+v, %v", m, err)
	}
	// Of six undisturbed repeats and what came between them, the six are taken.
	calls = 0
	often := func() (float64, error) {
		if calls++; calls%3 > 0 {
			return 50, errDisturbed
		}
		return 5, nil
	}
	if m, err = (Repeats{6, 200}).until(t.Context(), never, often); err != nil || m != (Median{Value: 5, Repeats: 6, Disturbed: 12}) {
		t.Errorf("often disturbed: %+v, %v", m, err)
	}
	if m, err = (Repeats{6, 200}).until(t.Context(), always, often); err != nil || m != (Median{Value: 5, Repeats: 6, Disturbed: 12}) {
		t.Errorf("often disturbed, the time spent: %+v, %v", m, err)
	}
	throughout := func() (float64, error) { return 50, errDisturbed }
	for name, spent := range map[string]func() bool{"": never, ", the time spent": always} {
		want := Median{Value: 50, Repeats: 20, Disturbed: 20, Mixed: true}
		if m, err = (Repeats{6, 20}).until(t.Context(), spent, throughout); err != nil || m != want {
			t.Errorf("disturbed throughout%s: %+v, %v", name, m, err)
		}
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := (Repeats{6, 20}).until(t.Context(), never, func() (float64, error) { return bad, nil }); !errors.Is(err, errNoValue) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Repeats{6, 20}).until(ctx, never, constant); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOptionsValidate(t *testing.T) {
	good := Options{CPUs: []int{0}, MemoryBytes: 1 << 20, Repeats: Repeats{6, 6}, Budget: time.Second}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := Options{CPUs: []int{0, 0}, MemoryBytes: 1, Repeats: Repeats{5, 4}}
	err := bad.Validate()
	for _, want := range []string{"CPUs [0 0]", "memory of 1 bytes", "5 to 4 repeats", "budget of 0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	if _, err := Run(t.Context(), &topology.Machine{}, Options{}); err == nil {
		t.Error("nothing to measure on")
	}
}

// cpus are up to so many that the test may use.
func cpus(t testing.TB, most int) []int {
	t.Helper()
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	list := allowed.List()
	return list[:min(most, len(list))]
}

// small is a measurement of seconds, only to see that everything is found; the
// budget is spent from the beginning.
func small(cpus []int) Options {
	return Options{CPUs: cpus, MemoryBytes: 1 << 20, Repeats: Repeats{6, 6}, Budget: 1, Source: "test"}
}

func run(t *testing.T, m *topology.Machine, o Options) Result {
	t.Helper()
	got, err := Run(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	profile := &v1alpha1.MachineProfile{Spec: v1alpha1.MachineProfileSpec{
		Sockets: 1, NUMANodes: 1, CPUs: 1, Capability: &got.Capability,
		Sustained: []v1alpha1.SustainedBandwidth{{ReadShare: 1, BytesPerSecond: 1e9, Repeats: 1}},
	}}
	profile.Name = "here"
	if faults := profile.Validate(); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	return got
}

func warned(r Result, text string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

func latency(c v1alpha1.Capability, place, state string) bool {
	return slices.ContainsFunc(c.Latencies, func(l v1alpha1.LineLatency) bool { return l.Place == place && l.State == state })
}

// made is a machine of the host's first CPUs with caches, whatever the host says.
func made(cpus []int) *topology.Machine {
	m := &topology.Machine{Nodes: []topology.Node{{CPUs: cpuset.New(cpus...), MemoryBytes: 1 << 40}}}
	for _, id := range cpus {
		m.CPUs = append(m.CPUs, topology.CPU{ID: id, Core: id})
		m.Caches = append(m.Caches,
			topology.Cache{Level: 1, Type: "Data", Bytes: 32 << 10, CPUs: cpuset.New(id)},
			topology.Cache{Level: 2, Type: "Unified", Bytes: 128 << 10, CPUs: cpuset.New(id)})
	}
	m.Caches = append(m.Caches, topology.Cache{Level: 3, Type: "Unified", Bytes: 512 << 10, CPUs: cpuset.New(cpus...)})
	return m
}

// With two CPUs everything is found but what takes more.
func TestRunOnTwoCPUs(t *testing.T) {
	requires.TwoCPUs(t)
	two := cpus(t, 2)
	o := small(two)
	var told []string
	o.Progress = func(done, total int, next string) {
		if done != len(told) || done >= total {
			t.Errorf("%s: %d of %d, after %d", next, done, total, len(told))
		}
		told = append(told, next)
	}
	got := run(t, made(two), o)
	c := got.Capability
	for _, place := range []string{"level1", "level2", "level3", "memory"} {
		if !latency(c, place, "") {
			t.Errorf("no latency of %s", place)
		}
	}
	for _, state := range []string{"modified", "exclusive", "invalid"} {
		if want := state == "modified" || canFlush; latency(c, "remote", state) != want {
			t.Errorf("latency of %s lines: want %t", state, want)
		}
	}
	if latency(c, "remote", "shared") || canFlush && !warned(got, "three CPUs") {
		t.Errorf("shared lines with two CPUs; warnings %q", got.Warnings)
	}
	if len(c.ContentionPoints) != 1 || c.Contention != nil || !warned(got, "1 of at least 3 numbers of readers") {
		t.Errorf("contention %+v, %+v; warnings %q", c.ContentionPoints, c.Contention, got.Warnings)
	}
	if kinds := len(accesses(available()[0])); len(c.Bandwidths) != 2*kinds {
		t.Errorf("%d bandwidths, want %d", len(c.Bandwidths), 2*kinds)
	}
	// A busy machine may keep the load from its CPU.
	starved := warned(got, "made no traffic") || warned(got, "keep the load from its CPUs")
	if want := len(loadLevels()) * len(loadReadShares()); len(c.LoadedLatencies) != want && !starved {
		t.Errorf("%d latencies under load, want %d; warnings %q", len(c.LoadedLatencies), want, got.Warnings)
	}
	points := 0
	for _, tr := range c.Transfers {
		points += len(tr.Points)
	}
	if len(c.Transfers) > 0 && points != len(c.Transfers)*len((&runner{result: got}).transferLines()) {
		t.Errorf("transfers %+v", c.Transfers)
	}
	if !slices.IsSortedFunc(c.LatenciesBySize, func(a, b v1alpha1.SizeLatency) int { return int(a.Bytes - b.Bytes) }) || len(c.LatenciesBySize) < 8 {
		t.Errorf("sizes %+v", c.LatenciesBySize)
	}
}

// One CPU shows what it can, of caches whose size nobody tells nothing.
func TestRunOnOneCPU(t *testing.T) {
	got := run(t, &topology.Machine{}, small(cpus(t, 1)))
	c := got.Capability
	if !latency(c, "memory", "") || len(c.Latencies) != 1 || len(c.Bandwidths) != len(accesses(available()[0])) {
		t.Errorf("latencies %+v, %d bandwidths", c.Latencies, len(c.Bandwidths))
	}
	for _, want := range []string{"latency of level1", "latency of level3", "two CPUs and more", "under load was not measured"} {
		if !warned(got, want) {
			t.Errorf("warnings %q: want %q", got.Warnings, want)
		}
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	options := small(cpus(t, 1))
	options.Progress = func(int, int, string) { cancel() }
	if _, err := Run(ctx, &topology.Machine{}, options); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	options.CPUs, options.Progress = []int{100_000}, nil
	if _, err := Run(t.Context(), &topology.Machine{}, options); err == nil || !strings.Contains(err.Error(), "100000") {
		t.Error(err)
	}
}
