package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/cpuset"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/units"
)

// RunCommand runs a command once on the given CPUs and memory node, with no
// interferer on the machine, and returns when it has ended. No CPUs mean all
// that this process may use; no node leaves memory unbound.
func RunCommand(ctx context.Context, c Command, cpus cpuset.CPUSet, node *int) error {
	l, err := newLauncher()
	if err != nil {
		return err
	}
	_, err = l.run(ctx, c, cpus, node)
	return errors.Join(err, l.close())
}

// RunBeside runs a command once while the interferer does what setting says.
// Around an unpaced setting, a probe, it also reads what the interferer
// reaches alone at that moment.
func (s *Session) RunBeside(ctx context.Context, c Command, setting interferer.Setting) (Observation, error) {
	return s.runUnder(ctx, c, settingsOf(setting))
}

// runUnder is RunBeside with settings of all interferers.
func (s *Session) runUnder(ctx context.Context, c Command, to settings) (Observation, error) {
	return s.withProbe(ctx, to, func() (o Observation, err error) {
		o.Achieved, err = s.during(ctx, to, func(ctx context.Context) error {
			e, err := s.launcher.run(ctx, c, s.Placement.Target, s.Placement.MemoryNode)
			o.Wall = e.wall
			return err
		})
		return o, err
	})
}

// RunPressed runs a command once while the interferer does what setting says
// for a part of the time, in slices spread over the whole run, and otherwise
// spins without touching memory. Observation.Pressed is the time it pressed, and
// Achieved its traffic in that time. A duty of 1 or more is RunBeside.
func (s *Session) RunPressed(ctx context.Context, c Command, setting interferer.Setting, duty float64) (Observation, error) {
	if duty >= 1 {
		return s.RunBeside(ctx, c, setting)
	}
	to := settingsOf(setting)
	return s.withProbe(ctx, to, func() (Observation, error) {
		var pressed slicedPressure
		e, err := s.runModulated(ctx, c, func(ctx context.Context) error { return s.press(ctx, to, duty, &pressed) })
		if err != nil {
			return Observation{}, err
		}
		o := Observation{Wall: e.wall, Pressed: pressed.during(e.spans), Achieved: pressed.achieved()}
		if o.Pressed <= 0 {
			return Observation{}, fmt.Errorf("the interferer never pressed in the %v of a run: give it more work, or run it several times per sample with --iterations", e.wall)
		}
		return o, nil
	})
}

// probeAloneWindow is how long a probe runs alone before and after the run of
// an application beside it.
const probeAloneWindow = 20 * time.Millisecond

// withProbe makes an observation and, where the settings are a probe, adds what
// the probe reached alone just before and after.
func (s *Session) withProbe(ctx context.Context, to settings, observe func() (Observation, error)) (Observation, error) {
	if !to.unpaced() {
		return observe()
	}
	return besideAlone(observe, func() (interferer.Achieved, error) {
		return retryStarved(func() (interferer.Achieved, error) { return s.alone(ctx, to, probeAloneWindow) })
	})
}

// besideAlone makes an observation between two readings of what the probe reaches
// alone. A probe that seems faster beside the application than alone was disturbed
// while it was alone: it is read alone a few times more, and if that does not help,
// the observation is lost.
func besideAlone(observe func() (Observation, error), alone func() (interferer.Achieved, error)) (Observation, error) {
	before, err := alone()
	if err != nil {
		return Observation{}, err
	}
	o, err := observe()
	if err != nil {
		return Observation{}, err
	}
	sum := before.Traffic
	for readings := 2; readings <= mostAloneReadings; readings++ {
		after, err := alone()
		if err != nil {
			return Observation{}, err
		}
		sum = sum.Add(after.Traffic)
		o.Alone = sum.Scale(1 / float64(readings))
		if o.Achieved.Traffic.Total() <= v1alpha1.MaxNormalizedPerformance*o.Alone.Total() {
			return o, nil
		}
	}
	return Observation{}, errDisturbed
}

// mostAloneReadings bounds the readings of a probe alone around one observation.
const mostAloneReadings = 10

