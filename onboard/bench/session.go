package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/topology"
)

// longestSession ends an interferer that nothing else ended. No experiment takes as long.
const longestSession = 30 * 24 * time.Hour

// Placing says where a session's application and interferer run.
type Placing struct {
	topology.Request
	// MemoryCap bounds the interferer's buffers in bytes; 0 leaves the
	// interferer's own limit.
	MemoryCap int64
	// RealTime runs the interferer at real-time priority where permitted.
	RealTime bool
	// Interferers is the number of interferers; 0 means 1. Several press harder
	// than one can: levels up to their number. They divide the CPUs that
	// Request.Interferer names.
	Interferers int
	// Occupancy watches what a process, which was just started, holds of the last-level
	// caches; nil where nothing counts that.
	Occupancy func(pid int) (Occupancy, error)
}

// place chooses CPUs. Where a quota does not suffice for them, it allows fewer, unless the
// request names them.
func (p *Placing) place(machine *topology.Machine, quota *topology.Quota) (topology.Placement, error) {
	placement, err := machine.Place(p.Request)
	if err != nil || !p.Target.IsEmpty() || !p.Interferer.IsEmpty() {
		return placement, err
	}
	within, narrowed := quota.Narrow(placement, p.Allowed)
	if !narrowed {
		return placement, nil
	}
	p.Allowed = within
	if placement, err = machine.Place(p.Request); err == nil {
		placement.Warnings = append(placement.Warnings, fmt.Sprintf("%v: application and interferer use only CPUs %s", quota, within))
	}
	return placement, err
}

// fit holds the CPUs that work all the time against a quota. Where it suffices for nothing
// else, they are all that is allowed: the threads that switch and count share them.
func (p *Placing) fit(quota *topology.Quota, used cpuset.CPUSet) error {
	if !quota.Suffices(used.Size(), p.Allowed) {
		p.Allowed = used
	}
	return quota.Check(used, p.Allowed)
}

// Session holds what every experiment needs: the machine, the places of
// application and interferer, and a running interferer.
type Session struct {
	Machine   *topology.Machine
	Placement topology.Placement
	// Allowed are the CPUs that the experiment may use.
	Allowed cpuset.CPUSet
	// Random orders samples.
	Random *rand.Rand

	options     interferer.Options
	interferers interferers
	launcher    *launch.Launcher
	occupancy   func(pid int) (Occupancy, error)
	// count is the number of interferers; all but the first run on otherCPUs.
	count     int
	otherCPUs cpuset.CPUSet
}

// Open reads the machine, places application and interferer, and starts the
// interferer, idle. Close the session when done. The program's main has to
// call [interferer.RunIfChild] and [launch.RunIfGuard] first.
func Open(ctx context.Context, placing Placing) (*Session, error) {
	machine, err := topology.ReadHost()
	if err != nil {
		return nil, err
	}
	if placing.Allowed.IsEmpty() {
		if placing.Allowed, err = topology.AllowedCPUs(); err != nil {
			return nil, err
		}
	}
	quota, err := topology.OwnQuota()
	if err != nil {
		return nil, err
	}
	placement, err := placing.place(machine, quota)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", launch.ErrPlacement, err)
	}
	s := &Session{
		Machine: machine, Placement: placement, count: 1,
		Random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), occupancy: placing.Occupancy,
	}
	var others cpuset.CPUSet
	var tooFew *TooFewCPUsError
	if placing.Interferers > 1 {
		s.Placement.Interferer, others, err = placeInterferers(machine, placement, placing)
		if err != nil && !errors.As(err, &tooFew) {
			return nil, err
		}
	}
	used := s.Placement.Target.Union(s.Placement.Interferer).Union(others)
	if err := placing.fit(quota, used); err != nil {
		return nil, err
	}
	s.Allowed = placing.Allowed
	s.options = interferer.Options{
		MemoryNode:  placement.MemoryNode,
		MemoryCap:   placing.MemoryCap,
		RealTime:    placing.RealTime,
		MaxDuration: longestSession,
	}
	if s.launcher, err = launch.New(); err != nil {
		return nil, err
	}
	err = s.addInterferer(ctx, s.Placement.Interferer)
	switch {
	case err != nil:
	case tooFew != nil:
		err = s.measureOne(ctx, tooFew)
	case !others.IsEmpty():
		err = s.addOthers(ctx, others, placing.Interferers)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// another returns a session of the same places without an interferer. Together with that of s,
// one may fill the machine: the placement of application and interferer asks for that.
func (s *Session) another() *Session {
	o := s.options
	o.AllowAllCPUs = true
	return &Session{Machine: s.Machine, Placement: s.Placement, Allowed: s.Allowed, Random: s.Random, options: o, launcher: s.launcher, count: 1}
}

// Count is the number of interferers.
func (s *Session) Count() int { return s.count }

// InterfererCPUs are those of all interferers.
func (s *Session) InterfererCPUs() cpuset.CPUSet { return s.Placement.Interferer.Union(s.otherCPUs) }

// Start starts a command on the application's CPUs. Close ends what is left of it.
func (s *Session) Start(ctx context.Context, c launch.Command) (*launch.Process, error) {
	return s.launcher.Start(ctx, c, s.Placement.Target, s.Placement.MemoryNode)
}

// addInterferer starts a further interferer, idle.
func (s *Session) addInterferer(ctx context.Context, cpus cpuset.CPUSet) error {
	o := s.options
	o.CPUs = cpus
	if bytes, ok := s.Machine.LastLevelCacheBytes(cpus); ok {
		o.LastLevelCacheBytes = bytes
	}
	i, err := interferer.Start(ctx, o)
	if err != nil {
		return fmt.Errorf("starting the interferer: %w", err)
	}
	s.launcher.Know(i.PID())
	s.interferers = append(s.interferers, i)
	return nil
}

// addOthers starts the others of so many interferers, as one process.
func (s *Session) addOthers(ctx context.Context, cpus cpuset.CPUSet, count int) error {
	if err := s.addInterferer(ctx, cpus); err != nil {
		return err
	}
	s.count, s.otherCPUs = count, cpus
	s.Placement.Explanation += fmt.Sprintf(" %d interferers of %d CPUs each: the others run on %s.", count, s.Placement.Interferer.Size(), cpus)
	return nil
}

// measureOne completes the error with the bandwidth of one interferer, and
// returns it.
func (s *Session) measureOne(ctx context.Context, e *TooFewCPUsError) error {
	p := pressure.Pressure{ReadShare: 1, Level: 1, Pattern: interferer.Sequential}
	sustained, err := s.sustainedOf(ctx, []pressure.Pressure{p})
	e.One = sustained[p.Unpaced()]
	return errors.Join(e, err)
}

// Close ends the interferer and whatever commands left running.
func (s *Session) Close() error {
	return errors.Join(s.interferers.close(), s.launcher.Close())
}

// ended returns why nothing can be measured any more: the context is done or an
// interferer has ended. It is nil as long as neither happened.
func (s *Session) ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.interferers.err()
}

