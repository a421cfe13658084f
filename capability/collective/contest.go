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

// Contestants returns the ways to do an operation with so many threads: first the
// choice of the machine's model, then those that need no model: flat, binary and
// binomial trees, a central counter, package sync. The model's choice is left out
// without a machine (nil), and for trees without the machine's contention.
func Contestants(op Operation, machine *capability.Parameters, threads int) ([]Contestant, error) {
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
	known, optimal := machine != nil, -1
	if !known {
		machine = &capability.Parameters{CoresPerTile: 1}
	}
	one, err := capability.BarrierWith(*machine, threads, min(1, threads-1))
	if err != nil {
		return nil, err
	}
	if known {
		best, err := capability.NewBarrier(*machine, threads)
		if err != nil {
			return nil, err
		}
		optimal = best.Partners
		all = append(all, Contestant{fmt.Sprintf("dissemination, partners: %d (optimal)", optimal), &best.Cost, newDissemination(best).wait})
	}
	if one.Partners != optimal {
		c := Contestant{Name: fmt.Sprintf("dissemination, partners: %d", one.Partners), Do: newDissemination(one).wait}
		if known {
			c.Modeled = &one.Cost
		}
		all = append(all, c)
	}
	binary, err := shapeOf(capability.Broadcast, capability.Binary, threads)
	if err != nil {
		return nil, err
	}
	return append(all,
		Contestant{Name: "binary tree", Do: newTree(binary).wait},
		Contestant{Name: "central counter (flat)", Do: newCentral(threads).wait},
		Contestant{Name: "sync.Cond", Do: newLocked(threads).wait}), nil
}

// shapeOf lays a tree out that needs no costs; its own cost has no meaning.
func shapeOf(op capability.Operation, shape capability.Shape, threads int) (capability.Tree, error) {
	return capability.NewTree(capability.Parameters{CoresPerTile: 1, Contention: &capability.Line{}}, op, threads, shape)
}

func treeContest(op Operation, machine *capability.Parameters, threads int) ([]Contestant, error) {
	var all []Contestant
	known := machine != nil && machine.Contention != nil
	given := line{1, 2, 3}
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
		if err != nil {
			return nil, err
		}
		along := newTree(t)
		c.Do = func(thread int) { along.broadcast(thread, given) }
		if op == ReduceOperation {
			c.Do = func(thread int) { along.reduce(thread, given) }
		}
		all = append(all, c)
	}
	l := newLocked(threads)
	do := func(thread int) { l.broadcast(thread, given) }
	if op == ReduceOperation {
		do = func(thread int) { l.reduce(thread, given) }
	}
	return append(all, Contestant{Name: "sync.Cond", Do: do}), nil
}
