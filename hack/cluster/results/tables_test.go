package results

import (
	"strings"
	"testing"
)

func batch(rate, foreign, steal float64) Batch {
	return Batch{PodsPerSecond: rate, SchedulerSecondsPerPod: 0.001, SecondsPerPod: 1 / rate, Foreign: foreign, Steal: steal}
}

// Rounds in which anything else ran, in either batch, are counted and used for
// CPU time only; each ratio is of one round.
func TestThroughputTable(t *testing.T) {
	record := Throughput{
		Nodes: 5000, Labeled: 30, Profiles: 10_000, Batch: 3000, ForeignLimit: 0.05,
		Rounds: []Round{
			{Plugin: "B", Scheduler: "v2", Without: batch(100, 0, 0), With: batch(90, 0.05, 0)},
			{Plugin: "A", Scheduler: "v1", Without: batch(100, 0.9, 0), With: batch(1, 0, 0)},
			{Plugin: "B", Scheduler: "v2", Without: batch(200, 0, 0), With: batch(100, 0, 0.05)},
			{Plugin: "B", Scheduler: "v2", Without: batch(300, 0, 0), With: batch(1, 0.03, 0.03)},
			{Plugin: "B", Scheduler: "v2", Without: batch(120, 0, 0), With: batch(96, 0, 0)},
		},
	}
	got := strings.Split(ThroughputTable([]Throughput{record, {Nodes: 1000}}), "\n")
	want := []string{
		"| 5,000 | A (v1) | 1 of 3,000 pods | 1.00, 1.00 | 1.000 (1.000–1.000) | 10.00, 1000.00 | 0.010 (0.010–0.010) | 0 | – | not measured |",
		"| 5,000 | B (v2) | 4 of 3,000 pods | 1.00, 1.00 | 1.000 (1.000–1.000) | 6.67, 10.76 | 0.575 (0.003–0.900) | 3 | 120, 96 | 0.750 (0.500–0.900) |",
	}
	if len(got) != 5 || got[2] != want[0] || got[3] != want[1] {
		t.Errorf("%q, want %q", got, want)
	}
}

// The ranks are those of the table of the signed-rank test: 90% intervals.
func TestCenter(t *testing.T) {
	for n, k := range map[int]int{1: 0, 4: 0, 5: 1, 6: 3, 8: 6, 10: 11, 12: 18, 20: 61} {
		if got := mostOutside(n); got != k {
			t.Errorf("%d values: %d, want %d", n, got, k)
		}
	}
	middle, low, high := center([]float64{5, 1, 2, 90, 3})
	if middle != 3.5 || low != 1 || high != 90 {
		t.Errorf("%v (%v to %v), want 3.5 (1 to 90)", middle, low, high)
	}
	if middle, low, high := center([]float64{1, 2, 3}); middle != 2 || low != 1 || high != 3 {
		t.Errorf("%v (%v to %v), want 2 (1 to 3)", middle, low, high)
	}
}

func TestQualityTable(t *testing.T) {
	q := Quality{Rows: []QualityRow{
		{Platform: "p", Load: 0.5, Placement: DefaultScheduler, MeanSlowdown: 1.1, Slowdown95: 1.5, SequenceMeans: []float64{1.1, 1.1}},
		{Platform: "p", Load: 0.5, Placement: "better", MeanSlowdown: 1.05, Slowdown95: 1.2, SequenceMeans: []float64{1.02, 1.08}},
		{Platform: "p", Load: 0.5, Placement: "worse", MeanSlowdown: 1.2, Slowdown95: 2, SequenceMeans: []float64{1.2, 1.1002}},
	}}
	table, err := q.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| p | 50% | default scheduler | 1.100 | 1.50 | – |\n",
		"| p | 50% | better | 1.050 | 1.20 | 50% (20% to 80%) |\n",
		"| p | 50% | worse | 1.200 | 2.00 | −100% (−100% to 0%) |\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("%q not in\n%s", want, table)
		}
	}
	q.Rows[2].SequenceMeans = nil
	if _, err := q.Table(); err == nil {
		t.Error("a row without its sequences: no error")
	}
	q.Rows = q.Rows[1:2]
	if _, err := q.Table(); err == nil {
		t.Error("a row without a baseline: no error")
	}
}

func TestSituationsTable(t *testing.T) {
	s := Situations{Rows: []Situation{
		{Name: "a", Want: "here", Bandmate: "here", Cost: 0.5, Default: "there", DefaultCost: 2, DefaultBeyond: true},
		{Name: "b"},
		{Name: "c", Want: "here", Bandmate: "there", Cost: 1},
	}}
	table := s.Table()
	for _, want := range []string{
		"| a | `here` | 0.50 | `there` | 2.00, beyond a limit or policy |\n",
		"| b | waits | – | – | – |\n",
		"| c | `there` (not where the score wants it: `here`) | 1.00 | – | – |\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("%q not in\n%s", want, table)
		}
	}
}

const benchmark = `goos: linux
BenchmarkCycle-2   	    3241	    351283 ns/op	       850.3 median-ns/node	      2900 p99-ns/node
BenchmarkCycle-2   	    3241	    351283 ns/op	      1850.3 median-ns/node	      3900 p99-ns/node
PASS
`

func TestParseBenchmark(t *testing.T) {
	c, err := ParseBenchmark(benchmark)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Table(), "| 2 | 1.35 (0.85–1.85) | 3.40 (2.90–3.90) |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{"", "PASS", "BenchmarkCycle-2 3 1 ns/op", "BenchmarkCycle-2 3 x ns/op 1 median-ns/node 2 p99-ns/node"} {
		if _, err := ParseBenchmark(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzParseBenchmark(f *testing.F) {
	f.Add(benchmark)
	f.Add("BenchmarkCycle 1 NaN p99-ns/node -1 median-ns/node")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseBenchmark(text)
		if err == nil && (len(c.MedianNanoseconds) == 0 || len(c.MedianNanoseconds) != len(c.Nanoseconds99) || c.Table() == "") {
			t.Errorf("%q: %v", text, c)
		}
	})
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 10_000: "10,000", 1_234_567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
