package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/onboard/sampling"
)

// RunBeside runs a command once while the interferer does what setting says.
// Around an unpaced setting, a probe, it also reads what the interferer
// reaches alone at that moment.
func (s *Session) RunBeside(ctx context.Context, c launch.Command, setting interferer.Setting) (sampling.Observation, error) {
	return s.RunUnder(ctx, c, pressure.SettingsOf(setting))
}

// RunUnder is RunBeside with settings of all interferers.
func (s *Session) RunUnder(ctx context.Context, c launch.Command, to pressure.Settings) (sampling.Observation, error) {
	return s.withProbe(ctx, to, func() (sampling.Observation, error) { return s.RunUnprobed(ctx, c, to) })
}

// RunUnprobed runs a command once under settings, without reading what a probe reaches alone. The
// error is ErrStarved where the interferers were to stream and moved nothing.
func (s *Session) RunUnprobed(ctx context.Context, c launch.Command, to pressure.Settings) (o sampling.Observation, err error) {
	o.Achieved, err = s.during(ctx, to, func(ctx context.Context) error {
		e, err := s.launcher.Run(ctx, c, s.Placement.Target, s.Placement.MemoryNode)
		o.Wall = e.Wall
		return err
	})
	if err == nil && to.First.Mode == interferer.Stream && o.Achieved.Traffic.Total() == 0 {
		err = sampling.ErrStarved
	}
	return o, err
}

// RunPressed runs a command once while the interferer does what setting says
// for a part of the time, in slices spread over the whole run, and otherwise
// spins without touching memory. Observation.Pressed is the time it pressed, and
// Achieved its traffic in that time. A duty of 1 or more is RunBeside.
func (s *Session) RunPressed(ctx context.Context, c launch.Command, setting interferer.Setting, duty float64) (sampling.Observation, error) {
	if duty >= 1 {
		return s.RunBeside(ctx, c, setting)
	}
	to := pressure.SettingsOf(setting)
	return s.withProbe(ctx, to, func() (sampling.Observation, error) {
		var pressed pressure.Sliced
		e, err := s.runModulated(ctx, c, func(ctx context.Context) error { return s.press(ctx, to, duty, &pressed) })
		if err != nil {
			return sampling.Observation{}, err
		}
		o := sampling.Observation{Wall: e.Wall, Pressed: pressed.During(e.Spans), Achieved: pressed.Achieved()}
		if o.Pressed <= 0 {
			return sampling.Observation{}, fmt.Errorf("the interferer never pressed in the %v of a run: give it more work, or run it several times per sample with --iterations", e.Wall)
		}
		if o.Achieved.Traffic.Total() == 0 {
			return sampling.Observation{}, sampling.ErrStarved
		}
		return o, nil
	})
}

// probeAloneWindow is how long a probe runs alone before and after the run of
// an application beside it.
const probeAloneWindow = 20 * time.Millisecond

// withProbe makes an observation and, where the settings are a probe, adds what
// the probe reached alone just before and after.
func (s *Session) withProbe(ctx context.Context, to pressure.Settings, observe func() (sampling.Observation, error)) (sampling.Observation, error) {
	if !to.Unpaced() {
		return observe()
	}
	return besideAlone(observe, func() (interferer.Achieved, error) {
		return retryStarved(func() (interferer.Achieved, error) { return s.Alone(ctx, to, probeAloneWindow) })
	})
}

// besideAlone makes an observation between two readings of what the probe reaches
// alone. A probe that seems faster beside the application than alone was disturbed
// while it was alone: it is read alone a few times more, and if that does not help,
// the observation is lost.
func besideAlone(observe func() (sampling.Observation, error), alone func() (interferer.Achieved, error)) (sampling.Observation, error) {
	before, err := alone()
	if err != nil {
		return sampling.Observation{}, err
	}
	o, err := observe()
	if err != nil {
		return sampling.Observation{}, err
	}
	sum := before.Traffic
	for readings := 2; readings <= mostAloneReadings; readings++ {
		after, err := alone()
		if err != nil {
			return sampling.Observation{}, err
		}
		sum = sum.Add(after.Traffic)
		o.Alone = sum.Scale(1 / float64(readings))
		if o.Achieved.Traffic.Total() <= v1alpha1.MaxNormalizedPerformance*o.Alone.Total() {
			return o, nil
		}
	}
	return sampling.Observation{}, sampling.ErrDisturbed
}

// mostAloneReadings bounds the readings of a probe alone around one observation.
const mostAloneReadings = 10

