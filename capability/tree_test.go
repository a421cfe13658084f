package capability_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/capability"
)

// On the machine of the paper, with its 64 cores: the tree that equation 1 gives
// beats those that are usually taken, over tiles and over single cores, in every
// kind of memory.
func TestOptimalTreeBeatsOthersOnKNL(t *testing.T) {
	for _, memory := range []string{"DRAM", "MCDRAM", "cache"} {
		p, err := capability.NewParameters(knl(t), memory)
		if err != nil {
			t.Fatal(err)
		}
		for _, p.CoresPerTile = range []int{1, 2} {
			for _, op := range []capability.Operation{capability.Broadcast, capability.Reduce} {
				best := newTree(t, p, op, 64, capability.Optimal)
				for _, shape := range capability.Shapes()[1:] {
					if other := newTree(t, p, op, 64, shape); best.Cost >= other.Cost {
						t.Errorf("%s, %d cores a tile, %s: %v, %s tree %v", memory, p.CoresPerTile, op, best.Cost, shape, other.Cost)
					}
				}
			}
		}
	}
}

func newTree(t interface {
	Helper()
	Fatal(...any)
}, p capability.Parameters, op capability.Operation, n int, shape capability.Shape,
) capability.Tree {
	t.Helper()
	tree, err := capability.NewTree(p, op, n, shape)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// The costs by hand, from Table I and DRAM's latency: R_I 140, R_L 3.8,
// T_C(k) = 200 + 34·k, R_R 119.
func TestTreeCost(t *testing.T) {
	p := knlParameters(t)
	level := func(k float64) float64 { return 140 + 3.8 + 200 + 34*k + 140 + 119*k }
	tile := 140 + 3.8 + 34 + 140 + 34.0
	tests := []struct {
		threads int
		shape   capability.Shape
		op      capability.Operation
		want    float64
	}{
		{1, capability.Optimal, capability.Broadcast, 0},
		{2, capability.Optimal, capability.Broadcast, tile},
		{2, capability.Optimal, capability.Reduce, tile + 3.8},
		{4, capability.Optimal, capability.Broadcast, level(1) + tile},
		{64, capability.Flat, capability.Broadcast, level(31) + tile},
		{64, capability.Flat, capability.Reduce, level(31) + 31*3.8 + tile + 3.8},
		// 32 tiles: 31 below the root are 16 and 15; 15 are 8 and 7; 7; 3; 1.
		{64, capability.Binary, capability.Broadcast, 4*level(2) + level(1) + tile},
		// A binomial tree of 2^5 nodes: the root has 5 children, the first of them 4 …
		{64, capability.Binomial, capability.Broadcast, level(5) + level(4) + level(3) + level(2) + level(1) + tile},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d/%s/%s", tt.threads, tt.shape, tt.op), func(t *testing.T) {
			if got := newTree(t, p, tt.op, tt.threads, tt.shape).Cost; math.Abs(float64(got)-tt.want) > 1e-6 {
				t.Errorf("got %v, want %v", float64(got), tt.want)
			}
		})
	}
}

// Every tree of up to seven nodes is tried, whatever its shape: node i hangs
// below any of the nodes before it.
func TestOptimalTreeIsExhaustivelyBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cost := func(name string) capability.Cost { return capability.Cost(rapid.Float64Range(0, 500).Draw(t, name)) }
		p := capability.Parameters{
			Local: cost("local"), Remote: cost("remote"), Memory: cost("memory"), CoresPerTile: 1,
			Contention: &capability.Line{Base: cost("base"), Each: cost("each")},
		}
		n := rapid.IntRange(1, 7).Draw(t, "threads")
		checkExhaustively(t, p, capability.Broadcast, n)
	})
}

// The same with KNL's costs, up to eight tiles, in every kind of memory.
func TestOptimalTreeIsExhaustivelyBestOnKNL(t *testing.T) {
	for _, memory := range []string{"DRAM", "MCDRAM", "cache"} {
		p, err := capability.NewParameters(knl(t), memory)
		if err != nil {
			t.Fatal(err)
		}
		p.CoresPerTile = 1
		for n := 1; n <= 8; n++ {
			checkExhaustively(t, p, capability.Broadcast, n)
			checkExhaustively(t, p, capability.Reduce, n)
		}
	}
}

