package observe

import (
	"io"
	"testing"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
)

// What the command prints fits 80 columns, also where it measures.
func TestWrittenFits(t *testing.T) {
	long := clitest.Long
	a := clitest.App(nil)
	clitest.WantWritten(t, map[string]func(io.Writer) error{
		"observe": func(w io.Writer) error {
			low, high := 101.234, 1234.567
			s := observedSlowdown{Slowdown: 123.456, Low: &low, High: &high, Blocks: 12345}
			r := newResult(observedProgram{PID: 4_194_304, Command: long}, "function "+long, time.Hour)
			r.Beside = []observedNeighbor{{observedProgram{PID: 4_194_304, Command: long}, s, 0.123}}
			r.Control = &s
			return r.write(a)(w)
		},
	})
}
