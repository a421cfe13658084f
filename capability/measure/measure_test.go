package measure

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/topology"
)

// A ring visits every line once before it returns to the first.
func TestRingVisitsEveryLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.IntRange(1, 500).Draw(t, "lines")
		r := newRing(int64(lines) * 64)
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
	if m.Value != 10 || math.Abs(m.RelativeInterval-0.3) > 1e-12 || m.Repeats != 6 || m.Settled() {
		t.Errorf("got %+v", m)
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

func TestUntil(t *testing.T) {
	constant := func() (float64, error) { return 5, nil }
	m, err := Repeats{6, 20}.until(t.Context(), constant)
	if err != nil || m != (Median{5, 0, 6}) {
		t.Errorf("constant: %+v, %v", m, err)
	}
	calls := 0
	wild := func() (float64, error) { calls++; return 1 + float64(calls%2), nil }
	if m, err = (Repeats{6, 20}).until(t.Context(), wild); err != nil || m.Repeats != 20 || m.Settled() {
		t.Errorf("wild: %+v, %v", m, err)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := (Repeats{6, 20}).until(t.Context(), func() (float64, error) { return bad, nil }); !errors.Is(err, errNoValue) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Repeats{6, 20}).until(ctx, constant); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOptionsValidate(t *testing.T) {
	good := Options{CPUs: []int{0}, MemoryBytes: 1 << 20, Repeats: Repeats{6, 6}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := Options{CPUs: []int{0, 0}, MemoryBytes: 1, Repeats: Repeats{5, 4}}
	err := bad.Validate()
	for _, want := range []string{"CPUs [0 0]", "memory of 1 bytes", "5 to 4 repeats"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	if _, err := Run(t.Context(), &topology.Machine{}, Options{}); err == nil {
		t.Error("nothing to measure on")
	}
}

// Small and short, on the CPUs that the test may use: what Run finds makes a
// valid profile, with every place and access once, and says what is missing.
func TestRun(t *testing.T) {
	m, err := topology.ReadHost()
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	cpus := allowed.List()
	cpus = cpus[:min(2, len(cpus))]
	var told []string
	got, err := Run(t.Context(), m, Options{
		CPUs: cpus, MemoryBytes: 4 << 20, Repeats: Repeats{6, 6}, Source: "test",
		Progress: func(what string) { told = append(told, what) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c := got.Capability
	profile := &v1alpha1.MachineProfile{Spec: v1alpha1.MachineProfileSpec{
		Sockets: 1, NUMANodes: 1, CPUs: 1, Capability: &c,
		Sustained: []v1alpha1.SustainedBandwidth{{ReadShare: 1, BytesPerSecond: 1e9, Repeats: 1}},
	}}
	profile.Name = "here"
	if faults := profile.Validate(); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	if len(told) != len(c.Latencies)+len(c.Bandwidths) {
		t.Errorf("told of %d values, found %d and %d", len(told), len(c.Latencies), len(c.Bandwidths))
	}
	remote := slices.ContainsFunc(c.Latencies, func(l v1alpha1.LineLatency) bool { return l.Place == "remote" && l.State == "modified" })
	if remote != (len(cpus) == 2) {
		t.Errorf("CPUs %v: latencies %+v", cpus, c.Latencies)
	}
	if want := len(accesses()) * len(threadCounts(len(cpus))); len(c.Bandwidths) != want {
		t.Errorf("%d bandwidths, want %d", len(c.Bandwidths), want)
	}
	if !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "contention") }) {
		t.Errorf("warnings %q", got.Warnings)
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	options := Options{CPUs: []int{0}, MemoryBytes: 1 << 20, Repeats: Repeats{6, 6}, Progress: func(string) { cancel() }}
	if _, err := Run(ctx, &topology.Machine{}, options); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	options.CPUs, options.Progress = []int{100_000}, nil
	if _, err := Run(t.Context(), &topology.Machine{}, options); err == nil || !strings.Contains(err.Error(), "100000") {
		t.Error(err)
	}
}

func TestThreadCounts(t *testing.T) {
	for cpus, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 8: {1, 2, 4, 8}} {
		if got := threadCounts(cpus); !slices.Equal(got, want) {
			t.Errorf("%d CPUs: %v, want %v", cpus, got, want)
		}
	}
}

// What the program computes: the loops do what their names say.
func TestAccesses(t *testing.T) {
	for _, kind := range accesses() {
		if kind.byKernel {
			continue
		}
		l := newLists(1<<12, kind)
		kind.pass(l)
		for i := range l.a {
			want := map[string]float64{"copy": l.b[i][3], "write": 3, "triad": l.b[i][3] + 3*l.c[i][3]}[kind.name]
			if l.a[i][3] != want {
				t.Errorf("%s: line %d holds %v, want %v", kind.name, i, l.a[i][3], want)
			}
		}
	}
}
