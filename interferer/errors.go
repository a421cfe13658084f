package interferer

import "errors"

// Reasons for which an interferer does not start, or ends before it is closed.
// The errors that wrap them say more.
var (
	// ErrMemory says that there is not enough memory for the buffers.
	ErrMemory = errors.New("not enough memory for the interferer")
	// ErrCPU says that a CPU cannot be occupied, or no longer.
	ErrCPU = errors.New("CPU not available to the interferer")
	// ErrMaxDuration says that the interferer ended because it had lived for
	// Options.MaxDuration.
	ErrMaxDuration = errors.New("maximum duration of the interferer reached")
	// ErrClosed says that the interferer was closed, or that the context of
	// Start ended.
	ErrClosed = errors.New("interferer is closed")
)

// errOrphaned ends a child whose parent is gone.
var errOrphaned = errors.New("parent process is gone")

// reasons are the sentinels that cross from the child to the parent, by name.
func reasons() map[string]error {
	return map[string]error{"memory": ErrMemory, "cpu": ErrCPU, "maxDuration": ErrMaxDuration}
}
