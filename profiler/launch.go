package profiler

import (
	"context"
	"errors"
	"slices"
)

// LaunchHook prepares the calling thread for starting a command, so that what
// it starts can be told apart. The returned function undoes that for the thread,
// not for what it started.
type LaunchHook func() (release func() error, err error)

type launchHookKey struct{}

// WithLaunchHook returns a context for running a workload, in which whoever
// starts the command calls hook first, on the thread that starts it. Hooks of
// ctx are called before it.
func WithLaunchHook(ctx context.Context, hook LaunchHook) context.Context {
	hooks, _ := ctx.Value(launchHookKey{}).([]LaunchHook)
	return context.WithValue(ctx, launchHookKey{}, append(slices.Clip(hooks), hook))
}

// BeforeLaunch calls the hooks of ctx; without any it does nothing. Whoever
// starts a command calls it right before on the same locked thread, and release
// when the command has started or failed to. When a hook fails, the earlier ones
// are undone.
func BeforeLaunch(ctx context.Context) (release func() error, err error) {
	hooks, _ := ctx.Value(launchHookKey{}).([]LaunchHook)
	var undo []func() error
	release = func() error {
		var faults []error
		for _, u := range slices.Backward(undo) {
			faults = append(faults, u())
		}
		undo = nil
		return errors.Join(faults...)
	}
	for _, hook := range hooks {
		u, err := hook()
		if err != nil {
			return nil, errors.Join(err, release())
		}
		undo = append(undo, u)
	}
	return release, nil
}
