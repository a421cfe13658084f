package measure

import (
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

// Every set of loops does to lists what the Go loops do, and nothing around them.
func TestLoopsAgree(t *testing.T) {
	const most = 64
	b, err := newBuffer(4*most*units.LineBytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}()
	for _, set := range available() {
		t.Run(set.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				lines := loopLines * rapid.IntRange(0, most/loopLines).Draw(t, "passes")
				to, from, third := b.lines()[:most], b.lines()[most:2*most], b.lines()[2*most:3*most]
				scale := float64(rapid.IntRange(-9, 9).Draw(t, "scale"))
				kinds := map[string][2]func(to []line){
					"copy":  {func(to []line) { set.copy(to, from[:lines]) }, func(to []line) { copyGeneric(to, from[:lines]) }},
					"write": {func(to []line) { set.write(to, scale) }, func(to []line) { writeGeneric(to, scale) }},
					"triad": {
						func(to []line) { set.triad(to, from[:lines], third[:lines], scale) },
						func(to []line) { triadGeneric(to, from[:lines], third[:lines], scale) },
					},
				}
				if set.copyNT != nil {
					kinds["non-temporal copy"] = [2]func(to []line){func(to []line) { set.copyNT(to, from[:lines]) }, kinds["copy"][1]}
					kinds["non-temporal write"] = [2]func(to []line){func(to []line) { set.writeNT(to, scale) }, kinds["write"][1]}
					kinds["non-temporal triad"] = [2]func(to []line){
						func(to []line) { set.triadNT(to, from[:lines], third[:lines], scale) }, kinds["triad"][1],
					}
				}
				for name, loop := range kinds {
					fill(to, from, third)
					loop[0](to[:lines])
					want := make([]line, most)
					fill(want, from, third)
					loop[1](want[:lines])
					for i := range to {
						if to[i] != want[i] {
							t.Fatalf("%s of %d lines: line %d holds %v, want %v", name, lines, i, to[i], want[i])
						}
					}
				}
			})
		})
	}
}

func fill(to, from, third []line) {
	for i := range to {
		for j := range to[i] {
			to[i][j], from[i][j], third[i][j] = -1, float64(8*i+j), float64(i-j)
		}
	}
}

// Flushed lines keep what was written to them.
func TestFlushKeepsContents(t *testing.T) {
	lines := make([]line, 100)
	writeGeneric(lines, 5)
	flushLines(lines)
	flushLines(nil)
	if got := readLines(lines); got != 5*8*100 {
		t.Errorf("the sum is %v", got)
	}
}

// Each access touches as many lines as its bytes say: copies and triads write
// all of a list, reads nothing.
func TestAccesses(t *testing.T) {
	for _, kind := range accesses(available()[0]) {
		work := make([]*lists, 1)
		if err := openLists(work, 1<<20, team{cpus: cpus(t, 1)}); err != nil {
			t.Fatal(err)
		}
		w := work[0]
		fill(w.a, w.b, w.c)
		kind.pass(w)
		for i := range w.a {
			want := map[string]float64{"copy": w.b[i][3], "write": 3, "triad": w.b[i][3] + 3*w.c[i][3], "read": -1}[kind.name]
			if w.a[i][3] != want {
				t.Fatalf("%s, non-temporal %t: line %d holds %v, want %v", kind.name, kind.nonTemporal, i, w.a[i][3], want)
			}
		}
		if err := w.buffer.Free(); err != nil {
			t.Error(err)
		}
	}
}