func checkExhaustively(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, p capability.Parameters, op capability.Operation, n int,
) {
	t.Helper()
	best := newTree(t, p, op, n, capability.Optimal).Cost
	least := capability.Cost(math.Inf(1))
	parents := make([]int, n)
	var place func(i int)
	place = func(i int) {
		if i == n {
			least = min(least, costByParents(p, op, parents))
			return
		}
		for parents[i] = range i {
			place(i + 1)
		}
	}
	place(min(1, n))
	if math.Abs(float64(best-least)) > 1e-9*float64(least) {
		t.Fatalf("%s tree of %d costs %v, the best of all %v", op, n, best, least)
	}
}

// costByParents is equation 1 for any tree.
func costByParents(p capability.Parameters, op capability.Operation, parents []int) capability.Cost {
	children, below := make([]int, len(parents)), make([]capability.Cost, len(parents))
	for i, parent := range slices.Backward(parents) {
		var cost capability.Cost
		if k := children[i]; k > 0 {
			cost = 2*p.Memory + p.Local + p.Contention.At(k) + capability.Cost(k)*p.Remote + below[i]
			if op == capability.Reduce {
				cost += capability.Cost(k) * p.Local
			}
		}
		if i > 0 {
			children[parent]++
			below[parent] = max(below[parent], cost)
		}
		if i == 0 {
			return cost
		}
	}
	return 0
}

// Whatever the shape, every thread is in the tree once, the root first, tiles
// are filled, and the optimal one is never dearer than another.
func TestTreeHoldsEveryThread(t *testing.T) {
	p := knlParameters(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "threads")
		p.CoresPerTile = rapid.IntRange(1, 5).Draw(t, "cores per tile")
		best := newTree(t, p, capability.Reduce, n, capability.Optimal)
		for _, shape := range capability.Shapes() {
			tree := newTree(t, p, capability.Reduce, n, shape)
			var threads []int
			var visit func(*capability.Node)
			visit = func(node *capability.Node) {
				if len(node.Threads) == 0 || len(node.Threads) > p.CoresPerTile {
					t.Fatalf("%s: a tile with threads %v", shape, node.Threads)
				}
				threads = append(threads, node.Threads...)
				for _, child := range node.Children {
					visit(child)
				}
			}
			visit(tree.Root)
			slices.Sort(threads)
			if len(threads) != n || threads[n-1] != n-1 || len(slices.Compact(threads)) != n || tree.Root.Threads[0] != 0 {
				t.Fatalf("%s: threads %v", shape, threads)
			}
			if best.Cost > tree.Cost+1e-6 {
				t.Fatalf("%s costs %v, the optimal tree %v", shape, tree.Cost, best.Cost)
			}
		}
	})
}

func TestTreeDepth(t *testing.T) {
	p := knlParameters(t)
	for shape, want := range map[capability.Shape]int{capability.Flat: 1, capability.Binary: 5, capability.Binomial: 5} {
		if got := newTree(t, p, capability.Broadcast, 64, shape).Root.Depth(); got != want {
			t.Errorf("%s: depth %d, want %d", shape, got, want)
		}
	}
}

func TestNewTreeRefuses(t *testing.T) {
	p := knlParameters(t)
	tests := []struct {
		op      capability.Operation
		threads int
		shape   capability.Shape
		p       capability.Parameters
		want    string
	}{
		{capability.Broadcast, 0, capability.Optimal, p, "0 threads: want 1 to 4096"},
		{capability.Broadcast, 4097, capability.Optimal, p, "4097 threads"},
		{"scan", 4, capability.Optimal, p, `operation "scan": want broadcast or reduce`},
		{capability.Reduce, 4, "star", p, `shape "star": want one of`},
		{capability.Reduce, 4, capability.Flat, capability.Parameters{}, "0 cores per tile"},
		{capability.Reduce, 4, capability.Flat, capability.Parameters{CoresPerTile: 1}, "contention of threads that read one line"},
	}
	for _, tt := range tests {
		if _, err := capability.NewTree(tt.p, tt.op, tt.threads, tt.shape); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func BenchmarkTreeOf4096(b *testing.B) {
	p := capability.Parameters{Local: 4, Remote: 119, Memory: 140, CoresPerTile: 1, Contention: &capability.Line{Base: 200, Each: 34}}
	for b.Loop() {
		if _, err := capability.NewTree(p, capability.Broadcast, capability.MaxThreads, capability.Optimal); err != nil {
			b.Fatal(err)
		}
	}
}
