// Package ticks counts the progress of running programs.
//
// A tick is a unit of work: an instruction, a call of a function, a byte read, or
// anything that the program counts itself. The count only rises. Its rate beside a
// neighbor, divided by its rate alone, is the performance of the program beside that
// neighbor, and can be measured within milliseconds.
//
// A [Source] says what is counted. [Source.Prepare] makes a [Run] before each
// start of the program, and [Run.Open] opens the [Counter] right after it:
//
//	run, err := source.Prepare()
//	…                                  // start the program with run.Env and run.Output
//	counter, err := run.Open(pid)
//	n, err := counter.Read()
//
// No source puts a thread on the CPU of the program. Some sources cost the program time
// on each tick; their documentation says how much.
package ticks

import (
	"errors"
	"io"
)

var (
	// ErrEnded is wrapped when the program has ended.
	ErrEnded = errors.New("the program has ended")
	// ErrWentBack is wrapped when a count fell.
	ErrWentBack = errors.New("the count went back")
	// ErrLost is wrapped when a count cannot be read any more.
	ErrLost = errors.New("the count cannot be read any more")
	// ErrUnavailable is wrapped when a source cannot count here, or not this
	// program. The message says why and what would help.
	ErrUnavailable = errors.New("cannot be counted")
)

// Counter is the count of one run of a program. Its methods must not be called
// concurrently.
type Counter interface {
	// Read returns the count, in ticks since some moment before Open. It takes
	// at most some microseconds. The count never falls.
	//
	// After the end of the program Read returns the last count with an error that
	// wraps [ErrEnded]. Other errors wrap [ErrWentBack] or [ErrLost].
	Read() (float64, error)
	// Close ends the counting. The program continues.
	Close() error
}

// Source says how the work of a program is counted.
type Source interface {
	// Name names the source in profiles and messages: "instructions", "page",
	// "function libz.so.1:deflate", "output ^step".
	Name() string
	// Prepare is called before each start of the program, or before Open for a
	// program that runs already. The error wraps [ErrUnavailable] when the source
	// cannot count on this machine.
	Prepare() (*Run, error)
}

// Run is the counting of one run of a program.
type Run struct {
	// Env is added to the environment of the program, as NAME=VALUE. A program
	// that needs it cannot be counted when it runs already.
	Env []string
	// Output, unless nil, receives the standard output and the standard error of
	// the program, which then cannot be counted when it runs already.
	Output io.Writer
	// Open is called once, right after the start, with the first process of the
	// program. The whole tree of processes counts, as far as the source can see
	// it. The error wraps [ErrEnded], or [ErrUnavailable].
	Open func(pid int) (Counter, error)
	// Found reports whether the program has found what it counts into, so that it will
	// count, however long its work takes to begin. pid is its first process. Nil where
	// that cannot be told.
	Found func(pid int) bool
	// Unchanged returns why the count of a program with this command line never
	// changed, and what would help; nil when there is no more to say than that.
	Unchanged func(command string) error
	// Close releases what Prepare made, after the counter is closed. It may be
	// called twice.
	Close func() error
}

// NeedsStart reports whether the program has to be started with what r holds.
func (r *Run) NeedsStart() bool { return len(r.Env) > 0 || r.Output != nil }
