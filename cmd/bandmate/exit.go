package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/store"
)

// Exit codes of the command line.
const (
	exitDone          = 0
	exitFailed        = 1
	exitUsage         = 2
	exitNoProfile     = 3
	exitNotMeasurable = 4
	exitLimit         = 5
	// exitInterrupted is the shell's code for a program ended by Ctrl-C.
	exitInterrupted = 130
)

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

var (
	// errNotMeasurable is wrapped where this machine or its permissions stand
	// in the way.
	errNotMeasurable = errors.New("not measurable here")
	// errLimit is wrapped when a limit the caller set is exceeded.
	errLimit = errors.New("limit exceeded")
	// errReported ends a command whose message has been printed already.
	errReported = errors.New("reported")
)

func isSilent(err error) bool { return errors.Is(err, errReported) }

// describe adds the remedy that the failing package of a command cannot know.
func (a *app) describe(cmd *cobra.Command, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, interferer.ErrCPU):
		return err.Error() + "\n  choose CPUs that stay online and allowed, with --cpus and --interferer-cpus; see: bandmate doctor"
	case errors.Is(err, store.ErrNotFound):
		return err.Error() + "\n  see what there is with: bandmate profiles list"
	case errors.As(err, new(usageError)):
		return err.Error() + a.alsoSet() + "\n  see: " + cmd.CommandPath() + " --help"
	}
	return err.Error()
}

// exitCode is the one place that maps errors to exit codes.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.Is(err, store.ErrNotFound):
		return exitNoProfile
	case errors.Is(err, errLimit):
		return exitLimit
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errNotMeasurable), errors.Is(err, onboard.ErrPlacement), errors.Is(err, interferer.ErrCPU), isForbidden(err):
		return exitNotMeasurable
	}
	return exitFailed
}

// isForbidden reports whether this machine refused a system call. A file that
// may not be opened is no matter of the machine.
func isForbidden(err error) bool {
	return errors.Is(err, fs.ErrPermission) && !errors.As(err, new(*fs.PathError))
}
