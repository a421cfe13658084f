package modulation_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bandmate.dev/bandmate/modulation"
)

// instant is a clock that passes time by itself.
type instant struct{ now time.Duration }

func (c *instant) Now() time.Duration    { return c.now }
func (c *instant) Sleep(d time.Duration) { c.now += max(d, 0) + time.Microsecond }

// drifting is a party whose rate rises linearly, and is lower beside the other.
type drifting struct {
	clock  *instant
	beside *bool
	work   float64
	last   time.Duration
	fails  error
}

func (*drifting) Switch(bool) error { return nil }
func (*drifting) Smooth() bool      { return true }

func (d *drifting) Read() (float64, time.Duration, error) {
	now := d.clock.now
	rate := 1e6 * (1 + 5*now.Seconds())
	if *d.beside {
		rate *= 0.8
	}
	d.work += rate * (now - d.last).Seconds()
	d.last = now
	return d.work, now, d.fails
}

// switched is a party that is switched, and counts the time.
type switched struct {
	clock    *instant
	on       *bool
	switches []bool
	after    func()
}

func (s *switched) Switch(on bool) error {
	*s.on = on
	s.switches = append(s.switches, on)
	if s.after != nil {
		s.after()
	}
	return nil
}
func (*switched) Smooth() bool { return true }
func (s *switched) Read() (float64, time.Duration, error) {
	return s.clock.now.Seconds(), s.clock.now, nil
}

func aroundBench() (*modulation.Bench, *drifting, *switched) {
	clock, on := &instant{}, true
	target, neighbor := &drifting{clock: clock, beside: &on}, &switched{clock: clock, on: &on}
	return &modulation.Bench{
		Clock: clock, Random: rand.New(rand.NewPCG(1, 2)), Parties: []modulation.Party{target, neighbor},
		Slicing: modulation.Slicing{Length: 5 * time.Millisecond, Settle: time.Millisecond},
	}, target, neighbor
}

func TestAround(t *testing.T) {
	bench, _, neighbor := aroundBench()
	block, err := bench.Around(t.Context(), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	y, ok := block.LogRatio(0, 0, 1)
	// The drift within the 15 ms is 7.5%, and cancels but for its curvature.
	if want := math.Log(0.8); !ok || math.Abs(y-want) > 0.002 {
		t.Errorf("log ratio %v, %v; want %v", y, ok, want)
	}
	if want := []bool{true, false, true}; !slices.Equal(neighbor.switches, want) {
		t.Errorf("switched %v, want %v", neighbor.switches, want)
	}
	if !math.IsNaN(block.LogRates[1][1]) {
		t.Errorf("the paused party has the rate %v", block.LogRates[1][1])
	}
}

// Whatever fails in whichever slice, the neighbor works afterward.
func TestAroundRestores(t *testing.T) {
	broken := errors.New("broken")
	for failing := range 3 {
		bench, target, neighbor := aroundBench()
		neighbor.after = func() {
			if len(neighbor.switches) == failing+1 {
				target.fails = broken
			}
		}
		if _, err := bench.Around(t.Context(), 3, 1); !errors.Is(err, broken) {
			t.Errorf("slice %d: %v, want the error of the party", failing, err)
		}
		if !*neighbor.on {
			t.Errorf("slice %d: the neighbor does not work any more", failing)
		}
	}
	bench, _, neighbor := aroundBench()
	ctx, cancel := context.WithCancel(t.Context())
	neighbor.after = func() {
		if len(neighbor.switches) == 2 {
			cancel()
		}
	}
	if _, err := bench.Around(ctx, 3, 1); !errors.Is(err, context.Canceled) || !*neighbor.on {
		t.Errorf("canceled: %v, the neighbor works: %v", err, *neighbor.on)
	}
}
