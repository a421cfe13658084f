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

// anyCPU follows a thread to whatever CPU it runs on.
const anyCPU = -1

// OpenThread opens an event that counts at once. The profilers of perf-utils
// inherit, as is wanted here, and always count the kernel's part as well; an event
// of user space alone is opened like those of a command.
func (Kernel) OpenThread(thread int, e Event) (Group, error) {
	if e.UserOnly {
		g, err := openInherited(e, thread, goperf.Options{})
		if err != nil {
			return nil, fmt.Errorf("%s of thread %d: %w", e.Label, thread, err)
		}
		return g, nil
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

// threadCounter is an event of a thread and of everything it starts.
type threadCounter struct {
	profiler perfutils.Profiler
	label    string
	value    perfutils.ProfileValue
}

// Read reads the thread's count, which includes those of everything it started.
func (c *threadCounter) Read(r *CounterSample) error {
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

// systemError returns the system's error in one of perf-utils, which keeps only
// its text, quoted at the end.
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
