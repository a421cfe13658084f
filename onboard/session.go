package onboard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/topology"
)

// Placing is where a session's application and interferer run.
type Placing struct {
	topology.Request
	// MemoryCap bounds the interferer's buffers in bytes; 0 leaves the
	// interferer's own limit.
	MemoryCap int64
	// RealTime runs the interferer at real-time priority where permitted.
	RealTime bool
	// MaxDuration ends the interferer whatever happens; 0 leaves its own limit.
	MaxDuration time.Duration
	// Interferers is how many there are to press harder than one can: levels
	// up to that many times its sustained bandwidth. 0 means 1. CPUs that
	// Request.Interferer names are divided among them.
	Interferers int
}

// Session holds what every experiment needs: the machine, the places of
// application and interferer, and a running interferer.
type Session struct {
	Machine   *topology.Machine
	Placement topology.Placement
	// Random orders samples.
	Random *rand.Rand

	options  interferer.Options
	pressure *interferer.Interferer
	launcher *launcher

	// interferers is how many there are; others are all but the first, as one
	// process on otherCPUs, nil without any.
	interferers int
	others      *interferer.Interferer
	otherCPUs   cpuset.CPUSet
}

// ErrPlacement is wrapped when application and interferer cannot run where
// they were asked to.
var ErrPlacement = errors.New("cannot run there")

// Open reads the machine, places application and interferer, and starts the
// interferer, idle. Close the session when done. The program's main has to
// call [interferer.RunIfChild] and [RunIfGuard] first.
func Open(ctx context.Context, placing Placing) (*Session, error) {
	machine, err := topology.ReadHost()
	if err != nil {
		return nil, fmt.Errorf("reading the machine: %w", err)
	}
	if placing.Allowed.IsEmpty() {
		if placing.Allowed, err = topology.AllowedCPUs(); err != nil {
			return nil, err
		}
	}
	placement, err := machine.Place(placing.Request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlacement, err)
	}
	var others cpuset.CPUSet
	var tooFew *CrowdError
	if placing.Interferers > 1 {
		placement.Interferer, others, err = placeCrowd(machine, placement, placing)
		if err != nil && !errors.As(err, &tooFew) {
			return nil, err
		}
	}
	launch, err := newLauncher()
	if err != nil {
		return nil, err
	}
	s := &Session{
		Machine:   machine,
		Placement: placement,
		Random:    rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
		launcher:  launch,

		interferers: 1,
	}
	s.options = interferer.Options{
		CPUs:        placement.Interferer,
		MemoryNode:  placement.MemoryNode,
		MemoryCap:   placing.MemoryCap,
		RealTime:    placing.RealTime,
		MaxDuration: placing.MaxDuration,
	}
	if bytes, ok := machine.LastLevelCacheBytes(placement.Interferer); ok {
		s.options.LastLevelCacheBytes = bytes
	}
	if s.pressure, err = s.startInterferer(ctx, s.options); err != nil {
		return nil, errors.Join(err, launch.close())
	}
	switch {
	case tooFew != nil:
		err = s.sizeUp(ctx, tooFew)
	case !others.IsEmpty():
		err = s.gather(ctx, others, placing.Interferers)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Session) startInterferer(ctx context.Context, o interferer.Options) (*interferer.Interferer, error) {
	i, err := interferer.Start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("starting the interferer: %w", err)
	}
	s.launcher.know(i.PID())
	return i, nil
}

// Close ends the interferer and what commands left; nothing is left running.
func (s *Session) Close() error {
	return errors.Join(s.closePressure(), s.launcher.close())
}

// closePressure ends the interferer. The reason why it had ended before is
// known by then: what was run beside it has failed for it.
func (s *Session) closePressure() error {
	known := s.pressure.Err() != nil
	err := s.pressure.Close()
	if s.others != nil {
		known = known || s.others.Err() != nil
		err = errors.Join(err, s.others.Close())
	}
	if known {
		return nil // reported before
	}
	return err
}

// gone is why nothing can be measured any more: the caller does not want to,
// or the interferer has ended; nil as long as it can.
func (s *Session) gone(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := s.pressure.Err(); err != nil {
		return fmt.Errorf("the interferer ended: %w", err)
	}
	if s.others != nil && s.others.Err() != nil {
		return fmt.Errorf("an interferer ended: %w", s.others.Err())
	}
	return nil
}

// apply has the interferers follow f.
func (s *Session) apply(ctx context.Context, f force) error {
	err := s.exert(f)
	if gone := s.gone(ctx); gone != nil {
		return gone
	}
	return err
}

