package modulation

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"bandmate.dev/bandmate/regime"
)

// stopwatch is a clock that only sleeping moves.
type stopwatch struct {
	now     time.Duration
	parties []*fed
}

func (c *stopwatch) Now() time.Duration { return c.now }

func (c *stopwatch) Sleep(d time.Duration) {
	for ; d > 0; d -= time.Millisecond {
		c.now += time.Millisecond
		for _, p := range c.parties {
			p.work += p.rate() * 1e-3
		}
	}
}

// fed is a party of a rate.
type fed struct {
	clock *stopwatch
	on    bool
	rate  func() float64
	work  float64
}

func (p *fed) Switch(on bool) error                  { p.on = on; return nil }
func (p *fed) Read() (float64, time.Duration, error) { return p.work, p.clock.now, nil }
func (*fed) Smooth() bool                            { return true }

// A service answers what arrives, beside a neighbor as alone, and takes more CPU time for
// it: only the answers per CPU time show the neighbor.
func TestWorkPerUnitOfAnotherParty(t *testing.T) {
	const slowdown = 1.25
	random := rand.New(rand.NewPCG(1, 1))
	clock := &stopwatch{}
	answers, neighbor, used := &fed{clock: clock}, &fed{clock: clock}, &fed{clock: clock}
	// Arrivals vary, and the CPU time with them.
	arrivals := func() float64 { return 4000 * (1 + 0.3*math.Sin(clock.now.Seconds())) }
	answers.rate = func() float64 {
		if !answers.on {
			return 0
		}
		return arrivals()
	}
	neighbor.rate = func() float64 { return 1e9 }
	used.rate = func() float64 {
		perRequest := 1e-4 * (1 + 0.05*random.NormFloat64())
		if neighbor.on {
			perRequest *= slowdown
		}
		return answers.rate() * perRequest
	}
	clock.parties = []*fed{answers, neighbor, used}
	per := 2
	plan := &Plan{
		Bench: &Bench{
			Clock: clock, Random: random, Parties: []Party{answers, neighbor, used},
			Slicing: Slicing{Length: 60 * time.Millisecond, Settle: 12 * time.Millisecond},
		},
		Points: []Point{{
			States: []State{0b101, 0b111},
			Compare: []Comparison{
				{Name: "per CPU time", Party: 0, On: 1, Off: 0, Per: &per},
				{Name: "answers", Party: 0, On: 1, Off: 0},
			},
		}},
		Precision: Precision{StandardError: 0.003, Fewest: 20},
		Probe:     func(context.Context) (regime.Tag, error) { return regime.Tag{Class: regime.SameComplex}, nil },
	}
	if err := plan.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := plan.Outcome.Readings[regime.SameComplex]
	if e := Summarize(of["per CPU time"], random); math.Abs(e.Performance*slowdown-1) > 0.01 {
		t.Errorf("performance %.4f ± %.4f, want %.4f", e.Performance, e.StandardError, 1/slowdown)
	}
	if alone := of["per CPU time"][0].Alone; math.Abs(alone/1e4-1) > 0.05 {
		t.Errorf("%v answers per second of CPU time, want 10000", alone)
	}
	if e := Summarize(of["answers"], random); math.Abs(e.Performance-1) > 0.02 {
		t.Errorf("the answers alone tell %.4f, want 1", e.Performance)
	}
}
