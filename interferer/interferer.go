package interferer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/internal/monotonic"
	"bandmate.dev/bandmate/internal/procstat"
	"bandmate.dev/bandmate/topology"
)

const (
	// applyPatience is how long Apply polls the threads before it sleeps between
	// two looks, which the Go runtime extends to a millisecond.
	applyPatience = 200 * time.Microsecond
	// applyTimeout is how long Apply waits for the threads. They need
	// microseconds, unless others keep them from their CPUs. applyLooks is how often it
	// looks at least: a virtual machine may stand still for longer.
	applyTimeout, applyLooks = 30 * time.Second, 1000
	// closeTimeout is how long the child may take to end when it is asked to.
	closeTimeout = 3 * time.Second
)

// Interferer is a child process that makes memory traffic. Its methods may be
// called from several goroutines.
type Interferer struct {
	child    *child
	warnings []string
	clock    clock
	// partBytes is the buffer of each thread.
	partBytes int64
	// timeout is how long Apply waits for the threads.
	timeout time.Duration

	// applying serializes settings; requested is the sequence number of the last.
	applying  sync.Mutex
	requested uint32
	// mapped is held for reading while the page is used, and for writing to
	// unmap it; final replaces the page then.
	mapped sync.RWMutex
	page   *controlPage
	final  Counters

	close func() error
	// forget releases the hold on the context of Start.
	forget func() bool
}

// Start starts an interferer, which is idle until Apply. It occupies its
// memory at once, which takes some 0.3 s per GiB. When ctx ends, the
// interferer is closed. Close must be called in any case.
//
// The interferer is this program again, in another process: see [RunIfChild].
// It ends with this process, however that ends.
//
// Errors are those of Options.Validate, [ErrMemory], [ErrCPU], [ErrEveryCPU], fs.ErrPermission
// where no memory may be bound to a node, and whatever keeps the system from
// starting a process.
func Start(ctx context.Context, o Options) (*Interferer, error) {
	i, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("interferer: %w", err)
	}
	return i, nil
}

func start(ctx context.Context, o Options) (*Interferer, error) {
	if role.Taken() {
		return nil, errors.New("started from an interferer: main has to call interferer.RunIfChild first")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	allowed, err := topology.ProcessCPUs()
	if err != nil {
		return nil, err
	}
	if o.MemoryNode != nil && memory.OnlyNode(os.DirFS("/"), *o.MemoryNode) {
		o.MemoryNode = nil
	}
	available, known := memory.Available(os.DirFS("/sys"), os.DirFS("/proc"), o.MemoryNode)
	if !known {
		available = -1
	}
	o, small := o.fitted(available)
	if err := o.admit(allowed, available); err != nil {
		return nil, err
	}
	clock, err := newClock()
	if err != nil {
		return nil, err
	}
	page, file, err := newControlPage(o.CPUs.Size())
	if err != nil {
		return nil, err
	}
	config := childConfig{
		CPUs:       o.CPUs.List(),
		PartBytes:  o.partBytes(),
		MemoryNode: o.MemoryNode,
		Parent:     os.Getpid(),
		Deadline:   clock.now() + cmp.Or(o.MaxDuration, DefaultMaxDuration),
		RealTime:   o.RealTime,
	}
	child, err := startChild(config, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, page.unmap())
	}
	i := &Interferer{child: child, clock: clock, page: page, partBytes: config.PartBytes, timeout: applyTimeout}
	i.close = sync.OnceValue(i.shutDown)
	i.warnings, err = child.ready(ctx)
	if err != nil {
		child.kill()
		_ = i.close()
		return nil, err
	}
	if small != "" {
		i.warnings = append(i.warnings, small)
	}
	i.forget = context.AfterFunc(ctx, func() { _ = i.close() })
	return i, nil
}

// Apply makes the interferer follow s. It returns when every thread does, after
// some 0.1 ms. Errors are those of Setting.Validate, a read share that this CPU's
// kernels cannot make, and the reason if the interferer has ended.
func (i *Interferer) Apply(s Setting) error {
	if err := i.request(s, true); err != nil {
		return fmt.Errorf("interferer: %w", err)
	}
	return nil
}

// Request makes the interferer follow s and returns at once; the threads follow
// within some 0.1 ms. It is for callers that run on the interferer's own CPUs and
// would keep the threads from them by waiting. Errors are those of Apply.
func (i *Interferer) Request(s Setting) error {
	if err := i.request(s, false); err != nil {
		return fmt.Errorf("interferer: %w", err)
	}
	return nil
}