// Warnings are what may be doubted about measurements of this session.
func (s *Session) Warnings() []string {
	all := append(append([]string{}, s.Placement.Warnings...), s.pressure.Warnings()...)
	if s.others != nil {
		all = append(all, s.others.Warnings()...)
	}
	return all
}

// tagPatience is for how long an inconclusive ping-pong is repeated: an experiment
// of minutes need not end because others had one of its CPUs for some seconds.
const tagPatience = 30 * time.Second

// Tag reports the placement regime between the application's first CPU and
// the interferer's. The interferer is idle meanwhile.
func (s *Session) Tag(ctx context.Context) (regime.Tag, error) {
	if err := s.apply(ctx, forceOf(interferer.Setting{Mode: interferer.Idle})); err != nil {
		return regime.Tag{}, err
	}
	a, b := s.Placement.Target.List()[0], s.Placement.Interferer.List()[0]
	for start := time.Now(); ; {
		tag, err := regime.Probe(ctx, a, b)
		if err == nil || ctx.Err() != nil {
			return tag, err
		}
		if !errors.Is(err, regime.ErrInconclusive) || time.Since(start) >= tagPatience {
			return regime.Tag{}, fmt.Errorf("telling how near CPUs %d and %d are: %w", a, b, err)
		}
		select {
		case <-ctx.Done():
			return regime.Tag{}, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// RunBeside runs a command once while the interferer does what setting says.
// Around an unpaced setting, a probe, it also reads what the interferer
// reaches alone at that moment.
func (s *Session) RunBeside(ctx context.Context, c Command, setting interferer.Setting) (Observation, error) {
	return s.runUnder(ctx, c, MeasuredPressure{Setting: setting})
}

// runUnder is RunBeside with all interferers.
func (s *Session) runUnder(ctx context.Context, c Command, p MeasuredPressure) (Observation, error) {
	f := p.force()
	var e execution
	run := func(ctx context.Context) (err error) {
		e, err = s.launcher.run(ctx, c, s.Placement.Target, s.Placement.MemoryNode)
		return err
	}
	if f.first.Mode != interferer.Stream || f.first.Bandwidth > 0 {
		achieved, err := s.duringForce(ctx, f, run)
		return Observation{Wall: e.wall, Achieved: achieved}, err
	}
	before, err := s.aloneForce(ctx, f, probeAloneWindow)
	if err != nil {
		return Observation{}, err
	}
	achieved, err := s.duringForce(ctx, f, run)
	if err != nil {
		return Observation{}, err
	}
	after, err := s.aloneForce(ctx, f, probeAloneWindow)
	return Observation{Wall: e.wall, Achieved: achieved, Alone: before.Traffic.Add(after.Traffic).Scale(0.5)}, err
}

// probeAloneWindow is how long a probe runs alone before and after the run of
// an application beside it.
const probeAloneWindow = 20 * time.Millisecond

// settle is the time between setting the interferer and what runs beside it.
const settle = 3 * time.Millisecond

// during reports the interferer's traffic while f runs, whose context ends
// with the interferer. The interferer is idle afterwards.
func (s *Session) during(ctx context.Context, setting interferer.Setting, f func(context.Context) error) (interferer.Achieved, error) {
	return s.duringForce(ctx, forceOf(setting), f)
}

// duringForce is during with all interferers.
func (s *Session) duringForce(ctx context.Context, exerted force, f func(context.Context) error) (interferer.Achieved, error) {
	if err := s.apply(ctx, exerted); err != nil {
		return interferer.Achieved{}, err
	}
	time.Sleep(settle)
	running, stop := context.WithCancel(ctx)
	defer stop()
	var othersDone <-chan struct{}
	if s.others != nil {
		othersDone = s.others.Done()
	}
	go func() {
		select {
		case <-s.pressure.Done():
			stop()
		case <-othersDone:
			stop()
		case <-running.Done():
		}
	}()
	before := s.mark()
	err := f(running)
	achieved := s.since(before)
	if gone := s.gone(ctx); gone != nil {
		return interferer.Achieved{}, gone
	}
	if err := errors.Join(err, s.apply(ctx, forceOf(interferer.Setting{Mode: interferer.Idle}))); err != nil {
		return interferer.Achieved{}, err
	}
	return achieved, nil
}

// alone reports what the interferer reaches with nothing beside it.
func (s *Session) alone(ctx context.Context, setting interferer.Setting, d time.Duration) (interferer.Achieved, error) {
	return s.aloneForce(ctx, forceOf(setting), d)
}

// aloneForce is alone with all interferers.
func (s *Session) aloneForce(ctx context.Context, f force, d time.Duration) (interferer.Achieved, error) {
	return s.duringForce(ctx, f, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	})
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
