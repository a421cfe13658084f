package interferer

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/units"
)

// BenchmarkPacing measures how far the paced bandwidth is from the one asked
// for, in windows of 100 ms: as a share of it, the median over the windows
// (median-error-%), the largest (max-error-%) and the standard deviation of
// the achieved one (spread-%). Each level is a share of the unpaced bandwidth
// measured just before.
//
//	go test -run '^$' -bench Pacing -benchtime 20x ./interferer
func BenchmarkPacing(b *testing.B) {
	o := smallOptions(b)
	o.BufferBytes, o.MemoryCap = 0, 1<<30
	i, err := Start(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	for _, share := range []units.ReadShare{1, 0.75, 0.5, 0.25, 0} {
		for _, level := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
			b.Run(fmt.Sprintf("reads=%v/level=%v", share, level), func(b *testing.B) {
				benchmarkPacing(b, i, Setting{Mode: Stream, ReadShare: share}, level)
			})
		}
	}
	b.Run("pattern=random/level=0.5", func(b *testing.B) {
		benchmarkPacing(b, i, Setting{Mode: Stream, ReadShare: 1, Pattern: Random, InFlight: 8}, 0.5)
	})
}

func benchmarkPacing(b *testing.B, i *Interferer, s Setting, level float64) {
	unpaced, err := observe(b.Context(), i, s, 100*time.Millisecond)
	if err != nil {
		b.Fatal(err)
	}
	s.Bandwidth = unpaced.Traffic.Total() * units.Bandwidth(level)
	var ratios, faults []float64
	if err := i.Apply(s); err != nil {
		b.Fatal(err)
	}
	first := i.Counters()
	before := first
	for b.Loop() {
		time.Sleep(100 * time.Millisecond)
		after := i.Counters()
		ratio := float64(after.Since(before).Traffic.Total() / s.Bandwidth)
		ratios = append(ratios, ratio)
		faults = append(faults, math.Abs(ratio-1))
		before = after
	}
	total := before.Since(first)
	mean := 0.0
	for _, r := range ratios {
		mean += r / float64(len(ratios))
	}
	variance := 0.0
	for _, r := range ratios {
		variance += (r - mean) * (r - mean) / float64(len(ratios))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(s.Bandwidth.GBps(), "GB/s")
	b.ReportMetric(100*stats.Median(faults), "median-error-%")
	b.ReportMetric(100*slices.Max(faults), "max-error-%")
	b.ReportMetric(100*math.Sqrt(variance), "spread-%")
	b.ReportMetric(100*total.LostShare, "lost-%")
	b.ReportMetric(100*total.OffCPUShare, "offCPU-%")
	b.ReportMetric(100*total.Variation, "10ms-variation-%")
}

// BenchmarkStart measures how long it takes to have an interferer with its
// buffers of 256 MiB, and to end it.
func BenchmarkStart(b *testing.B) {
	o := smallOptions(b)
	o.BufferBytes, o.MemoryCap = 256<<20, 1<<30
	for b.Loop() {
		i, err := Start(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		if err := i.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApply measures how long it takes until the threads follow another
// setting.
func BenchmarkApply(b *testing.B) {
	for _, from := range modes() {
		b.Run(string(from), func(b *testing.B) {
			i, err := Start(b.Context(), smallOptions(b))
			if err != nil {
				b.Fatal(err)
			}
			defer i.Close()
			for b.Loop() {
				if err := i.Apply(Setting{Mode: from, ReadShare: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCounters(b *testing.B) {
	i, err := Start(b.Context(), smallOptions(b))
	if err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	for b.Loop() {
		i.Counters()
	}
}
