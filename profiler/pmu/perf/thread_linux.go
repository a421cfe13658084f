package perf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	goperf "github.com/elastic/go-perf"
	perfutils "github.com/hodgesds/perf-utils"
	"golang.org/x/sys/unix"
)

// anyCPU follows a thread wherever it runs.
const anyCPU = -1

// OpenThread uses perf-utils, whose profilers inherit. They always count the
// kernel's part too, so an event of user space alone is opened like the others
// of this package.
func (Kernel) OpenThread(thread int, e Event) (Group, error) {
	if e.UserOnly {
		return openUserThread(thread, e)
	}
	p, err := perfutils.NewProfiler(e.Type, e.Code[0], thread, anyCPU, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("%s of thread %d: %w", e.Label, thread, systemError(err))
	}
	if err := p.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s of thread %d: %w", e.Label, thread, err), p.Close())
	}
	return &threadCounter{profiler: p, label: e.Label}, nil
}

// threadCounter is an event of a thread and what it starts.
type threadCounter struct {
	profiler perfutils.Profiler
	label    string
	value    perfutils.ProfileValue
}

// Read reads the thread's count with those of everything it started.
func (c *threadCounter) Read(r *Reading) error {
	if err := c.profiler.Profile(&c.value); err != nil {
		return fmt.Errorf("%w: reading %s: %w", ErrVanished, c.label, err)
	}
	r.Values = append(r.Values[:0], c.value.Value)
	r.Enabled, r.Running = time.Duration(c.value.TimeEnabled), time.Duration(c.value.TimeRunning)
	return nil
}

// Close closes the one descriptor.
func (c *threadCounter) Close() error {
	if err := c.profiler.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", c.label, err)
	}
	return nil
}

func openUserThread(thread int, e Event) (Group, error) {
	opened, err := goperf.Open(&goperf.Attr{
		Label: e.Label, Type: goperf.EventType(e.Type),
		Config: e.Code[0], Config1: e.Code[1], Config2: e.Code[2],
		CountFormat: goperf.CountFormat{Enabled: true, Running: true},
		Options:     goperf.Options{Inherit: true, ExcludeKernel: true, ExcludeHypervisor: true},
	}, thread, goperf.AnyCPU, nil)
	if err != nil {
		return nil, fmt.Errorf("%s of thread %d: %w", e.Label, thread, err)
	}
	return single(opened, e.Label)
}

// single is the group of one event that is not read as a group.
func single(opened *goperf.Event, label string) (Group, error) {
	g := &kernelGroup{events: []*goperf.Event{opened}, label: label, buffer: make([]byte, 3*wordBytes)}
	var err error
	if g.fd, err = opened.FD(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", label, err), g.Close())
	}
	return g, nil
}

// systemError finds the system's error in one of perf-utils, which keeps its
// text only, quoted at the end.
func systemError(err error) error {
	for _, number := range []syscall.Errno{
		unix.EACCES, unix.EPERM, unix.ENOENT, unix.ENODEV, unix.EOPNOTSUPP, unix.EINVAL,
		unix.ESRCH, unix.ENOSYS, unix.EMFILE, unix.ENFILE, unix.EBUSY,
	} {
		if strings.HasSuffix(err.Error(), strconv.Quote(number.Error())) {
			return number
		}
	}
	return err
}
