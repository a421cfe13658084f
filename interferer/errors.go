package interferer

import (
	"errors"
	"io/fs"

	"bandmate.dev/bandmate/internal/memory"
)

// Reasons for which an interferer does not start, or ends before it is closed.
// The errors that wrap them say more.
var (
	// ErrMemory says that there is not enough memory for the buffers.
	ErrMemory = errors.New("not enough memory for the interferer")
	// ErrCPU says that a CPU is not, or no longer, available.
	ErrCPU = errors.New("CPU not available to the interferer")
	// ErrEveryCPU says that none would be left to the target.
	ErrEveryCPU = errors.New("no CPU is left to the target")
	// ErrNode says that the memory of a NUMA node is not available.
	ErrNode = memory.ErrNode
	// ErrMaxDuration says that the interferer ended because it had lived for
	// Options.MaxDuration.
	ErrMaxDuration = errors.New("maximum duration of the interferer reached")
	// ErrClosed says that the interferer was closed, or that the context of
	// Start ended.
	ErrClosed = errors.New("interferer is closed")
)

// errOrphaned ends a child whose parent is gone.
var errOrphaned = errors.New("parent process is gone")

// reason is a sentinel that crosses from the child to the parent by its name.
type reason struct {
	name string
	err  error
}

// reasons lists them; of several, the first counts.
func reasons() []reason {
	return []reason{{"memory", ErrMemory}, {"cpu", ErrCPU}, {"everyCPU", ErrEveryCPU}, {"node", ErrNode}, {"maxDuration", ErrMaxDuration}, {"permission", fs.ErrPermission}}
}

// faultOf is the report of an error.
func faultOf(err error) report {
	r := report{Fault: err.Error()}
	for _, reason := range reasons() {
		if errors.Is(err, reason.err) {
			r.Reason = reason.name
			break
		}
	}
	return r
}

// fault returns the error in r; nil without one.
func (r report) fault() error {
	if r.Fault == "" {
		return nil
	}
	for _, reason := range reasons() {
		if reason.name == r.Reason {
			// The text includes the reason already.
			return &reportedFault{text: r.Fault, reason: reason.err}
		}
	}
	return errors.New(r.Fault)
}

// reportedFault is an error of the child.
type reportedFault struct {
	text   string
	reason error
}

func (f *reportedFault) Error() string { return f.text }
func (f *reportedFault) Unwrap() error { return f.reason }
