package modulation

import (
	"fmt"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/internal/stats"
)

// oneRegime is a noisy machine whose placement lasts.
var oneRegime = noise{white: 0.08, drift: 0.05, spells: true, interruptions: 3, oversleep: true, latency: true}

// wholeRuns measures for a time as runs that take turns do: the median time of a
// run alone ÷ beside.
func wholeRuns(b *testing.B, seed uint64, length float64, spent time.Duration) float64 {
	m := newSimulation(seed, oneRegime)
	target := m.add(&simulated{phases: []phase{{solo: length, slowdown: 1.5}}})
	m.stream(1)
	bench := m.plan(fine).Bench
	times := map[State][]float64{}
	for turn := 0; m.now < spent || len(times[3]) == 0; turn++ {
		s := []State{1, 3}[turn%2]
		target.restart()
		bench.Forget()
		if err := bench.Set(s); err != nil {
			b.Fatal(err)
		}
		begin := m.now
		for !target.ended {
			m.advance(time.Millisecond)
		}
		times[s] = append(times[s], (m.now - begin).Seconds())
	}
	return stats.Median(times[1]) / stats.Median(times[3])
}

// modulated measures the same for the same time.
func modulated(b *testing.B, seed uint64, length float64, spent time.Duration) float64 {
	m := newSimulation(seed, oneRegime)
	m.add(&simulated{phases: []phase{{solo: length, slowdown: 1.5}}})
	m.stream(1)
	plan := m.plan(fine)
	plan.Budget, plan.Precision = spent, Precision{StandardError: 1e-9, Most: 1e6}
	if err := plan.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	return Summarize(plan.Outcome.Readings[usual]["beside"], m.random).Performance
}

// BenchmarkSpread prints the standard deviation of repeated measurements, in points
// of performance, by the time that each takes on a noisy simulated machine:
// modulated, as whole runs of 0.3 s, and one ÷ the other.
func BenchmarkSpread(b *testing.B) {
	const repeats, length = 40, 0.3
	for _, spent := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second} {
		b.Run(fmt.Sprint(spent), func(b *testing.B) {
			for b.Loop() {
				var slices, runs []float64
				for seed := range uint64(repeats) {
					slices = append(slices, 100*modulated(b, seed, length, spent))
					runs = append(runs, 100*wholeRuns(b, seed, length, spent))
				}
				b.ReportMetric(stat.StdDev(slices, nil), "points-modulated")
				b.ReportMetric(stat.StdDev(runs, nil), "points-whole-runs")
				b.ReportMetric(stat.StdDev(slices, nil)/stat.StdDev(runs, nil), "modulated/whole-runs")
			}
		})
	}
}

// BenchmarkSummarize is what a check of the precision costs.
func BenchmarkSummarize(b *testing.B) {
	for _, phases := range [][]phase{steady, phased} {
		b.Run(fmt.Sprintf("phases=%d", len(phases)), func(b *testing.B) {
			m := newSimulation(1, everything)
			m.add(&simulated{phases: phases})
			m.stream(1)
			plan := m.plan(fine)
			plan.Precision = Precision{Fewest: 400}
			if err := plan.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				Summarize(plan.Outcome.Readings[usual]["beside"], m.random)
			}
		})
	}
}
