package cli

import (
	"context"
	"io"
	"os"
)

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

// ReadInput returns at most so many bytes of a file, or of stdin where name is
// StandardInput. It returns as soon as ctx ends, even where a pipe has no writer.
func ReadInput(ctx context.Context, stdin io.Reader, name string, most int64) ([]byte, error) {
	var data []byte
	err := UnlessInterrupted(ctx, func() (err error) {
		in := stdin
		if name != StandardInput {
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			in = file
		}
		data, err = io.ReadAll(io.LimitReader(in, most))
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}
