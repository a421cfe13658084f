package ticks

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// process detects the end of a process.
type process struct{ pid, fd int }

// openProcess opens a process. The result never refers to another process, even if the
// number is reused.
func openProcess(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("process %d: %w", pid, ErrEnded)
	case err != nil:
		return nil, fmt.Errorf("process %d: %w: %w", pid, ErrUnavailable, err)
	}
	return &process{pid: pid, fd: fd}, nil
}

// ended takes about a microsecond.
func (p *process) ended() bool {
	fds := [1]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds[:], 0)
	return err == nil && n > 0
}

func (p *process) close() error { return unix.Close(p.fd) }

// reader yields a count of a program. It need not know whether the program has
// ended, nor remember the last count.
type reader interface {
	read() (float64, error)
	close() error
}

// counter makes a Counter of a reader.
type counter struct {
	source  string
	process *process
	reader  reader
	last    float64
}

// newCounter opens the process and then its reader.
func newCounter(source string, pid int, open func() (reader, error)) (Counter, error) {
	p, err := openProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	r, err := open()
	if err != nil {
		if p.ended() {
			err = fmt.Errorf("process %d: %w (%w)", pid, ErrEnded, err)
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", source, err), p.close())
	}
	return &counter{source: source, process: p, reader: r, last: math.Inf(-1)}, nil
}

func (c *counter) Read() (float64, error) {
	ended := c.process.ended() // before the count, which is then the last one
	n, err := c.reader.read()
	switch {
	case ended && (err != nil || n < c.last):
		return max(c.last, 0), fmt.Errorf("%s: process %d: %w", c.source, c.process.pid, ErrEnded)
	case err != nil && c.process.ended():
		return max(c.last, 0), fmt.Errorf("%s: process %d: %w", c.source, c.process.pid, ErrEnded)
	case err != nil:
		return 0, fmt.Errorf("%s: %w", c.source, err)
	case n < c.last:
		return 0, fmt.Errorf("%s: %w, from %v to %v", c.source, ErrWentBack, c.last, n)
	}
	c.last = n
	if ended {
		return n, fmt.Errorf("%s: process %d: %w", c.source, c.process.pid, ErrEnded)
	}
	return n, nil
}

func (c *counter) Close() error {
	if err := errors.Join(c.reader.close(), c.process.close()); err != nil {
		return fmt.Errorf("%s: %w", c.source, err)
	}
	return nil
}
