package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"
)

// An interruption hides no error of what could not be undone, and stays short where there
// is none.
func TestDescribeInterruption(t *testing.T) {
	paused := errors.New("process 7 is still paused: kill -CONT 7")
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"alone":         {context.Canceled, "interrupted"},
		"wrapped":       {fmt.Errorf("measuring triad: %w", context.Canceled), "interrupted"},
		"one sentence":  {fmt.Errorf("%w: %w", ErrNotMeasurable, context.Canceled), "interrupted"},
		"twice":         {errors.Join(context.Canceled, fmt.Errorf("ending: %w", context.Canceled)), "interrupted"},
		"joined":        {errors.Join(fmt.Errorf("observing: %w", context.Canceled), paused), "interrupted\n  " + paused.Error()},
		"joined within": {fmt.Errorf("observing: %w", errors.Join(context.Canceled, paused)), "interrupted\n  " + paused.Error()},
	} {
		a := &App{Env: func(string) string { return "" }}
		if got := a.Describe(&cobra.Command{}, test.err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if code := ExitCode(test.err); name == "joined" && code != ExitInterrupted {
			t.Errorf("%s: exit code %d, want %d", name, code, ExitInterrupted)
		}
	}
}
