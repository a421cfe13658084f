package pmu

import (
	"testing"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/topology"
)

// TestVisit: a thread goes to the CPUs it may use, where that pays, and is then
// where it was.
func TestVisit(t *testing.T) {
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	first := allowed.List()[0]
	var now unix.CPUSet
	var v visitor
	if err := v.leave(); err != nil {
		t.Errorf("leaving without a visit: %v", err)
	}
	v.visit(first, worthAVisit-1)
	v.visit(-1, worthAVisit)
	if v.locked {
		t.Error("went where it does not pay")
	}
	v.visit(first, worthAVisit)
	if err := unix.SchedGetaffinity(0, &now); err != nil || now.Count() != 1 || !now.IsSet(first) {
		t.Errorf("on %d CPUs, %v; want CPU %d", now.Count(), err, first)
	}
	const noSuchCPU = 1000
	v.visit(noSuchCPU, worthAVisit)
	if err := v.leave(); err != nil {
		t.Error(err)
	}
	if v.locked || v.away {
		t.Errorf("still away: %+v", v)
	}
}
