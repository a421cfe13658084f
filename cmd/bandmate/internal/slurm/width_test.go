package slurm

import (
	"io"
	"math"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/slurm/watch"
)

// What the commands print fits 80 columns, also where they measure.
func TestWrittenSlurmFits(t *testing.T) {
	long := clitest.Long
	clitest.WantWritten(t, map[string]func(io.Writer) error{
		"slurm watch status": func(w io.Writer) error {
			s := watch.Status{Running: true, Process: math.MaxInt32, Mode: watch.Mode(long), Cluster: long, Error: long, FailedRounds: 9}
			if err := statusText(s)(w); err != nil {
				return err
			}
			r := &watch.Round{Time: time.Now(), Seconds: 123.456, Waiting: 100_000, Decided: 100_000, KeptOff: 100_000, Changed: 99_999, Released: 99_999, Failed: 9_999, Later: 9_999}
			s.Round, s.Good, s.NextSeconds = r, r, 86_400
			return statusText(s)(w)
		},
	})
}
