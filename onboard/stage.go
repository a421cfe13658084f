package onboard

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

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

// stage is where two parties are modulated: one on the application's CPUs, one
// on the interferer's. CPUs whose party does not work spin, so that only the
// memory traffic differs.
type stage struct {
	*Session
	// opposite has an interferer on the application's CPUs.
	opposite *Session
	// parties are the one on the application's CPUs and the one on the
	// interferer's.
	parties [2]modulation.Party
}

// The states of a stage's parties.
const (
	firstAlone  modulation.State = 1
	secondAlone modulation.State = 2
	together    modulation.State = 3
)

// openStage starts what a stage needs beside the session. Close it.
func (s *Session) openStage(ctx context.Context) (*stage, error) {
	opposite := s.another()
	if err := opposite.addInterferer(ctx, s.Placement.Target); err != nil {
		return nil, err
	}
	return &stage{Session: s, opposite: opposite}, nil
}

// program returns a command as a party, on the application's CPUs or on the interferer's.
func (g *stage) program(command launch.Command, source ticks.Source, first bool) *program {
	p := &program{session: g.Session, command: command, source: source, cpus: g.Placement.Target, spinner: g.opposite.interferers, beside: g.interferers}
	if !first {
		p.cpus, p.spinner, p.beside = g.Placement.Interferer, p.beside, p.spinner
	}
	return p
}

func (g *stage) close() error { return g.opposite.interferers.close() }

// bench returns a bench of the present parties. It keeps them when the stage gets others.
func (g *stage) bench(slicing modulation.Slicing) *modulation.Bench {
	return &modulation.Bench{Clock: monotonic.Clock{}, Random: g.Random, Parties: slices.Clone(g.parties[:]), Slicing: slicing}
}

// probe tells the placement regime. Everything is idle meanwhile.
func (g *stage) probe(ctx context.Context) (regime.Tag, error) {
	if err := g.opposite.interferers.apply(idling); err != nil {
		return regime.Tag{}, err
	}
	return g.Tag(ctx)
}

// run carries out a plan on the thread that switches. The error wraps ErrApart where
// a program was not paused as a whole.
func (g *stage) run(ctx context.Context, plan *modulation.Plan) error {
	if err := g.control(ctx, func() error { return plan.Run(ctx) }); err != nil {
		return err
	}
	for _, party := range plan.Bench.Parties {
		// A process may have left the group since the start.
		if p, ok := party.(*program); ok && p.process != nil {
			if err := p.together(); err != nil {
				return err
			}
		}
	}
	return nil
}

// again starts the parties anew that have ended.
func (g *stage) again(ctx context.Context) (err error) {
	for _, party := range g.parties {
		if p, ok := party.(interface{ again(context.Context) error }); ok {
			err = errors.Join(err, p.again(ctx))
		}
	}
	return err
}

// control calls f on a thread of its own that is kept off the application's CPUs,
// and leaves the interferers idle.
func (g *stage) control(ctx context.Context, f func() error) error {
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
		done <- errors.Join(err, g.opposite.interferers.apply(idling), g.interferers.apply(idling))
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
func (g *stage) controlCPUs() cpuset.CPUSet {
	if free := g.unusedCPUs(); !free.IsEmpty() {
		return free
	}
	return g.Placement.Interferer.Union(g.otherCPUs)
}

// stream is a party of interferers, whose work is the bytes they move.
type stream struct {
	interferers interferers
	// does is what they do when they work.
	does pressure.Settings
}

// Switch returns before the threads follow.
func (s *stream) Switch(on bool) error {
	if on {
		return s.interferers.request(s.does)
	}
	return s.interferers.request(spinning)
}

func (s *stream) Read() (float64, time.Duration, error) {
	var bytes uint64
	var at time.Duration
	for _, i := range s.interferers {
		c := i.Counters()
		bytes += c.ReadBytes + c.WriteBytes
		at += c.Time / time.Duration(len(s.interferers))
	}
	return float64(bytes), at, nil
}

func (*stream) Smooth() bool { return true }

// request has the interferers, if any, follow the settings soon.
func (g interferers) request(s pressure.Settings) error {
	var err error
	for n, i := range g {
		to := s.Others
		if n == 0 {
			to = s.First
		}
		err = errors.Join(err, i.Request(to))
	}
	if err != nil {
		return fmt.Errorf("switching the interferer: %w", err)
	}
	return nil
}
