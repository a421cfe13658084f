package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	goperf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// Kernel opens events of the machine this process runs on.
type Kernel struct{}

var _ Opener = Kernel{}

// kernelGroup are the events of a group, its leader first.
type kernelGroup struct {
	events []*goperf.Event
	label  string
	// fd is the leader's, buffer holds exactly one reading of it; grouped tells
	// which of two layouts that has.
	fd      int
	buffer  []byte
	grouped bool
}

// OpenCPU opens all events, or none. The leader starts disabled and starts the
// group when it is whole: followers that start first would have counted more.
// No exclude bit is set, which devices outside the cores refuse.
func (Kernel) OpenCPU(cpu int, events []Event) (Group, error) {
	if len(events) == 0 {
		return nil, errors.New("no event to count")
	}
	g := &kernelGroup{label: events[0].Label, grouped: true, buffer: make([]byte, (3+len(events))*wordBytes)}
	for i, e := range events {
		attr := &goperf.Attr{
			Label: e.Label, Type: goperf.EventType(e.Type),
			Config: e.Code[0], Config1: e.Code[1], Config2: e.Code[2],
			CountFormat: goperf.CountFormat{Enabled: true, Running: true, Group: i == 0},
			Options:     goperf.Options{Disabled: i == 0},
		}
		var leader *goperf.Event
		if i > 0 {
			leader = g.events[0]
		}
		opened, err := goperf.Open(attr, goperf.AllThreads, cpu, leader)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s on CPU %d: %w", e.Label, cpu, err), g.Close())
		}
		g.events = append(g.events, opened)
	}
	err := g.events[0].Enable()
	if err == nil {
		g.fd, err = g.events[0].FD()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s on CPU %d: %w", g.label, cpu, err), g.Close())
	}
	return g, nil
}

// OpenCommand opens an event that exec enables.
func (Kernel) OpenCommand(e Event) (Group, error) {
	g, err := openInherited(e, goperf.CallingThread, goperf.Options{Disabled: true, EnableOnExec: true})
	if err != nil {
		return nil, fmt.Errorf("%s of a command: %w", e.Label, err)
	}
	return g, nil
}

// openInherited opens one event of a thread and of everything it starts, on any
// CPU. The kernel does not read inherited events as a group.
func openInherited(e Event, thread int, options goperf.Options) (*kernelGroup, error) {
	options.Inherit, options.ExcludeKernel, options.ExcludeHypervisor = true, e.UserOnly, true
	opened, err := goperf.Open(&goperf.Attr{
		Label: e.Label, Type: goperf.EventType(e.Type),
		Config: e.Code[0], Config1: e.Code[1], Config2: e.Code[2],
		CountFormat: goperf.CountFormat{Enabled: true, Running: true},
		Options:     options,
	}, thread, goperf.AnyCPU, nil)
	if err != nil {
		return nil, err
	}
	g := &kernelGroup{events: []*goperf.Event{opened}, label: e.Label, buffer: make([]byte, 3*wordBytes)}
	if g.fd, err = opened.FD(); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Read asks the leader for the whole group. A group that cannot be scheduled
// any more, as after its driver was unloaded, reads as an empty file.
func (g *kernelGroup) Read(r *CounterSample) error {
	n, err := unix.Read(g.fd, g.buffer)
	if err != nil {
		return fmt.Errorf("%w: reading %s: %w", ErrVanished, g.label, err)
	}
	if err := g.decode(r, g.buffer[:n]); err != nil {
		return fmt.Errorf("reading %s: %w", g.label, err)
	}
	return nil
}

// wordBytes is the size of every number that a read yields.
const wordBytes = 8

// decode reads what perf_event_open(2) describes under "Reading results": for a
// group the number of events, the times, and each count; for a single event the
// count and the times.
func (g *kernelGroup) decode(r *CounterSample, data []byte) error {
	if len(data) != len(g.buffer) {
		return fmt.Errorf("%w: %d bytes instead of %d", ErrVanished, len(data), len(g.buffer))
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(data[i*wordBytes:]) }
	if !g.grouped {
		r.Values = append(r.Values[:0], word(0))
		r.Enabled, r.Running = time.Duration(word(1)), time.Duration(word(2))
		return nil
	}
	if n := word(0); n != uint64(len(g.events)) {
		return fmt.Errorf("%w: %d events instead of %d", ErrVanished, n, len(g.events))
	}
	r.Enabled, r.Running = time.Duration(word(1)), time.Duration(word(2))
	r.Values = r.Values[:0]
	for i := range g.events {
		r.Values = append(r.Values, word(3+i))
	}
	return nil
}

// Close closes followers before their leader: one that survives it would keep
// a hardware counter busy.
func (g *kernelGroup) Close() error {
	var faults []error
	for _, v := range slices.Backward(g.events) {
		if err := v.Close(); err != nil {
			faults = append(faults, fmt.Errorf("closing %s: %w", g.label, err))
		}
	}
	g.events = nil
	return errors.Join(faults...)
}
