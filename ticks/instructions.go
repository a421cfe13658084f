package ticks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
)

// Instructions counts the instructions that all threads and processes of the
// program retire in user mode. It costs the program nothing to speak of. A thread
// that waits by spinning retires instructions as well, without doing work.
type Instructions struct {
	// Opener opens the events; nil for those of this machine.
	Opener perf.Opener
}

var _ Source = Instructions{}

// Name returns "instructions".
func (Instructions) Name() string { return "instructions" }

// hardwareInstructions are numbers of <linux/perf_event.h>.
var hardwareInstructions = perf.Event{
	Label: "instructions", Type: unix.PERF_TYPE_HARDWARE, Code: sysfs.Code{unix.PERF_COUNT_HW_INSTRUCTIONS}, UserOnly: true,
}

func (s Instructions) opener() perf.Opener {
	if s.Opener == nil {
		return perf.Kernel{}
	}
	return s.Opener
}

// Prepare counts the instructions of a loop, to know that they can be counted.
func (s Instructions) Prepare() (*Run, error) {
	if err := s.try(); err != nil {
		return nil, fmt.Errorf("instructions: %w: %w", ErrUnavailable, err)
	}
	return &Run{
		Open: func(pid int) (Counter, error) {
			return newCounter(s.Name(), pid, func() (reader, error) { return openThreads(s.opener(), pid, hardwareInstructions) })
		},
		Close: func() error { return nil },
	}, nil
}

// try counts the calling thread.
func (s Instructions) try() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	group, err := s.opener().OpenThread(unix.Gettid(), hardwareInstructions)
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("no permission to count a program; sudo sysctl kernel.perf_event_paranoid=2, or add the capability PERFMON (%w)", err)
	case errors.Is(err, syscall.ENOSYS):
		return fmt.Errorf("the kernel or a sandbox offers no perf events (%w)", err)
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("the processor's counters are not there; many virtual machines do not pass them on (%w)", err)
	case err != nil:
		return err
	}
	defer func() { _ = group.Close() }()
	if err := refuseHybrid(os.DirFS("/sys")); err != nil {
		return err
	}
	for spent := range 1 << 16 {
		runtime.KeepAlive(spent)
	}
	var counted perf.CounterSample
	if err := group.Read(&counted); err != nil {
		return err
	}
	if len(counted.Values) == 0 || counted.Values[0] == 0 {
		return errors.New("the counter opens and counts nothing: another tool keeps the processor's counters, or the virtual machine only pretends to have them")
	}
	return nil
}

// refuseHybrid returns an error on a machine whose cores differ in kind: its events of
// PERF_TYPE_HARDWARE count on one kind only, and a program may run on both. sys is the
// root of sysfs, where each kind has a device of perf events.
func refuseHybrid(sys fs.FS) error {
	for _, kind := range []string{"cpu_core", "cpu_atom"} {
		if _, err := fs.Stat(sys, "bus/event_source/devices/"+kind); err != nil {
			return nil //nolint:nilerr // that kind is not there
		}
	}
	return errors.New("the processor has cores of two kinds (cpu_core and cpu_atom), which count instructions apart; that is not supported")
}

// threads counts one event in all threads of a program.
type threads struct {
	tree     *tasks.Tree
	counters *tasks.Counters
	last     float64
}

// openThreads counts from now on. The threads and processes that the program
// starts later inherit the event.
func openThreads(opener perf.Opener, pid int, event perf.Event) (reader, error) {
	tree, err := tasks.OpenTree(os.DirFS("/proc"), pid)
	if err != nil {
		return nil, err
	}
	t := &threads{tree: tree, counters: tasks.NewCounters(opener, tasks.Event{Event: event})}
	_, err = t.counters.AddProcesses(tree)
	if err == nil {
		_, err = t.read()
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// fullyCounted is the share of the time in which an event has to be counted. A
// count that is extrapolated from less is not one of the slice it was read for.
const fullyCounted = 0.95

func (t *threads) read() (float64, error) {
	counts, err := t.counters.Counts()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLost, err)
	}
	c := counts[0]
	if c.Err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, c.Err)
	}
	if c.RunningShare < fullyCounted {
		return 0, fmt.Errorf("%w: other tools use the counter, too: it counted %.0f%% of the time", ErrLost, 100*c.RunningShare)
	}
	t.last = max(t.last, c.Value) // extrapolating may fall short of the last count
	return t.last, nil
}

func (t *threads) close() error { return errors.Join(t.counters.Close(), t.tree.Close()) }
