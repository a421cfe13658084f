package interferer

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

func TestSince(t *testing.T) {
	base := Counters{Time: time.Hour, ReadBytes: 1000, WriteBytes: 500, Late: time.Second, OffCPU: time.Second, threads: 2}
	later := func(change func(*Counters)) Counters {
		c := base
		change(&c)
		return c
	}
	unknown := math.NaN()
	tests := []struct {
		name  string
		later Counters
		want  Achieved
	}{
		{"nothing passed", base, Achieved{Variation: unknown}},
		{"backwards", later(func(c *Counters) { c.Time -= time.Second }), Achieved{Variation: unknown}},
		{"idle", later(func(c *Counters) { c.Time += 2 * time.Second }), Achieved{Elapsed: 2 * time.Second, Variation: unknown}},
		{"traffic", later(func(c *Counters) {
			c.Time += 2 * time.Second
			c.ReadBytes += 600
			c.WriteBytes += 200
		}), Achieved{Elapsed: 2 * time.Second, Traffic: units.Traffic{Read: 300, Write: 100}, Variation: unknown}},
		{"lost", later(func(c *Counters) {
			c.Time += 2 * time.Second
			c.Late += time.Second
			c.OffCPU += 400 * time.Millisecond
		}), Achieved{Elapsed: 2 * time.Second, LostShare: 0.25, OffCPUShare: 0.1, Variation: unknown}},
		{"lost before", later(func(c *Counters) {
			c.Time += time.Millisecond
			c.Late += time.Second
		}), Achieved{Elapsed: time.Millisecond, LostShare: 1, Variation: unknown}},
		{"one window", later(func(c *Counters) {
			c.Time += time.Second
			c.windows.add(units.GigabytePerSecond)
		}), Achieved{Elapsed: time.Second, Variation: unknown, Windows: 1}},
		{"windows", later(func(c *Counters) {
			c.Time += time.Second
			for _, b := range []units.Bandwidth{2, 4, 4, 4, 5, 5, 7, 9} {
				c.windows.add(b * units.GigabytePerSecond)
			}
		}), Achieved{Elapsed: time.Second, Variation: math.Sqrt(32./7) / 5, Windows: 8}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.later.Since(base)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The variation between two snapshots is that of the windows in between,
// whatever came before.
func TestVariationOfLaterWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SliceOfN(rapid.Float64Range(0.1, 500), 2, 100)
		before, after := rates.Draw(t, "before"), rates.Draw(t, "after")
		var sums windowSums
		for _, r := range before {
			sums.add(units.Bandwidth(r) * units.GigabytePerSecond)
		}
		earlier := sums
		for _, r := range after {
			sums.add(units.Bandwidth(r) * units.GigabytePerSecond)
		}
		want := stat.StdDev(after, nil) / stat.Mean(after, nil)
		if got := sums.since(earlier).variation(); math.Abs(got-want) > 1e-4 {
			t.Errorf("variation %v, want %v", got, want)
		}
	})
}
