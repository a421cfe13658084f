package pmu

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
)

// TestPlans writes down what every source would read on every platform.
func TestPlans(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			m := fixture(t, name)
			var b strings.Builder
			for _, source := range catalog.Sources() {
				f, err := m.find(source)
				if err != nil {
					t.Fatal(err)
				}
				if f.devices > 0 {
					describe(&b, source, f)
				}
			}
			wantGolden(t, name, b.String())
		})
	}
}

func describe(b *strings.Builder, source string, f found) {
	fmt.Fprintf(b, "%s: %d devices, %d channels, reads and writes separate: %v\n", source, f.devices, f.channels, f.splitsReadWrite)
	for _, i := range f.instances {
		node, memory := "?", "DRAM"
		if i.node != nil {
			node = fmt.Sprint(*i.node)
		}
		if i.memory != catalog.DRAM {
			memory = string(i.memory)
		}
		fmt.Fprintf(b, "  %s on CPU %d: socket %d, node %s, %s\n", i.name, i.cpu, i.socket, node, memory)
		for _, g := range i.groups {
			for j, e := range g {
				mark := "   "
				if j > 0 {
					mark = "  +"
				}
				fmt.Fprintf(b, "  %s %-5s %s: type %d, config %#x %#x %#x, %g bytes\n", mark, e.kind, e.Label, e.Type, e.Code[0], e.Code[1], e.Code[2], e.bytes)
			}
		}
	}
	for _, r := range f.rejected {
		fmt.Fprintf(b, "  not %s: %s\n", r.Device, r.Reason)
	}
	for _, w := range f.warnings {
		fmt.Fprintf(b, "  warning: %s\n", w)
	}
}
