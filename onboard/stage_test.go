package onboard

import (
	"testing"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/topology"
)

// A bench measures the parties that it was made for, whatever the stage measures meanwhile.
func TestBenchKeepsItsParties(t *testing.T) {
	program, interferer, other := &stream{}, &stream{}, &stream{}
	g := &stage{Session: &Session{}, parties: [2]modulation.Party{program, interferer}}
	b := g.bench(modulation.Slicing{Length: time.Millisecond})
	g.parties = [2]modulation.Party{other, other}
	if b.Parties[0] != program || b.Parties[1] != interferer {
		t.Error("the bench has the parties of another")
	}
}

// An application beside itself is compared once: two comparisons of one name would count the
// same block twice.
// TestControlOfAnotherSession checks that the thread that switches keeps off the CPUs of fewer
// interferers, too.
func TestControlOfAnotherSession(t *testing.T) {
	m := described(t, "intel-2socket-smt")
	p, err := m.Place(topology.Request{})
	if err != nil {
		t.Fatal(err)
	}
	of := (&Session{Machine: m, Placement: p, allowed: m.Online()}).another()
	of.Placement.Interferer = cpuset.New(p.Interferer.List()[0])
	control := (&stage{Session: of}).controlCPUs()
	if both := control.Intersection(p.Target.Union(of.Placement.Interferer)); !both.IsEmpty() {
		t.Errorf("it runs on CPUs %s, which are in use", both)
	}
}

func TestPairPoint(t *testing.T) {
	a, b := Application{Name: "a"}, Application{Name: "b"}
	for _, tt := range []struct {
		second Application
		want   int
	}{{a, 1}, {b, 2}} {
		names := map[string]bool{}
		p := pairPoint(a, tt.second)
		for _, c := range p.Compare {
			names[c.Name] = true
			if c.On >= len(p.States) || c.Off >= len(p.States) {
				t.Errorf("%s: states %d and %d of %d", c.Name, c.On, c.Off, len(p.States))
			}
		}
		if len(names) != tt.want || len(p.Compare) != tt.want {
			t.Errorf("a beside %s: %d comparisons of %d names, want %d", tt.second.Name, len(p.Compare), len(names), tt.want)
		}
	}
}
