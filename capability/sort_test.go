package capability_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/units"
)

func knlSorting(t *testing.T, memory string) capability.Sorting {
	t.Helper()
	s, err := capability.NewSorting(knl(t), memory)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sortTime(t interface {
	Helper()
	Fatal(...any)
}, s capability.Sorting, bytes int64, threads int,
) capability.SortTime {
	t.Helper()
	result, err := s.Time(bytes, threads)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestNewSorting(t *testing.T) {
	want := capability.Sorting{
		Level1: 3.8, Level2: 18, MemoryLatency: 140, Signal: 3.8 + 119, Level1Bytes: 32 << 10, Level2Bytes: 1 << 20, CoresPerTile: 2,
		Bandwidths: capability.BandwidthByThreads{Points: []capability.BandwidthPoint{{Threads: 1, Bandwidth: 8e9}}, Most: 70e9},
	}
	if diff := cmp.Diff(want, knlSorting(t, "")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := knlSorting(t, "MCDRAM").Bandwidths.Most; got != 333e9 {
		t.Errorf("MCDRAM: %v", got)
	}
}

// Equations 3 to 5 by hand, one thread: 32 KiB hold an output of 256 lines, 1 MiB
// one of 8192; a line in memory costs 140 ns, or 64 B ÷ 8 GB/s = 8 ns.
func TestSortOfOneThread(t *testing.T) {
	s := knlSorting(t, "DRAM")
	level1 := func(n, memory float64) float64 { return (math.Log2(n)-1)*2*n*3.8 + 2*n*memory }
	level2 := func(n, memory float64) float64 { return n/256*level1(256, memory) + (math.Log2(n)-8)*2*n*18 }
	all := func(n, memory float64) float64 { return n/8192*level2(8192, memory) + (math.Log2(n)-13)*2*n*memory }
	tests := []struct {
		lines float64
		cost  func(n, memory float64) float64
	}{
		{1, func(_, memory float64) float64 { return 2 * memory }},
		{16, level1},
		{256, level1},
		{1024, level2},
		{8192, level2},
		{1 << 24, all},
	}
	for _, tt := range tests {
		got := sortTime(t, s, int64(64*tt.lines), 1)
		for name, pair := range map[string][2]float64{
			"latency": {float64(got.Latency), tt.cost(tt.lines, 140)}, "bandwidth": {float64(got.Bandwidth), tt.cost(tt.lines, 8)},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9*pair[1] {
				t.Errorf("%v lines, %s: got %v, want %v", tt.lines, name, pair[0], pair[1])
			}
		}
	}
}

// With two threads each sorts half, and one merges it: 2·n lines more.
func TestSortOfTwoThreads(t *testing.T) {
	s := knlSorting(t, "DRAM")
	s.CoresPerTile = 1
	half, whole := sortTime(t, s, 512<<20, 1), sortTime(t, s, 1<<30, 2)
	lines := float64(1<<30) / 64
	for name, pair := range map[string][2]float64{
		"latency":   {float64(whole.Latency), float64(half.Latency) + 2*lines*140 + 122.8},
		"bandwidth": {float64(whole.Bandwidth), float64(half.Bandwidth) + 2*lines*8 + 122.8},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9*pair[1] {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
}

// What section V.B says of 1 GB on KNL: the latency model predicts a higher cost
// in MCDRAM; the bandwidth of MCDRAM, almost five times that of DRAM, does not
// carry over, for most threads idle in the last stages.
func TestSortGainsLittleFromMCDRAM(t *testing.T) {
	ram, mcdram := sortTime(t, knlSorting(t, "DRAM"), 1<<30, 64), sortTime(t, knlSorting(t, "MCDRAM"), 1<<30, 64)
	if mcdram.Latency <= ram.Latency {
		t.Errorf("by latency: MCDRAM %v, DRAM %v", mcdram.Latency, ram.Latency)
	}
	if gain := ram.Bandwidth / mcdram.Bandwidth; gain < 1 || gain > 1.5 {
		t.Errorf("by bandwidth: MCDRAM %v, DRAM %v, a gain of %.2f", mcdram.Bandwidth, ram.Bandwidth, gain)
	}
}

// More data never takes less time where each line is waited for, and waiting
// takes no less than streaming. (Streaming has a step down where a list outgrows
// the caches: the equations count a cached line by its latency.)
func TestSortIsMonotone(t *testing.T) {
	s := knlSorting(t, "DRAM")
	rapid.Check(t, func(t *rapid.T) {
		threads := 1 << rapid.IntRange(0, 8).Draw(t, "log threads")
		small := rapid.Int64Range(1, 1<<32).Draw(t, "bytes")
		large := rapid.Int64Range(small, 1<<33).Draw(t, "more bytes")
		a, b := sortTime(t, s, small, threads), sortTime(t, s, large, threads)
		if a.Latency > b.Latency*(1+1e-9) {
			t.Fatalf("%d bytes take %+v, %d bytes %+v", small, a, large, b)
		}
		if threads <= 64 && a.Bandwidth > a.Latency {
			t.Fatalf("bounds %+v", a)
		}
	})
}

func TestSortRefuses(t *testing.T) {
	s := knlSorting(t, "DRAM")
	tests := []struct {
		bytes   int64
		threads int
		want    string
	}{
		{0, 1, "size of 0 bytes"},
		{1<<50 + 1, 1, "want 1 to 2^50"},
		{1, 3, "want a power of two"},
		{1, 0, "0 threads"},
	}
	for _, tt := range tests {
		if _, err := s.Time(tt.bytes, tt.threads); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes, %d threads: %v, want %q", tt.bytes, tt.threads, err, tt.want)
		}
	}
	if _, err := (capability.Sorting{}).Time(1, 1); err == nil || !strings.Contains(err.Error(), "caches of 0 and 0 bytes") {
		t.Error(err)
	}
	m := knl(t)
	if _, err := capability.NewSorting(m, "cache"); err == nil || !strings.Contains(err.Error(), `copies by one thread is missing (memory "cache")`) {
		t.Error(err)
	}
	m.Spec.Capability.Latencies = nil
	if _, err := capability.NewSorting(m, ""); err == nil || !strings.Contains(err.Error(), "missing latencies: level1, level2, memory, remote") {
		t.Error(err)
	}
	m.Spec.Capability = nil
	if _, err := capability.NewSorting(m, ""); err == nil || !strings.Contains(err.Error(), "no section capability") {
		t.Error(err)
	}
}

func TestBandwidthByThreads(t *testing.T) {
	b := capability.BandwidthByThreads{Points: []capability.BandwidthPoint{{1, 8e9}, {4, 20e9}}}
	for threads, want := range map[int]units.Bandwidth{1: 8e9, 2: 12e9, 3: 16e9, 4: 20e9, 64: 20e9} {
		if got := b.At(threads); got != want {
			t.Errorf("%d threads: %v, want %v", threads, got, want)
		}
	}
	b.Most = 70e9
	for threads, want := range map[int]units.Bandwidth{4: 20e9, 8: 40e9, 64: 70e9} {
		if got := b.At(threads); got != want {
			t.Errorf("%d threads, at most %v: %v, want %v", threads, b.Most, got, want)
		}
	}
	for name, bad := range map[string]capability.BandwidthByThreads{
		"one thread is missing": {Points: []capability.BandwidthPoint{{2, 8e9}}},
		"want one above 0":      {Points: []capability.BandwidthPoint{{1, 0}}},
		"ascending":             {Points: []capability.BandwidthPoint{{1, 8e9}, {1, 8e9}}},
		"finite":                {Points: []capability.BandwidthPoint{{1, 8e9}}, Most: -1},
	} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

// Small sorts that follow a line beyond the model give the line back.
func TestFitOverhead(t *testing.T) {
	s := knlSorting(t, "DRAM")
	var sorts []capability.SmallSort
	for threads := 1; threads <= 64; threads *= 2 {
		model := sortTime(t, s, capability.OverheadBytes, threads)
		sorts = append(sorts, capability.SmallSort{Threads: threads, Cost: model.Bandwidth + 1e3 + 20e3*capability.Cost(threads)})
	}
	o, err := capability.FitOverhead(s, sorts)
	if err != nil || math.Abs(float64(o.Line.Base)-1e3) > 1e-3 || math.Abs(float64(o.Line.Each)-20e3) > 1e-3 {
		t.Fatalf("got %+v, %v", o, err)
	}
	// As in Figure 10: it is significant for small sorts, not for large ones.
	if !o.Significant(64, sortTime(t, s, capability.OverheadBytes, 64)) || o.Significant(64, sortTime(t, s, 1<<30, 64)) {
		t.Error("where memory stops being the limit")
	}
	if o := (capability.Overhead{Line: capability.Line{Base: -5, Each: 1}}); o.At(2) != 0 || o.At(7) != 2 {
		t.Errorf("overheads %v and %v, want 0 and 2", o.At(2), o.At(7))
	}
	for _, few := range [][]capability.SmallSort{nil, sorts[:1], {sorts[0], sorts[0]}} {
		if _, err := capability.FitOverhead(s, few); err == nil {
			t.Errorf("a line through %v", few)
		}
	}
	if _, err := capability.FitOverhead(s, []capability.SmallSort{{Threads: 3, Cost: 1}}); err == nil {
		t.Error("three threads")
	}
}

func TestReadSmallSorts(t *testing.T) {
	got, err := capability.ReadSmallSorts(strings.NewReader("threads,seconds\n1,2e-6\n2,0.5\n"), "s.csv")
	want := []capability.SmallSort{{Threads: 1, Cost: 2000}, {Threads: 2, Cost: 5e8}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"":                          "s.csv:1:1: empty: want a header line",
		"second,threads\n":          `s.csv:1:1: no column "seconds"`,
		"threads,seconds\n0,1\n":    "s.csv:2:1: threads: 0: want 1 to",
		"seconds,threads\n1,0\n":    "s.csv:2:3: threads: 0: want 1 to",
		"threads,seconds\n1,-1\n":   "s.csv:2:3: seconds: -1: want",
		"threads,seconds\n1,NaN":    `s.csv:2:3: seconds: "NaN" is not a number`,
		"threads,seconds\n1,1001\n": "s.csv:2:3: seconds: 1001: want at most 1000",
		"threads,seconds\n1\n":      "s.csv:2:1: wrong number of fields",
		"threads,seconds\n" + strings.Repeat("1,1\n", 10_001): "more than 10000",
	} {
		if _, err := capability.ReadSmallSorts(strings.NewReader(text), "s.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzReadSmallSorts(f *testing.F) {
	f.Add("threads,seconds\n1,2e-6\n2,0.5\n")
	f.Add("threads,seconds\n\"1\",\"1\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		sorts, err := capability.ReadSmallSorts(strings.NewReader(text), "s.csv")
		if err != nil {
			return
		}
		for _, s := range sorts {
			if s.Threads < 1 || s.Threads > capability.MaxThreads || !(s.Cost > 0) || !s.Cost.Valid() {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A memory that a profile has bandwidths of by threads needs no highest one.
func TestSortingTakesTheMeasuredThreads(t *testing.T) {
	m := knl(t)
	m.Spec.Capability.Bandwidths = []v1alpha1.AccessBandwidth{
		{Access: "copy", Memory: "DRAM", Threads: 1, BytesPerSecond: 5e9},
		{Access: "copy", Memory: "DRAM", NonTemporal: true, Threads: 2, BytesPerSecond: 15e9},
		{Access: "copy", Memory: "DRAM", NonTemporal: true, Threads: 1, BytesPerSecond: 8e9},
	}
	s, err := capability.NewSorting(m, "")
	if err != nil || s.Bandwidths.At(1) != 8e9 || s.Bandwidths.At(64) != 15e9 {
		t.Errorf("%+v, %v", s.Bandwidths, err)
	}
	m.Spec.Capability.Bandwidths = m.Spec.Capability.Bandwidths[:2]
	if s, err = capability.NewSorting(m, ""); err != nil || s.Bandwidths.At(2) != 5e9 {
		t.Errorf("without non-temporal copies by one thread: %+v, %v", s.Bandwidths, err)
	}
}
