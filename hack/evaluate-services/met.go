package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"bandmate.dev/bandmate/internal/stats"
)

// met is what slices of one kind met.
type met struct {
	rates []float64
	// latencies are those of slices in a row that together have enough answers.
	latencies []*hdrhistogram.Histogram
}

// enough is how many answers tell a p99.
const enough = 300

func (m *met) rate() float64 { return stats.Median(m.rates) }

// p99 is in seconds: the median over slices, so that a stall of the host, which is not the
// neighbor's doing, does not count.
func (m *met) p99() float64 {
	var all []float64
	for _, h := range m.latencies {
		if h.TotalCount() >= enough || len(m.latencies) == 1 {
			all = append(all, time.Duration(h.ValueAtQuantile(99)).Seconds())
		}
	}
	return stats.Median(all)
}

// add adds the latencies of a slice.
func (m *met) add(latency *hdrhistogram.Histogram) {
	if last := len(m.latencies) - 1; last >= 0 && m.latencies[last].TotalCount() < enough {
		m.latencies[last].Merge(latency)
		return
	}
	m.latencies = append(m.latencies, latency)
}

// measured is a load of a service beside a neighbor, as predicted and as it came.
type measured struct {
	predicted

	// share is the load ÷ the saturation beside the neighbor.
	share float64
	// saturation is beside ÷ alone.
	saturation float64
	// alone, p99 and p99Predicted are in seconds, the latter two beside.
	alone, p99, p99Predicted float64
}

// The goals: errors of the saturation and of p99.
const (
	saturationGoal = 0.05
	p99Goal        = 0.20
)

// summary says how far the predictions are off.
func summary(cases []measured) string {
	if len(cases) == 0 {
		return "\nNothing was measured.\n"
	}
	var saturation, p99 []float64
	held, intervals := 0, 0
	for _, c := range cases {
		saturation = append(saturation, math.Abs(c.saturationPredicted/c.saturation-1))
		p99 = append(p99, math.Abs(c.p99Predicted/c.p99-1))
		if c.high > 0 {
			intervals++
			if ratio := c.p99 / c.p99Predicted; ratio >= c.low && ratio <= c.high {
				held++
			}
		}
	}
	var b strings.Builder
	describe := func(what string, errors []float64, goal float64) {
		within := 0
		for _, e := range errors {
			if e <= goal {
				within++
			}
		}
		fmt.Fprintf(&b, "%s: median error %.1f%%, %d of %d within %.0f%%.\n", what, 100*stats.Median(errors), within, len(errors), 100*goal)
	}
	fmt.Fprintf(&b, "\n")
	describe("Saturation", saturation, saturationGoal)
	describe("p99", p99, p99Goal)
	fmt.Fprintf(&b, "Intervals of p99 hold %d of %d.\n", held, intervals)
	return b.String()
}
