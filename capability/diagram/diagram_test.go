package diagram_test

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/capability/diagram"
	"bandmate.dev/bandmate/capability/reference"
	"bandmate.dev/bandmate/internal/drawing/drawingtest"
)

func parameters(t *testing.T) capability.Parameters {
	t.Helper()
	m, ok, err := reference.Machine("knl-7210-quadrant")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	p, err := capability.NewParameters(m, "cache")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tree(t *testing.T, threads int) capability.Tree {
	t.Helper()
	drawn, err := capability.NewTree(parameters(t), capability.Reduce, threads, capability.Optimal)
	if err != nil {
		t.Fatal(err)
	}
	return drawn
}

func barrier(t *testing.T, threads int) capability.Barrier {
	t.Helper()
	b, err := capability.NewBarrier(parameters(t), threads)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldens(t *testing.T) {
	drawnTree, err := diagram.Tree(tree(t, 12))
	if err != nil {
		t.Fatal(err)
	}
	drawnBarrier, err := diagram.Barrier(barrier(t, 5))
	if err != nil {
		t.Fatal(err)
	}
	drawingtest.Want(t, "testdata/tree.svg", drawnTree)
	drawingtest.Want(t, "testdata/barrier.svg", drawnBarrier)
}

// Whatever the size, a picture is well-formed and holds every tile, every edge
// and every signal.
func TestPicturesAreWhole(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 64, 65, diagram.MaxThreads} {
		svg, err := diagram.Tree(tree(t, threads))
		if err != nil {
			t.Fatal(err)
		}
		tiles := (threads + 1) / 2
		wantElements(t, svg, map[string]int{"path": 2*tiles + tiles - 1})
		b := barrier(t, threads)
		if svg, err = diagram.Barrier(b); err != nil {
			t.Fatal(err)
		}
		signals := 0
		for round := range b.Rounds {
			signals += threads * len(b.Signals(0, round))
		}
		wantElements(t, svg, map[string]int{"path": signals, "text": threads + b.Rounds + 1})
	}
}

func wantElements(t *testing.T, svg []byte, want map[string]int) {
	t.Helper()
	got := drawingtest.Elements(t, svg)
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%d × %s, want %d", got[name], name, n)
		}
	}
}

func TestTooManyThreads(t *testing.T) {
	_, err := diagram.Tree(tree(t, diagram.MaxThreads+1))
	_, barrierErr := diagram.Barrier(barrier(t, diagram.MaxThreads+1))
	for _, err := range []error{err, barrierErr} {
		if err == nil || !strings.Contains(err.Error(), "513 threads: want at most 512") {
			t.Error(err)
		}
	}
}
