package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/topology"
)

// A bench measures the parties that it was made for, whatever the stage measures meanwhile.
func TestBenchKeepsItsParties(t *testing.T) {
	program, interferer, other := &Stream{}, &Stream{}, &Stream{}
	g := &Stage{Session: &Session{}, Parties: [2]modulation.Party{program, interferer}}
	b := g.Bench(modulation.Slicing{Length: time.Millisecond})
	g.Parties = [2]modulation.Party{other, other}
	if b.Parties[0] != program || b.Parties[1] != interferer {
		t.Error("the bench has the parties of another")
	}
}

// TestControlOfAnotherSession checks that the thread that switches keeps off the CPUs of fewer
// interferers, too.
func TestControlOfAnotherSession(t *testing.T) {
	m := described(t, "intel-2socket-smt")
	p, err := m.Place(topology.Request{})
	if err != nil {
		t.Fatal(err)
	}
	of := (&Session{Machine: m, Placement: p, Allowed: m.Online()}).another()
	of.Placement.Interferer = cpuset.New(p.Interferer.List()[0])
	control := (&Stage{Session: of}).controlCPUs()
	if both := control.Intersection(p.Target.Union(of.Placement.Interferer)); !both.IsEmpty() {
		t.Errorf("it runs on CPUs %s, which are in use", both)
	}
}

// A party that has ended is started again, and one that cannot is left alone.
func TestStageStartsPartiesAgain(t *testing.T) {
	failed := errors.New("it cannot be started")
	p := &restarting{err: failed}
	g := &Stage{Parties: [2]modulation.Party{p, &Stream{}}}
	if err := g.Again(t.Context()); p.starts != 1 || !errors.Is(err, failed) {
		t.Errorf("started %d times, %v; want once, %v", p.starts, err, failed)
	}
	for _, p := range []modulation.Party{&Program{}, &Neighbor{}} {
		if _, ok := p.(interface{ Again(context.Context) error }); !ok {
			t.Errorf("%T is never started again", p)
		}
	}
}

// restarting is a party that counts its starts.
type restarting struct {
	Stream
	starts int
	err    error
}

func (r *restarting) Again(context.Context) error {
	r.starts++
	return r.err
}
