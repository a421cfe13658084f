package ticks

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	goperf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// breakpoints is how many breakpoints a processor has.
const breakpoints = 4

// breakpoint counts how often an address of a process is reached, by a breakpoint
// of the processor in each of its threads. Unlike a uprobe it is gone at once.
type breakpoint []*goperf.Event

var _ reader = breakpoint{}

// breakAt counts a function in the threads that run now.
func breakAt(pid int, r regions, p place) (reader, error) {
	address, ok := r.address(p.function, p.offset)
	if !ok {
		return nil, fmt.Errorf("%s: %w", p.function.Name(), errNotLoaded)
	}
	if err := countsBreakpoints(); err != nil {
		return nil, err
	}
	var b breakpoint
	for _, thread := range threadsOf(pid) {
		event, err := openBreakpoint(address, thread)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("a breakpoint in thread %d: %w", thread, err), b.close())
		}
		b = append(b, event)
	}
	return b, nil
}

func openBreakpoint(address uint64, thread int) (*goperf.Event, error) {
	return goperf.Open(&goperf.Attr{
		Label: "breakpoint", Type: goperf.BreakpointEvent, BreakpointType: atExecution,
		Config1: address, Config2: wordBytes, Options: goperf.Options{ExcludeKernel: true, ExcludeHypervisor: true},
	}, thread, goperf.AnyCPU, nil)
}

// countsBreakpoints returns why breakpoints do not count on this machine. Some
// hypervisors let a guest set them and never report one: it is tried on a function
// of this program.
var countsBreakpoints = sync.OnceValue(func() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	event, err := openBreakpoint(uint64(reflect.ValueOf(reached).Pointer()), unix.Gettid())
	if err != nil {
		return fmt.Errorf("a breakpoint in this program: %w", err)
	}
	reached()
	n, err := readEvent(event)
	if err = errors.Join(err, event.Close()); err == nil && n != 1 {
		err = fmt.Errorf("%w: the processor counted %v calls instead of one by a breakpoint", ErrUnavailable, n)
	}
	return err
})

// reached is called to be counted.
//
//go:noinline
func reached() {}

const (
	// atExecution is HW_BREAKPOINT_X of the kernel.
	atExecution = 4
	// wordBytes is the length that such breakpoints have.
	wordBytes = 8
)

func (b breakpoint) read() (float64, error) {
	sum := 0.0
	for _, event := range b {
		n, err := readEvent(event)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func (b breakpoint) close() error {
	var faults []error
	for _, event := range b {
		faults = append(faults, event.Close())
	}
	return errors.Join(faults...)
}
