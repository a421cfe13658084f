package profiler

import (
	"context"
	"errors"
	"slices"
)

// LaunchHook prepares the calling thread for starting a command that is counted
// separately. release undoes that for the thread, not for what it started.
type LaunchHook func() (release func() error, err error)

type launchHookKey struct{}

// WithLaunchHook returns a context in which a [Workload] calls hook before it
// starts its command, on the thread that starts it. Hooks of ctx are called
// before hook.
func WithLaunchHook(ctx context.Context, hook LaunchHook) context.Context {
	hooks, _ := ctx.Value(launchHookKey{}).([]LaunchHook)
	return context.WithValue(ctx, launchHookKey{}, append(slices.Clip(hooks), hook))
}

type countedKey struct{}

// WithCounted returns a context in which a [Workload] is counted by what counts
// everything: whoever runs it causes no traffic of their own.
func WithCounted(ctx context.Context) context.Context {
	return context.WithValue(ctx, countedKey{}, true)
}

// IsCounted reports whether ctx is one of [WithCounted].
func IsCounted(ctx context.Context) bool { return ctx.Value(countedKey{}) != nil }

// BeforeLaunch calls the hooks of ctx. It is called on the locked thread that
// starts the command; release is called when the command has started or failed to
// start. When a hook fails, the earlier ones are undone.
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
