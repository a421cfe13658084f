package modulation

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestExplore(t *testing.T) {
	n := 100
	if v, err := strconv.Atoi(os.Getenv("N")); err == nil {
		n = v
	}
	for _, s := range scenarios {
		if o := os.Getenv("S"); o != "" && s.name != o {
			continue
		}
		begin := time.Now()
		cover, sum, sq, se, phases, blocks, secs := 0, 0.0, 0.0, 0.0, 0, 0, 0.0
		for i := range n {
			m := newSimulation(uint64(i), s.noise)
			p := s.party(m)
			if !s.alone {
				m.stream(1)
			}
			plan := m.plan(Slicing{4 * time.Millisecond, 1500 * time.Microsecond})
			if s.slicing.Length > 0 {
				plan.Bench.Slicing = s.slicing
			}
			plan.Class = usual
			plan.Precision = s.precision
			if err := plan.Run(context.Background()); err != nil {
				t.Fatalf("%s %d: %v", s.name, i, err)
			}
			e := Summarize(plan.Outcome.Readings[usual]["beside"], m.random)
			truth := p.performance(false)
			if s.alone {
				truth = 1
			}
			if e.Low <= truth && truth <= e.High {
				cover++
			}
			if os.Getenv("V") != "" {
				fmt.Println(i, e, len(runsOf(plan.Outcome.Readings[usual]["beside"])))
			}
			sum += e.Performance - truth
			sq += (e.Performance - truth) * (e.Performance - truth)
			se += e.StandardError
			blocks += e.Readings
			secs += m.now.Seconds()
			if e.Phases {
				phases++
			}
		}
		f := float64(n)
		fmt.Printf("%-16s cover %.2f bias %+.4f rms %.4f se %.4f phases %.2f blocks %.0f secs %.1f (%v)\n", s.name, float64(cover)/f, sum/f, math.Sqrt(sq/f), se/f, float64(phases)/f, float64(blocks)/f, secs/f, time.Since(begin).Round(time.Millisecond))
	}
}

type scenario struct {
	name      string
	noise     noise
	party     func(m *simulation) *simulated
	precision Precision
	slicing   Slicing
	alone     bool
}

func steady(m *simulation) *simulated {
	return m.add(&simulated{phases: []phase{{solo: 3, slowdown: 1.5, elsewhere: 1.2}}})
}

func phased(m *simulation) *simulated {
	return m.add(&simulated{phases: []phase{
		{solo: 1, slowdown: 1.1, elsewhere: 1.0}, {solo: 1, slowdown: 2, elsewhere: 1.5, ticks: 3}, {solo: 1, slowdown: 1.4, ticks: 0.5},
	}})
}

func coarse(m *simulation) *simulated {
	return m.add(&simulated{phases: []phase{{solo: 3, slowdown: 1.5, elsewhere: 1.2}}, grain: 1e-3})
}

var scenarios = []scenario{
	{name: "quiet", party: steady},
	{name: "white", party: steady, noise: noise{white: 0.1}},
	{name: "drift", party: steady, noise: noise{white: 0.05, drift: 0.1}},
	{name: "spells", party: steady, noise: noise{white: 0.05, spells: true, regimes: true}},
	{name: "interruptions", party: steady, noise: noise{white: 0.05, interruptions: 5}},
	{name: "phases", party: phased, noise: noise{white: 0.05}, precision: Precision{Fewest: 60, Most: 800}},
	{name: "coarse", party: coarse, noise: noise{white: 0.05}, slicing: Slicing{12 * time.Millisecond, 1500 * time.Microsecond}},
	{name: "oversleep", party: coarse, noise: noise{white: 0.05, oversleep: true, latency: true}, slicing: Slicing{12 * time.Millisecond, 1500 * time.Microsecond}},
	{name: "all", party: steady, noise: everything},
	{name: "all phased", party: phased, noise: everything, precision: Precision{Fewest: 60, Most: 800}},
	{name: "all-reg", party: steady, noise: noise{white: 0.08, drift: 0.05, spells: true, interruptions: 3, oversleep: true, latency: true}},
	{name: "all-lat", party: steady, noise: noise{white: 0.08, drift: 0.05, spells: true, interruptions: 3, oversleep: true, regimes: true}},
	{name: "all-early", party: steady, noise: everything, precision: Precision{Fewest: 40, Most: 40}},
	{name: "ph-reg", party: phased, precision: Precision{Fewest: 60, Most: 800}, noise: noise{white: 0.08, drift: 0.05, spells: true, interruptions: 3, oversleep: true, latency: true}},
	{name: "ph-int", party: phased, precision: Precision{Fewest: 60, Most: 800}, noise: noise{white: 0.08, interruptions: 3, oversleep: true, latency: true}},
	{name: "ph-lat", party: phased, precision: Precision{Fewest: 60, Most: 800}, noise: noise{white: 0.08, latency: true}},
	{name: "ph-regonly", party: phased, precision: Precision{Fewest: 60, Most: 800}, noise: noise{white: 0.08, regimes: true}},
	{name: "ph-spells", party: phased, precision: Precision{Fewest: 60, Most: 800}, noise: noise{white: 0.08, spells: true}},
	{name: "A/A", party: steady, noise: everything, alone: true},
}
