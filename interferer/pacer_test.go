package interferer

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

// simulation drives a pacer over a fake clock: every chunk takes cost, and
// every wait lasts as long as it should and up to overshoot longer.
type simulation struct {
	pace       pacer
	begin, now time.Duration
	bytes      uint64
	lost       time.Duration
}

func newSimulation(rate units.Bandwidth, begin time.Duration) *simulation {
	return &simulation{pace: newPacer(rate, begin), begin: begin, now: begin}
}

func (s *simulation) chunk(bytes uint64, cost, overshoot time.Duration) {
	s.now += cost
	wait, lost := s.pace.sent(bytes, s.now)
	s.bytes += bytes
	s.lost += lost
	if wait > 0 {
		s.now += wait + overshoot
	}
}

// What is sent is the rate times the time that was not lost, but for the last
// chunk and the debt that may still be made up for.
func TestPacerKeepsTheBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := units.Bandwidth(rapid.Float64Range(1e6, 200e9).Draw(t, "rate"))
		begin := time.Duration(rapid.Int64Range(0, 1<<55).Draw(t, "begin"))
		s := newSimulation(rate, begin)
		largest := 0.0
		for range rapid.IntRange(1, 400).Draw(t, "chunks") {
			bytes := rapid.Uint64Range(4<<10, 128<<10).Draw(t, "bytes")
			cost := time.Duration(rapid.Int64Range(0, int64(20*time.Microsecond)).Draw(t, "cost"))
			if rapid.IntRange(0, 20).Draw(t, "stall") == 0 {
				cost += time.Duration(rapid.Int64Range(0, int64(10*time.Millisecond)).Draw(t, "stalled"))
			}
			overshoot := time.Duration(rapid.Int64Range(0, int64(5*time.Microsecond)).Draw(t, "overshoot"))
			s.chunk(bytes, cost, overshoot)
			largest = max(largest, float64(bytes))
		}
		due := float64(s.bytes) / float64(rate) * 1e9
		used := float64(s.now - s.begin - s.lost)
		// Rounding: a nanosecond for each of 400 losses.
		if due > used+1000 {
			t.Errorf("sent %v ns worth of traffic in %v ns: too fast", due, used)
		}
		slack := float64(maxDebt) + 5e3 + largest/float64(rate)*1e9 + 1000
		if due < used-slack {
			t.Errorf("sent %v ns worth of traffic in %v ns: too slow", due, used)
		}
	})
}

func TestPacerRepaysShortStallsOnly(t *testing.T) {
	const chunk = 64 << 10
	rate := 10 * units.GigabytePerSecond
	tests := []struct {
		name       string
		stall      time.Duration
		lost, want time.Duration
	}{
		{"none", 0, 0, 0},
		{"short", maxDebt / 2, 0, 0},
		{"long", 10 * time.Millisecond, 8 * time.Millisecond, 8 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSimulation(rate, time.Hour)
			for i := range 20_000 {
				cost := 3 * time.Microsecond
				if i == 100 {
					cost += test.stall
				}
				s.chunk(chunk, cost, 0)
			}
			if off := (s.lost - test.lost).Abs(); off > 10*time.Microsecond {
				t.Errorf("lost %v, want %v", s.lost, test.lost)
			}
			elapsed := (s.now - s.begin - test.want).Seconds()
			if ratio := float64(s.bytes) / elapsed / float64(rate); math.Abs(ratio-1) > 1e-4 {
				t.Errorf("%v of the rate", ratio)
			}
		})
	}
}

func TestPacerBeyondWhatMemoryGives(t *testing.T) {
	const chunk = 64 << 10
	// A chunk takes twice as long as it may.
	s := newSimulation(10*units.GigabytePerSecond, 0)
	for range 10_000 {
		s.chunk(chunk, 2*6553*time.Nanosecond, 0)
	}
	share := float64(s.lost+maxDebt) / float64(s.now)
	if math.Abs(share-0.5) > 1e-3 {
		t.Errorf("lost %v of the time, want a half", share)
	}
}

func TestPacerWithoutRateNeverWaits(t *testing.T) {
	s := newSimulation(0, time.Hour)
	for range 1000 {
		s.chunk(64<<10, time.Microsecond, time.Hour)
	}
	if s.now != time.Hour+time.Millisecond || s.lost != 0 {
		t.Errorf("took %v and lost %v", s.now-time.Hour, s.lost)
	}
}
