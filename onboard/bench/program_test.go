package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/internal/testprogram"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
	"bandmate.dev/bandmate/ticks"
)

// fakeTicks is a source whose counters read what count returns.
type fakeTicks struct{ count func() (float64, error) }

func (fakeTicks) Name() string { return "a script" }

func (s fakeTicks) Prepare() (*ticks.Run, error) {
	return &ticks.Run{
		Open:  func(int) (ticks.Counter, error) { return s, nil },
		Close: func() error { return nil },
	}, nil
}

func (s fakeTicks) Read() (float64, error) { return s.count() }
func (fakeTicks) Close() error             { return nil }

// TestProgramThatIsNotPaused has a process of a program leave its process group, before
// its first tick and after.
func TestProgramThatIsNotPaused(t *testing.T) {
	launcher, err := launch.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := launcher.Close(); err != nil {
			t.Error(err)
		}
	})
	folder := t.TempDir()
	variable := "BANDMATE_TEST_APART=" + folder
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	}
	// It counts once the file ready is there.
	started := func(script string) (*Program, error) {
		command := testprogram.Shell(script)
		command.Dir, command.Env = folder, append(os.Environ(), variable)
		n := 0.0
		p := &Program{session: &Session{launcher: launcher}, command: command, Source: fakeTicks{func() (float64, error) {
			if exists("ready") {
				n++
			}
			return n, nil
		}}}
		return p, p.Start(t.Context())
	}
	const apart = "setsid sh -c 'touch apart ready; while :; do sleep 1; done' & wait"

	_, err = started(apart)
	if !errors.Is(err, ErrNoTicks) || !errors.Is(err, ErrApart) || !strings.Contains(err.Error(), "in a process group of its own") {
		t.Errorf("apart before its first tick: %v", err)
	}
	if left := withVariable(variable); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
	for _, name := range []string{"apart", "ready"} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}

	p, err := started("touch ready; while ! [ -e go ]; do sleep 0.01; done; " + apart)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a process that leaves", func() bool { return exists("apart") })
	if err := p.together(); !errors.Is(err, ErrApart) {
		t.Errorf("apart after its first tick: %v", err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if left := withVariable(variable); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// TestUnwatchedProgram has programs whose occupancy cannot be watched: one that has ended by
// then, which is started again, and one for another reason.
func TestUnwatchedProgram(t *testing.T) {
	session := openSession(t)
	other := errors.New("no group is left")
	for _, test := range []struct{ fault, want error }{
		{tasks.ErrEnded, ErrNoTicks},
		{other, other},
	} {
		watched := 0
		p := &Program{
			session: session, command: testprogram.Shell("true"), cpus: session.Placement.Target, spinner: session.interferers, beside: session.interferers,
			Source: fakeTicks{func() (float64, error) { return 1, nil }},
			watch: func(int) (Occupancy, error) {
				watched++
				return (*closedOccupancy)(nil), test.fault
			},
		}
		if err := p.Start(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("%v: %v, want %v", test.fault, err, test.want)
		}
		if again := watched == mostStarts; again != errors.Is(test.fault, tasks.ErrEnded) {
			t.Errorf("%v: started %d times", test.fault, watched)
		}
	}
}

// TestCPUsSpinWhileAProgramStarts has a program whose first tick takes a while: the CPUs of
// the other party are busy until then, and its own once it is paused.
func TestCPUsSpinWhileAProgramStarts(t *testing.T) {
	session := openSession(t)
	g, err := session.OpenStage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	// An idle interferer uses some milliseconds of CPU time in the longest time.
	const least, longest = 50 * time.Millisecond, 15 * time.Second
	used := func(s *Session) time.Duration {
		all, ok := monotonic.ProcessTime(s.interferers[0].PID())
		if !ok {
			t.Fatal("the interferer has ended")
		}
		return all
	}
	before, begin := used(session), time.Now()
	p := g.Program(testprogram.Shell("exec sleep 60"), fakeTicks{func() (float64, error) {
		if used(session)-before > least || time.Since(begin) > longest {
			return 2, nil
		}
		return 1, nil
	}}, true)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if took := time.Since(begin); took > longest {
		t.Errorf("the CPUs of the other party were idle for %v", took)
	}
	begin = time.Now()
	for paused := used(g.Opposite); used(g.Opposite)-paused < least; time.Sleep(time.Millisecond) {
		if time.Since(begin) > longest {
			t.Fatal("the CPUs of a paused program are idle")
		}
	}
}

// closedOccupancy must not be nil when it is closed.
type closedOccupancy struct{ closed bool }

func (*closedOccupancy) Bytes() (float64, bool, error) { return 0, false, nil }

func (o *closedOccupancy) Close() error {
	o.closed = true
	return nil
}

// TestStepsOfAShortTarget has the first run of a target end before its second tick.
func TestStepsOfAShortTarget(t *testing.T) {
	session := openSession(t)
	runs, reads := 0, 0
	p := &Program{
		session: session, command: testprogram.Shell("true"), cpus: session.Placement.Target, spinner: session.interferers, beside: session.interferers,
		Source: fakeTicks{func() (float64, error) {
			if reads++; runs == 0 && reads > 2 {
				runs, reads = 1, 0
				return 1, ticks.ErrEnded
			}
			return float64(reads), nil
		}},
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rate, err := p.StepRate(t.Context()); err != nil || rate == 0 || runs != 1 {
		t.Errorf("%v steps per second after %d ended runs, %v", rate, runs, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}

	p.Source = fakeTicks{func() (float64, error) {
		if reads++; reads%3 == 0 {
			return 1, ticks.ErrEnded
		}
		return float64(reads), nil
	}}
	reads = 0
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.StepRate(t.Context()); !errors.Is(err, ErrNoTicks) || errors.Is(err, modulation.ErrEnded) {
		t.Errorf("a target that always ends at once: %v", err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// slowlyOpened is a count that is not read before the program has ended, in some runs.
type slowlyOpened struct {
	ticks.Page
	missed *int
}

func (s slowlyOpened) Prepare() (*ticks.Run, error) {
	run, err := s.Page.Prepare()
	if err != nil {
		return nil, err
	}
	open := run.Open
	run.Open = func(pid int) (ticks.Counter, error) {
		counter, err := open(pid)
		if *s.missed > 0 {
			*s.missed--
			for ; err == nil; _, err = counter.Read() {
				time.Sleep(time.Millisecond)
			}
			err = nil
		}
		return counter, err
	}
	return run, nil
}

// A busy machine may run all of a short program before its count is read.
func TestRecordAgainWhatWasMissed(t *testing.T) {
	session := openSession(t)
	missed := 2
	p := &Program{
		session: session, Source: slowlyOpened{missed: &missed}, cpus: session.Placement.Target, spinner: session.interferers, beside: session.interferers,
		command: testprogram.Counting(0, 3000),
	}
	r, err := p.record(t.Context())
	if err != nil || missed != 0 || r.steps < FewestTicks {
		t.Errorf("%d steps in %d readings, %d runs still to miss, %v", r.steps, r.reads, missed, err)
	}
	missed = mostStarts
	if r, err := p.record(t.Context()); err != nil || r.steps != 0 {
		t.Errorf("a program that is always missed: %d steps, %v", r.steps, err)
	}
}
