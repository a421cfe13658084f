package cluster

import (
	"io"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
)

// What the commands print fits 80 columns, also where they measure.
func TestWrittenClusterFits(t *testing.T) {
	long := clitest.Long
	a := clitest.App(nil)
	clitest.WantWritten(t, map[string]func(io.Writer) error{
		"agent": func(w io.Writer) error {
			return writeAgent(a, w, agentStatus{Node: long, Machine: long, MemoryDomain: long, Source: "imc"})
		},
	})
}