// apply has the interferers follow the settings.
func (s *Session) apply(ctx context.Context, to pressure.Settings) error {
	err := s.interferers.apply(to)
	if ended := s.ended(ctx); ended != nil {
		return ended
	}
	return err
}

// Warnings say what may be doubted about measurements of this session.
func (s *Session) Warnings() []string {
	all := append([]string{}, s.Placement.Warnings...)
	for _, i := range s.interferers {
		all = append(all, i.Warnings()...)
	}
	return all
}

// tagPatience bounds the repeats of an inconclusive ping-pong. An experiment of
// minutes survives other programs that hold one of its CPUs for seconds.
const tagPatience = 30 * time.Second

// Tag reports the placement regime between the application's first CPU and
// the interferer's. The interferer is idle meanwhile.
func (s *Session) Tag(ctx context.Context) (regime.Tag, error) {
	if err := s.apply(ctx, idling); err != nil {
		return regime.Tag{}, err
	}
	a, b := s.Placement.Target.List()[0], s.Placement.Interferer.List()[0]
	for start := time.Now(); ; Pause(ctx, 20*time.Millisecond) {
		tag, err := regime.Probe(ctx, a, b)
		if err == nil || ctx.Err() != nil {
			return tag, err
		}
		if !errors.Is(err, regime.ErrInconclusive) || time.Since(start) >= tagPatience {
			return regime.Tag{}, fmt.Errorf("measuring how near CPUs %d and %d are: %w", a, b, err)
		}
	}
}

// Pause waits for a time or the end of the context.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// CorunnerCPUs returns as many CPUs as the target has, as far as the interferer's NUMA
// nodes have them, those of the interferer first.
func (s *Session) CorunnerCPUs() cpuset.CPUSet {
	chosen := s.Placement.Interferer.List()
	nodes := map[int]bool{}
	for _, id := range chosen {
		if c, ok := s.Machine.CPU(id); ok {
			nodes[c.Node] = true
		}
	}
	for _, c := range s.Machine.CPUs {
		if nodes[c.Node] && !slices.Contains(chosen, c.ID) && s.Allowed.Contains(c.ID) {
			chosen = append(chosen, c.ID)
		}
	}
	return cpuset.New(chosen[:min(len(chosen), s.Placement.Target.Size())]...)
}

// Occupancy tells what a process and what it starts hold of the last-level caches.
type Occupancy interface {
	// Bytes returns what they hold now; false while that is not known.
	Bytes() (bytes float64, known bool, err error)
	// Close ends the reading.
	Close() error
}
