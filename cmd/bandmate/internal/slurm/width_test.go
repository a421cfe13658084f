package slurm

import (
	"io"
	"math"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/slurm/watch"
)

// What the commands print fits 80 columns, also where they measure.
func TestWrittenSlurmFits(t *testing.T) {
	long := clitest.Long
	clitest.WantWritten(t, map[string]func(io.Writer) error{
		"slurm watch status": func(w io.Writer) error {
			return statusText(watch.Status{Running: true, Process: math.MaxInt32, Mode: watch.Mode(long), Cluster: long, Error: long, FailedRounds: 9})(w)
		},
	})
}
