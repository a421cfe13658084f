package cli

import "context"

// StandardInput is the name that stands for standard input.
const StandardInput = "-"

// UnlessInterrupted returns as soon as ctx ends, even where f hangs in a read.
func UnlessInterrupted(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
