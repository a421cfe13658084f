// Package profiler measures contentiousness: the read and write bandwidth that
// an application, or everything on a machine, causes at the memory controller.
//
// A [Source] implements one way to measure. Sources that read counters watch a
// [Workload] while it runs once. The [Probe] needs no counters: it runs the
// workload beside unpaced streams of memory traffic and infers the traffic from
// how much the streams and the workload slow down. The package starts no traffic
// itself: callers provide a [Runner].
package profiler

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Reasons why a source cannot measure. The command line maps both to the exit code
// for "not measurable here".
var (
	// ErrUnsupported means that the hardware, the kernel or a missing
	// calibration rules the source out.
	ErrUnsupported = errors.New("not supported here")
	// ErrInconclusive means that it is not known whether the source works, or
	// that its result would say nothing.
	ErrInconclusive = errors.New("inconclusive here")
)

// Source is one way to measure contentiousness.
type Source interface {
	// Name is the name that users select and profiles record, such as "probe".
	Name() string
	// Available reports whether the source can measure on this machine. It is
	// cheap: it measures nothing.
	Available(ctx context.Context) Availability
	// Measure runs or watches w and returns its traffic. It returns the error
	// of [Availability.Err] where the source is not usable, an error of w, or
	// that of ctx.
	Measure(ctx context.Context, w Workload) (Summary, error)
}

// State is whether a source works.
type State string

const (
	// Usable means that Measure is expected to succeed.
	Usable State = "usable"
	// Unsupported means that Measure cannot succeed before Remedy is followed.
	Unsupported State = "unsupported"
	// Inconclusive means that it is not known whether Measure succeeds, or that
	// its result would say nothing.
	Inconclusive State = "inconclusive"
)

// Availability is what [Source.Available] found.
type Availability struct {
	State State `json:"state"`
	// Reason says why the state is not usable; empty when it is.
	Reason string `json:"reason,omitempty"`
	// Remedy is the command or setting that would make the source usable; empty
	// when nothing is known to help.
	Remedy string `json:"remedy,omitempty"`
}

// Err returns nil for a usable source, else an error that wraps
// [ErrUnsupported] or [ErrInconclusive] and names reason and remedy. The zero
// Availability is inconclusive.
func (a Availability) Err() error {
	kind := ErrInconclusive
	switch a.State {
	case Usable:
		return nil
	case Unsupported:
		kind = ErrUnsupported
	case Inconclusive:
	}
	reason, remedy := a.Reason, a.Remedy
	if reason == "" {
		reason = "unknown reason"
	}
	if remedy != "" {
		remedy = "; " + remedy
	}
	return fmt.Errorf("%w: %s%s", kind, reason, remedy)
}

// Select returns the source called name or, when name is empty, the first usable
// one. The error gives the reason for each source that was tried and wraps
// [ErrUnsupported] or [ErrInconclusive], but neither for an unknown name.
func Select(ctx context.Context, name string, sources ...Source) (Source, error) {
	var faults []error
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name()
		if name != "" && name != s.Name() {
			continue
		}
		err := s.Available(ctx).Err()
		if err == nil {
			return s, nil
		}
		faults = append(faults, fmt.Errorf("source %s: %w", s.Name(), err))
	}
	if len(faults) == 0 {
		return nil, fmt.Errorf("no source %q: want one of %s", name, strings.Join(names, ", "))
	}
	return nil, errors.Join(faults...)
}
