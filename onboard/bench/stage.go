package bench

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/topology"
)

// Stage is where two parties are modulated: one on the application's CPUs, one
// on the interferer's. CPUs whose party does not work spin, so that only the
// memory traffic differs.
type Stage struct {
	*Session
	// Opposite has an interferer on the application's CPUs.
	Opposite *Session
	// Parties are the one on the application's CPUs and the one on the
	// interferer's.
	Parties [2]modulation.Party
}

// The states of a stage's parties.
const (
	FirstAlone  modulation.State = 1
	SecondAlone modulation.State = 2
	Together    modulation.State = 3
)

// OpenStage starts what a stage needs beside the session. Close it.
func (s *Session) OpenStage(ctx context.Context) (*Stage, error) {
	opposite := s.another()
	if err := opposite.addInterferer(ctx, s.Placement.Target); err != nil {
		return nil, err
	}
	return &Stage{Session: s, Opposite: opposite}, nil
}

// Program returns a party that runs a command, on the application's CPUs or on the
// interferer's. source counts its work.
func (g *Stage) Program(command launch.Command, source ticks.Source, first bool) *Program {
	p := &Program{session: g.Session, command: command, Source: source, cpus: g.Placement.Target, spinner: g.Opposite.interferers, beside: g.interferers}
	if !first {
		p.cpus, p.spinner, p.beside = g.Placement.Interferer, p.beside, p.spinner
	}
	return p
}

// ProgramOn returns a party that runs a command on CPUs that stay idle while it is paused.
func (g *Stage) ProgramOn(command launch.Command, source ticks.Source, cpus cpuset.CPUSet) *Program {
	return &Program{session: g.Session, command: command, Source: source, cpus: cpus}
}

// Elsewhere returns a stage with the same place for the application and an interferer of its
// own on other CPUs. The caller must call closed, which ends that interferer and leaves g open.
func (g *Stage) Elsewhere(ctx context.Context, cpus cpuset.CPUSet) (other *Stage, closed func() error, err error) {
	of := g.another()
	of.Placement.Interferer = cpus
	if err := of.addInterferer(ctx, cpus); err != nil {
		return nil, nil, err
	}
	return &Stage{Session: of, Opposite: g.Opposite}, of.interferers.close, nil
}

// Close ends what OpenStage started. The session stays open.
func (g *Stage) Close() error { return g.Opposite.interferers.close() }

// Spin keeps the CPUs of both parties busy, while no program runs there.
func (g *Stage) Spin() error {
	return errors.Join(g.Opposite.interferers.request(spinning), g.interferers.request(spinning))
}

// Record runs a program once, alone beside spinning CPUs, on the thread that switches.
func (g *Stage) Record(ctx context.Context, p *Program) (r Recording, err error) {
	err = g.Control(ctx, func() error {
		if err := g.interferers.request(spinning); err != nil {
			return err
		}
		r, err = p.record(ctx)
		return err
	})
	return r, err
}

// Discover looks for counts that grow steadily while a program runs beside spinning CPUs. The
// error wraps ticks.ErrNothingCounts where none does.
func (g *Stage) Discover(ctx context.Context, p *Program) (found []ticks.Candidate, err error) {
	err = g.Control(ctx, func() error {
		if err := g.interferers.request(spinning); err != nil {
			return err
		}
		found, err = ticks.Discover(ctx, func(ctx context.Context) (int, func(), error) {
			process, err := g.launcher.Start(ctx, p.command, p.cpus, g.Placement.MemoryNode)
			if err != nil {
				return 0, nil, err
			}
			return process.PID, func() { process.Kill(); <-process.Done }, nil
		})
		return err
	})
	return found, err
}

// Bench returns a bench of the present parties. It keeps them when the stage gets others.
func (g *Stage) Bench(slicing modulation.Slicing) *modulation.Bench {
	return &modulation.Bench{Clock: monotonic.Clock{}, Random: g.Random, Parties: slices.Clone(g.Parties[:]), Slicing: slicing}
}

// Probe tells the placement regime. Everything is idle meanwhile.
func (g *Stage) Probe(ctx context.Context) (regime.Tag, error) {
	if err := g.Opposite.interferers.apply(idling); err != nil {
		return regime.Tag{}, err
	}
	return g.Tag(ctx)
}

// Run carries out a plan on the thread that switches. The error wraps ErrApart where
// a program was not paused as a whole.
func (g *Stage) Run(ctx context.Context, plan *modulation.Plan) error {
	if err := g.Control(ctx, func() error { return plan.Run(ctx) }); err != nil {
		return err
	}
	for _, party := range plan.Bench.Parties {
		// A process may have left the group since the start.
		if p, ok := party.(*Program); ok && p.process != nil {
			if err := p.together(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Again starts the parties anew that have ended.
func (g *Stage) Again(ctx context.Context) (err error) {
	for _, party := range g.Parties {
		if p, ok := party.(interface{ Again(context.Context) error }); ok {
			err = errors.Join(err, p.Again(ctx))
		}
	}
	return err
}

// Control calls f on a thread of its own that is kept off the application's CPUs,
// and leaves the interferers idle.
func (g *Stage) Control(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() {
		// The thread ends with the goroutine, and its priority with it.
		runtime.LockOSThread()
		if err := topology.Confine(0, g.controlCPUs()); err != nil {
			done <- err
			return
		}
		// Without the permission the switches come later when others compete.
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), controlNice)
		err := f()
		done <- errors.Join(err, g.Opposite.interferers.apply(idling), g.interferers.apply(idling))
	}()
	err := <-done
	if ended := g.ended(ctx); ended != nil {
		return ended
	}
	return err
}

// spinning keeps CPUs busy without memory traffic, and idling leaves them alone.
var (
	spinning = pressure.SettingsOf(interferer.Setting{Mode: interferer.Spin})
	idling   = pressure.SettingsOf(interferer.Setting{Mode: interferer.Idle})
)

// controlNice is the priority of the thread that switches.
const controlNice = -19

// controlCPUs are those of the thread that switches: CPUs that neither the
// application nor an interferer uses, otherwise the interferer's, which it takes
// for some microseconds in each slice.
func (g *Stage) controlCPUs() cpuset.CPUSet {
	if free := g.UnusedCPUs(); !free.IsEmpty() {
		return free
	}
	return g.InterfererCPUs()
}
