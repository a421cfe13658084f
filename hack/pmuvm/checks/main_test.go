package checks

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case openArgument:
			os.Exit(openAndReport(os.Args[2:]))
		case burnArgument:
			os.Exit(burn(strings.Join(os.Args[2:], "")))
		case burnChildArgument:
			os.Exit(burnChild())
		}
	}
	os.Exit(m.Run())
}

// check is one line of the table. Run returns nil, or what is wrong.
type check struct {
	name string
	run  func() error
}

func TestCounters(t *testing.T) {
	if _, err := os.Stat("/lib/fakepmu.ko"); err != nil {
		t.Skip("runs in a virtual machine only: hack/e2e-pmu-vm.sh")
	}
	for _, c := range slices.Concat(hardwareChecks(), trafficChecks(), faultChecks(), commandChecks(), scopeChecks()) {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExpectation(t *testing.T) {
	want := expectation{nodes: map[int]traffic{0: {1e8, 5e7}}}
	good := func() summary {
		read, write, share := 6.4e9, 3.2e9, 2.0/3
		s := summary{ReadBytesPerSecond: &read, WriteBytesPerSecond: &write, ReadShare: &share}
		s.PerNode = append(s.PerNode, struct {
			Node                                    int
			ReadBytesPerSecond, WriteBytesPerSecond float64
		}{0, read, write})
		return s
	}
	if err := want.of(good()); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*summary){
		"no bandwidth":     func(s *summary) { s.ReadBytesPerSecond = nil },
		"0.2% too much":    func(s *summary) { *s.ReadBytesPerSecond *= 1.002 },
		"wrong on a node":  func(s *summary) { s.PerNode[0].WriteBytesPerSecond *= 2 },
		"another node":     func(s *summary) { s.PerNode[0].Node = 1 },
		"a node missing":   func(s *summary) { s.PerNode = nil },
		"no read share":    func(s *summary) { s.ReadShare = nil },
		"wrong read share": func(s *summary) { *s.ReadShare = 0.6 },
	} {
		s := good()
		spoil(&s)
		if want.of(s) == nil {
			t.Errorf("%s: no fault found", name)
		}
	}
	want.totalOnly = true
	if want.of(good()) == nil {
		t.Error("a read share of a total: no fault found")
	}
	want.totalOnly, want.warning = false, "scale"
	if want.of(good()) == nil {
		t.Error("a warning that was not given: no fault found")
	}
}
