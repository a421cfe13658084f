package main

import (
	"context"
	"fmt"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
)

// A cache probe follows one chain of random lines within a part of the
// last-level cache: its speed tells how much of that part others leave it.
type cacheProbe struct {
	// footprint in bytes.
	footprint int64
}

func (p cacheProbe) String() string { return fmt.Sprintf("cache probe of %d KiB", p.footprint>>10) }

func (p cacheProbe) setting() interferer.Setting {
	return interferer.Setting{Mode: interferer.Stream, ReadShare: 1, Pattern: interferer.Random, InFlight: 1, Footprint: p.footprint}
}

// cacheProbes are three and four sixteenths of the last-level cache: what a
// stream leaves alone and what it displaces.
func (s *survey) cacheProbes() []cacheProbe {
	bytes, ok := s.session.Machine.LastLevelCacheBytes(s.session.Placement.Interferer)
	if !ok {
		bytes = interferer.DefaultLastLevelCacheBytes
	}
	return []cacheProbe{{3 * bytes / 16}, {4 * bytes / 16}}
}

// nothing is a target that does nothing, beside which a cache probe is alone.
func nothing() onboard.Application {
	return onboard.Application{Name: "nothing", Command: onboard.Command{Args: []string{"sleep", "0.2"}, Timeout: time.Minute}}
}

// probeConditions run every application, and nothing, beside each cache probe.
func (s *survey) probeConditions() []onboard.Condition {
	idle := nothing()
	all := []onboard.Condition{{
		Target: idle.Name,
		Run: func(ctx context.Context) (onboard.Observation, error) {
			return s.session.RunBeside(ctx, idle.Command, interferer.Setting{Mode: interferer.Spin})
		},
	}}
	for _, a := range append([]onboard.Application{idle}, s.experiment.Applications...) {
		for _, p := range s.cacheProbes() {
			all = append(all, onboard.Condition{
				Target: a.Name, Beside: p.String(),
				Run: func(ctx context.Context) (onboard.Observation, error) {
					return s.session.RunBeside(ctx, a.Command, p.setting())
				},
			})
		}
	}
	return all
}

// probeReading is what an application and a cache probe do to each other.
type probeReading struct {
	cacheProbe
	// speed is the probe's beside the application ÷ alone, performance the
	// application's beside the probe.
	speed, performance float64
}

// readings are the cache probes beside an application.
func (s *survey) readings(a onboard.Application, o *onboard.Outcome) ([]probeReading, error) {
	var all []probeReading
	for _, p := range s.cacheProbes() {
		beside, ok := o.Result(onboard.Key{Target: a.Name, Beside: p.String()})
		alone, okAlone := o.Result(onboard.Key{Target: nothing().Name, Beside: p.String()})
		if !ok || !okAlone {
			return nil, fmt.Errorf("%s was not run beside the %s", a.Name, p)
		}
		all = append(all, probeReading{
			cacheProbe: p, speed: float64(beside.Achieved.Total() / alone.Achieved.Total()), performance: float64(beside.NormalizedPerformance),
		})
	}
	return all, nil
}
