package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/topology"
)

// Exit codes of the command line.
const (
	ExitDone          = 0
	ExitFailed        = 1
	ExitUsage         = 2
	ExitNoProfile     = 3
	ExitNotMeasurable = 4
	ExitLimit         = 5
	// ExitInterrupted is the shell's code for a program ended by Ctrl-C.
	ExitInterrupted = 130
)

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usagef formats a usage error, which ends with exit code 2.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// UsageError makes err a usage error.
func UsageError(err error) error { return usageError{err} }

var (
	// ErrNotMeasurable is wrapped where this machine or its permissions stand
	// in the way.
	ErrNotMeasurable = errors.New("not measurable here")
	// ErrLimit is wrapped when a limit the caller set is exceeded.
	ErrLimit = errors.New("limit exceeded")
	// ErrReported ends a command whose message has been printed already.
	ErrReported = errors.New("reported")
)

// IsSilent reports whether the message of err has been printed already.
func IsSilent(err error) bool { return errors.Is(err, ErrReported) }

// Describe adds the remedy that the failing package of a command cannot know.
func (a *App) Describe(cmd *cobra.Command, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		said := []string{"interrupted"}
		for _, also := range besideInterruption(err) {
			said = append(said, also.Error())
		}
		return strings.Join(said, "\n  ")
	case errors.Is(err, interferer.ErrCPU):
		flags := "--cpus"
		if cmd.Flags().Lookup("interferer-cpus") != nil {
			flags += " and --interferer-cpus"
		}
		return err.Error() + "\n  choose CPUs that stay online and allowed, with " + flags + "; see: bandmate doctor"
	case errors.Is(err, topology.ErrUnreadable):
		return err.Error() + "\n  mount /sys and /proc in this container or sandbox; see: bandmate doctor"
	case errors.Is(err, store.ErrAmbiguous) && cmd.Flags().Lookup("machine") != nil:
		return err.Error() + "\n  choose with --machine"
	case errors.Is(err, store.ErrNotFound):
		return err.Error() + "\n  " + a.describeStore()
	case errors.As(err, new(usageError)):
		return err.Error() + a.alsoSet(cmd) + "\n  see: " + cmd.CommandPath() + " --help"
	}
	return err.Error()
}

// besideInterruption returns the errors that are joined to an interruption: of what a
// command could not undo when it ended, such as a program that is still paused.
func besideInterruption(err error) []error {
	if !errors.Is(err, context.Canceled) {
		return []error{err}
	}
	parts, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if inner := errors.Unwrap(err); inner != nil {
			return besideInterruption(inner)
		}
		return nil
	}
	joined := err.Error() == errors.Join(parts.Unwrap()...).Error() // rather than one sentence
	var all []error
	for _, part := range parts.Unwrap() {
		if joined || errors.Is(part, context.Canceled) {
			all = append(all, besideInterruption(part)...)
		}
	}
	return all
}

// ExitCode is the one place that maps errors to exit codes.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, new(usageError)):
		return ExitUsage
	case errors.Is(err, store.ErrNotFound):
		return ExitNoProfile
	case errors.Is(err, ErrLimit):
		return ExitLimit
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, ErrNotMeasurable), errors.Is(err, topology.ErrUnreadable), errors.Is(err, topology.ErrQuota), errors.Is(err, launch.ErrPlacement),
		errors.Is(err, interferer.ErrCPU), errors.Is(err, interferer.ErrEveryCPU), errors.Is(err, interferer.ErrNode), isForbidden(err):
		return ExitNotMeasurable
	}
	return ExitFailed
}

// isForbidden reports whether this machine refused a system call. A file that
// may not be opened or replaced is no matter of the machine.
func isForbidden(err error) bool {
	return errors.Is(err, fs.ErrPermission) && !errors.As(err, new(*fs.PathError)) && !errors.As(err, new(*os.LinkError))
}