// runModulated runs a command once, while modulate changes the settings of the
// interferers until its context ends. They spin when it begins.
func (s *Session) runModulated(ctx context.Context, c launch.Command, modulate func(context.Context) error) (launch.Execution, error) {
	var e launch.Execution
	_, err := s.during(ctx, spinning, func(ctx context.Context) error {
		modulation, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- modulate(modulation) }()
		var err error
		e, err = s.launcher.Run(ctx, c, s.Placement.Target, s.Placement.MemoryNode)
		stop()
		if modulationErr := <-done; err == nil {
			err = modulationErr
		}
		return err
	})
	return e, err
}

// warmup is the time between setting the interferers and measuring beside them.
const warmup = 3 * time.Millisecond

// during reports the interferers' traffic while f runs, whose context ends
// with any interferer. The interferers are idle afterwards.
func (s *Session) during(ctx context.Context, to pressure.Settings, f func(context.Context) error) (interferer.Achieved, error) {
	if err := s.apply(ctx, to); err != nil {
		return interferer.Achieved{}, err
	}
	time.Sleep(warmup)
	running, stop := context.WithCancel(ctx)
	defer stop()
	for _, i := range s.interferers {
		go func() {
			select {
			case <-i.Done():
				stop()
			case <-running.Done():
			}
		}()
	}
	before := s.interferers.counters()
	err := f(running)
	achieved := s.interferers.since(before)
	if ended := s.ended(ctx); ended != nil {
		return interferer.Achieved{}, ended
	}
	if err := errors.Join(err, s.apply(ctx, idling)); err != nil {
		return interferer.Achieved{}, err
	}
	return achieved, nil
}

// Alone reports what the interferers reach with nothing beside them.
func (s *Session) Alone(ctx context.Context, to pressure.Settings, d time.Duration) (interferer.Achieved, error) {
	return s.during(ctx, to, func(ctx context.Context) error {
		Pause(ctx, d)
		return ctx.Err()
	})
}

// pressPeriod is how often sliced pressure comes and goes: long against the
// 0.1 ms of a change, short against the phases of most programs.
const pressPeriod = 20 * time.Millisecond

// press applies the settings in slices until the context ends, and spins in
// between. The first slice begins at a random moment of the period, so that the
// slices do not always meet the same phase.
func (s *Session) press(ctx context.Context, to pressure.Settings, duty float64, into *pressure.Sliced) error {
	on := time.Duration(duty * float64(pressPeriod))
	Pause(ctx, time.Duration(s.Random.Int64N(int64(pressPeriod))))
	for ; ctx.Err() == nil; Pause(ctx, pressPeriod-on) {
		begin := time.Now()
		if err := s.apply(context.Background(), to); err != nil {
			return err
		}
		counters := s.interferers.counters()
		Pause(ctx, on)
		achieved := s.interferers.since(counters)
		if err := s.apply(context.Background(), spinning); err != nil {
			return err
		}
		into.Add(launch.Span{From: begin, To: time.Now()}, achieved)
	}
	return nil
}

// RunBesideCommand runs target once while corunner runs beside it on the
// interferer's CPUs, restarted until the target ends.
func (s *Session) RunBesideCommand(ctx context.Context, target, corunner launch.Command) (sampling.Observation, error) {
	loop, stop := context.WithCancel(ctx)
	defer stop()
	first := make(chan error, 1)
	finished := make(chan error, 1)
	go func() {
		for begun := false; ; begun = true {
			p, err := s.launcher.Start(loop, corunner, s.Placement.Interferer, s.Placement.MemoryNode)
			if !begun {
				first <- err
			}
			if err == nil {
				_, err = p.Wait()
			}
			if err != nil {
				finished <- err
				return
			}
		}
	}()
	if err := <-first; err != nil {
		return sampling.Observation{}, err
	}
	e, err := s.launcher.Run(ctx, target, s.Placement.Target, s.Placement.MemoryNode)
	stop()
	corunnerErr := <-finished
	if err != nil {
		return sampling.Observation{}, err
	}
	if ctx.Err() == nil && !errors.Is(corunnerErr, context.Canceled) {
		return sampling.Observation{}, fmt.Errorf("the co-runner: %w", corunnerErr)
	}
	return sampling.Observation{Wall: e.Wall}, ctx.Err()
}

// RunAway runs a command once on CPUs other than the target's, with the target's memory,
// while the interferers are idle.
func (s *Session) RunAway(ctx context.Context, c launch.Command, cpus cpuset.CPUSet) (o sampling.Observation, err error) {
	_, err = s.during(ctx, idling, func(ctx context.Context) error {
		e, err := s.launcher.Run(ctx, c, cpus, s.Placement.MemoryNode)
		o.Wall = e.Wall
		return err
	})
	return o, err
}