// request writes a setting into the page. It waits for the threads to follow the
// one before, and, if wait is true, this one.
func (i *Interferer) request(s Setting, wait bool) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if err := s.supported(); err != nil {
		return err
	}
	if s.Footprint > i.partBytes {
		return fmt.Errorf("a footprint of %d bytes for each CPU, and its buffer has %d: %w; free memory, or raise the memory cap", s.Footprint, i.partBytes, ErrMemory)
	}
	i.applying.Lock()
	defer i.applying.Unlock()
	i.mapped.RLock()
	defer i.mapped.RUnlock()
	if i.page == nil {
		return i.endedError()
	}
	if err := i.await(i.requested); err != nil {
		return err
	}
	i.requested = i.page.request(s)
	if !wait {
		return nil
	}
	return i.await(i.requested)
}

// await returns when every thread follows the setting of a sequence number.
func (i *Interferer) await(sequence uint32) error {
	var before time.Duration // the CPU time of the child at the first look that sleeps
	for begin, looks := time.Now(), 0; !i.page.acknowledged(sequence); looks++ {
		waited := time.Since(begin)
		if waited < applyPatience {
			runtime.Gosched()
			continue
		}
		select {
		case <-i.child.ended:
			return i.endedError()
		default:
		}
		used, _ := monotonic.ProcessTime(i.child.pid)
		before = cmp.Or(before, used)
		if waited > i.timeout && looks > applyLooks {
			return fmt.Errorf("the threads did not answer in %v, in which they had %v of CPU time (states: %s): other processes use their CPUs; free the CPUs, or use real-time priority",
				waited.Round(time.Second), (used - before).Round(time.Microsecond), threadStates(i.child.pid))
		}
		time.Sleep(100 * time.Microsecond)
	}
	return nil
}

// threadStates returns the states of a process's threads (proc_pid_stat(5)), such as RSS; R
// is one that runs or waits for a CPU.
func threadStates(pid int) string {
	var states []byte
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is right
	for _, name := range files {
		text, _ := os.ReadFile(name)
		if state := procstat.State(text); state != 0 {
			states = append(states, state)
		}
	}
	return string(states)
}

// endedError is the error of Apply after the end of the interferer.
func (i *Interferer) endedError() error {
	select {
	case <-i.child.ended:
		return cmp.Or(i.child.fault, ErrClosed)
	default:
		return ErrClosed
	}
}

// Counters returns what the interferer has done since its start; after its end
// what it had done by then.
func (i *Interferer) Counters() Counters {
	i.mapped.RLock()
	defer i.mapped.RUnlock()
	if i.page == nil {
		return i.final
	}
	return i.page.counters(i.clock.now())
}

// Warnings returns doubts about this interferer, such as missing huge pages or a
// missing real-time priority.
func (i *Interferer) Warnings() []string { return i.warnings }

// PID returns the process ID of the interferer.
func (i *Interferer) PID() int { return i.child.pid }

// Done returns a channel that is closed when the interferer has ended.
func (i *Interferer) Done() <-chan struct{} { return i.child.ended }

// Err returns nil while the interferer lives, then the reason of its end:
// [ErrClosed], [ErrMaxDuration], [ErrCPU], or that the process was killed.
func (i *Interferer) Err() error {
	select {
	case <-i.child.ended:
		return cmp.Or(i.child.fault, ErrClosed)
	default:
		return nil
	}
}

// Close ends the interferer and waits until its process is gone and its memory
// free. The error is the reason if it had ended before. Further calls return
// the same.
func (i *Interferer) Close() error {
	if i.forget != nil {
		i.forget()
	}
	return i.close()
}

// shutDown is Close, once.
func (i *Interferer) shutDown() error {
	i.child.asked.Store(true)
	i.page.requestStop()
	select {
	case <-i.child.ended:
	case <-time.After(closeTimeout):
		i.child.kill()
		<-i.child.ended
	}
	i.mapped.Lock()
	defer i.mapped.Unlock()
	i.final = i.page.counters(i.clock.now())
	err := i.page.unmap()
	i.page = nil
	if fault := cmp.Or(i.child.fault, err); fault != nil {
		return fmt.Errorf("interferer: %w", fault)
	}
	return nil
}