// runModulated runs a command once, while modulate changes the settings of the
// interferers until its context ends. They spin when it begins.
func (s *Session) runModulated(ctx context.Context, c Command, modulate func(context.Context) error) (execution, error) {
	var e execution
	_, err := s.during(ctx, settingsOf(interferer.Setting{Mode: interferer.Spin}), func(ctx context.Context) error {
		modulation, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- modulate(modulation) }()
		var err error
		e, err = s.launcher.run(ctx, c, s.Placement.Target, s.Placement.MemoryNode)
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
func (s *Session) during(ctx context.Context, to settings, f func(context.Context) error) (interferer.Achieved, error) {
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
	if err := errors.Join(err, s.apply(ctx, settingsOf(interferer.Setting{Mode: interferer.Idle}))); err != nil {
		return interferer.Achieved{}, err
	}
	return achieved, nil
}

// alone reports what the interferers reach with nothing beside them.
func (s *Session) alone(ctx context.Context, to settings, d time.Duration) (interferer.Achieved, error) {
	return s.during(ctx, to, func(ctx context.Context) error {
		pause(ctx, d)
		return ctx.Err()
	})
}

// pressPeriod is how often sliced pressure comes and goes: long against the
// 0.1 ms of a change, short against the phases of most programs.
const pressPeriod = 20 * time.Millisecond

// press applies the settings in slices until the context ends, and spins in
// between. The first slice begins at a random moment of the period, so that the
// slices do not always meet the same phase.
func (s *Session) press(ctx context.Context, to settings, duty float64, into *slicedPressure) error {
	on := time.Duration(duty * float64(pressPeriod))
	pause(ctx, time.Duration(s.Random.Int64N(int64(pressPeriod))))
	for ; ctx.Err() == nil; pause(ctx, pressPeriod-on) {
		begin := time.Now()
		if err := s.apply(context.Background(), to); err != nil {
			return err
		}
		counters := s.interferers.counters()
		pause(ctx, on)
		achieved := s.interferers.since(counters)
		if err := s.apply(context.Background(), settingsOf(interferer.Setting{Mode: interferer.Spin})); err != nil {
			return err
		}
		into.add(span{begin, time.Now()}, achieved)
	}
	return nil
}

// slicedPressure sums up slices of pressure.
type slicedPressure struct {
	slices  []span
	seconds float64
	bytes   units.Traffic // per second, times seconds
}

// during returns how much of the runs was pressed.
func (p *slicedPressure) during(runs []span) time.Duration {
	var sum time.Duration
	for _, slice := range p.slices {
		for _, run := range runs {
			sum += slice.overlap(run)
		}
	}
	return sum
}

func (p *slicedPressure) add(slice span, a interferer.Achieved) {
	p.slices = append(p.slices, slice)
	p.seconds += a.Elapsed.Seconds()
	p.bytes = p.bytes.Add(a.Traffic.Scale(a.Elapsed.Seconds()))
}

func (p *slicedPressure) achieved() interferer.Achieved {
	if p.seconds <= 0 {
		return interferer.Achieved{}
	}
	return interferer.Achieved{
		Elapsed: time.Duration(p.seconds * float64(time.Second)), Traffic: p.bytes.Scale(1 / p.seconds),
	}
}

// RunBesideCommand runs target once while corunner runs beside it on the
// interferer's CPUs, restarted until the target ends. It also reports how
// often the co-runner ended.
func (s *Session) RunBesideCommand(ctx context.Context, target, corunner Command) (Observation, int, error) {
	loop, stop := context.WithCancel(ctx)
	defer stop()
	first := make(chan error, 1)
	finished := make(chan error, 1)
	completed := 0
	go func() {
		for begun := false; ; begun = true {
			p, err := s.launcher.start(loop, corunner, s.Placement.Interferer, s.Placement.MemoryNode)
			if !begun {
				first <- err
			}
			if err == nil {
				_, err = p.wait()
			}
			if err != nil {
				finished <- err
				return
			}
			completed++
		}
	}()
	if err := <-first; err != nil {
		return Observation{}, 0, err
	}
	e, err := s.launcher.run(ctx, target, s.Placement.Target, s.Placement.MemoryNode)
	stop()
	corunnerErr := <-finished
	if err != nil {
		return Observation{}, 0, err
	}
	if ctx.Err() == nil && errors.Is(corunnerErr, ErrCommand) {
		return Observation{}, 0, fmt.Errorf("the co-runner: %w", corunnerErr)
	}
	return Observation{Wall: e.wall}, completed, ctx.Err()
}
