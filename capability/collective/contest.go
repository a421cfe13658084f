package collective

import (
	"fmt"

	"bandmate.dev/bandmate/capability"
)

// Operation is what threads do together.
type Operation string

// The operations.
const (
	BarrierOperation   Operation = "barrier"
	BroadcastOperation Operation = Operation(capability.Broadcast)
	ReduceOperation    Operation = Operation(capability.Reduce)
)

// Operations lists them.
func Operations() []Operation {
	return []Operation{BarrierOperation, BroadcastOperation, ReduceOperation}
}

// Contestant is one way to do an operation.
type Contestant struct {
	Name string
	// Modeled is its cost by equation 1 or 2; nil where no equation covers it or
	// the machine is not known.
	Modeled *capability.Cost
	// Do does the operation once; every thread calls it, as often as the others.
	Do func(thread int)
}

// Contestants returns the ways to do an operation with so many threads: what the
// model of the machine chooses, first; then what one takes without a model: flat,
// binary and binomial trees, a central counter, package sync. Without a machine
// (nil) the model's choice is left out, and so it is for trees where the machine's
// contention is not known.
func Contestants(op Operation, machine *capability.Parameters, threads int) ([]Contestant, error) {
	if err := checkThreads(threads); err != nil {
		return nil, err
	}
	switch op {
	case BarrierOperation:
		return barrierContest(machine, threads)
	case BroadcastOperation, ReduceOperation:
		return treeContest(op, machine, threads)
	}
	return nil, fmt.Errorf("operation %q: want one of %v", op, Operations())
}

func barrierContest(machine *capability.Parameters, threads int) ([]Contestant, error) {
	var all []Contestant
	add := func(name string, cost *capability.Cost, b Barrier) {
		all = append(all, Contestant{Name: name, Modeled: cost, Do: b.Wait})
	}
	classic, optimal := capability.Parameters{CoresPerTile: 1}, -1
	if machine != nil {
		best, err := capability.NewBarrier(*machine, threads)
		if err != nil {
			return nil, err
		}
		d, err := NewDissemination(best)
		if err != nil {
			return nil, err
		}
		add(fmt.Sprintf("dissemination, partners: %d (optimal)", best.Partners), &best.Cost, d)
		classic, optimal = *machine, best.Partners
	}
	one, err := capability.BarrierWith(classic, threads, min(1, threads-1))
	if err != nil {
		return nil, err
	}
	if one.Partners != optimal {
		d, err := NewDissemination(one)
		if err != nil {
			return nil, err
		}
		cost := &one.Cost
		if machine == nil {
			cost = nil
		}
		add(fmt.Sprintf("dissemination, partners: %d", one.Partners), cost, d)
	}
	binary, err := shapeOf(capability.Broadcast, capability.Binary, threads)
	if err != nil {
		return nil, err
	}
	gather, err := NewTreeBarrier(binary)
	if err != nil {
		return nil, err
	}
	add("binary tree", nil, gather)
	central, err := NewCentral(threads)
	if err != nil {
		return nil, err
	}
	add("central counter (flat)", nil, central)
	cond, err := NewCond(threads)
	if err != nil {
		return nil, err
	}
	add("sync.Cond", nil, cond)
	return all, nil
}

// shapeOf lays a tree out that needs no costs; its own cost has no meaning.
func shapeOf(op capability.Operation, shape capability.Shape, threads int) (capability.Tree, error) {
	return capability.NewTree(capability.Parameters{CoresPerTile: 1, Contention: &capability.Line{}}, op, threads, shape)
}

func treeContest(op Operation, machine *capability.Parameters, threads int) ([]Contestant, error) {
	var all []Contestant
	known := machine != nil && machine.Contention != nil
	for _, shape := range capability.Shapes() {
		if shape == capability.Optimal && !known {
			continue
		}
		c := Contestant{Name: string(shape) + " tree"}
		t, err := shapeOf(capability.Operation(op), shape, threads)
		if known {
			t, err = capability.NewTree(*machine, capability.Operation(op), threads, shape)
			c.Modeled = &t.Cost
		}
		if err == nil {
			c.Do, err = alongTree(op, t)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	locked, err := withLock(op, threads)
	return append(all, Contestant{Name: "sync.Cond", Do: locked}), err
}

func alongTree(op Operation, t capability.Tree) (func(thread int), error) {
	if op == BroadcastOperation {
		b, err := NewTreeBroadcast(t)
		return func(thread int) { b.Do(thread, Line{1, 2, 3}) }, err
	}
	r, err := NewTreeReduce(t)
	return func(thread int) { r.Do(thread, Line{1, 2, 3}) }, err
}

func withLock(op Operation, threads int) (func(thread int), error) {
	if op == BroadcastOperation {
		b, err := NewLockedBroadcast(threads)
		return func(thread int) { b.Do(thread, Line{1, 2, 3}) }, err
	}
	r, err := NewLockedReduce(threads)
	return func(thread int) { r.Do(thread, Line{1, 2, 3}) }, err
}
