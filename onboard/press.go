package onboard

import (
	"context"
	"fmt"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/units"
)

// pressPeriod is how often pressure comes and goes in a run that is pressed for
// a part of its time: long against the 0.1 ms of a change, short against the
// phases of most programs.
const pressPeriod = 20 * time.Millisecond

// RunPressed runs a command once while the interferer does what setting says
// for a part of the time, in slices spread over the whole run, and else spins
// without touching memory. Observation.Pressed is the time it pressed, and
// Achieved what it transferred in it. A duty of 1 or more is RunBeside.
func (s *Session) RunPressed(ctx context.Context, c Command, setting interferer.Setting, duty float64) (Observation, error) {
	if duty >= 1 {
		return s.RunBeside(ctx, c, setting)
	}
	probe := setting.Mode == interferer.Stream && setting.Bandwidth == 0
	var before, after interferer.Achieved
	var err error
	if probe {
		if before, err = s.alone(ctx, setting, probeAloneWindow); err != nil {
			return Observation{}, err
		}
	}
	var e execution
	var pressed pressing
	_, err = s.during(ctx, interferer.Setting{Mode: interferer.Spin}, func(ctx context.Context) error {
		slices, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- s.press(slices, setting, duty, &pressed) }()
		var err error
		e, err = s.launcher.run(ctx, c, s.Placement.Target, s.Placement.MemoryNode)
		stop()
		if fault := <-done; err == nil {
			err = fault
		}
		return err
	})
	if err != nil {
		return Observation{}, err
	}
	o := Observation{Wall: e.wall, Pressed: pressed.during(e.spans), Achieved: pressed.achieved()}
	if o.Pressed <= 0 {
		return Observation{}, fmt.Errorf("the interferer never pressed in the %v of a run: give it more work, or run it several times per sample with --iterations", e.wall)
	}
	if probe {
		if after, err = s.alone(ctx, setting, probeAloneWindow); err != nil {
			return Observation{}, err
		}
		o.Alone = before.Traffic.Add(after.Traffic).Scale(0.5)
	}
	return o, nil
}

// pressing sums up slices of pressure.
type pressing struct {
	slices  []span
	seconds float64
	bytes   units.Traffic // per second, times seconds
}

// during is how much of the runs was pressed.
func (p *pressing) during(runs []span) time.Duration {
	var sum time.Duration
	for _, slice := range p.slices {
		for _, run := range runs {
			sum += slice.overlap(run)
		}
	}
	return sum
}

func (p *pressing) add(slice span, a interferer.Achieved) {
	p.slices = append(p.slices, slice)
	p.seconds += a.Elapsed.Seconds()
	p.bytes = p.bytes.Add(a.Traffic.Scale(a.Elapsed.Seconds()))
}

func (p *pressing) achieved() interferer.Achieved {
	if p.seconds <= 0 {
		return interferer.Achieved{}
	}
	return interferer.Achieved{
		Elapsed: time.Duration(p.seconds * float64(time.Second)), Traffic: p.bytes.Scale(1 / p.seconds),
	}
}

// press makes slices of pressure until the context ends. The first slice begins
// at a random moment of the period, so that no phase is always met.
func (s *Session) press(ctx context.Context, setting interferer.Setting, duty float64, into *pressing) error {
	on := time.Duration(duty * float64(pressPeriod))
	wait := func(d time.Duration) { pause(ctx, d) }
	for wait(time.Duration(s.Random.Int64N(int64(pressPeriod)))); ctx.Err() == nil; wait(pressPeriod - on) {
		begin := time.Now()
		if err := s.pressure.Apply(setting); err != nil {
			return s.goneOr(err)
		}
		counters := s.pressure.Counters()
		wait(on)
		achieved := s.pressure.Counters().Since(counters)
		if err := s.pressure.Apply(interferer.Setting{Mode: interferer.Spin}); err != nil {
			return s.goneOr(err)
		}
		into.add(span{begin, time.Now()}, achieved)
	}
	return nil
}

// goneOr prefers the reason of the interferer's end to what failed for it.
func (s *Session) goneOr(err error) error {
	if gone := s.gone(context.Background()); gone != nil {
		return gone
	}
	return err
}
