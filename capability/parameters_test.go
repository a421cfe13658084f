package capability_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/capability/reference"
)

func knl(t *testing.T) *v1alpha1.MachineProfile {
	t.Helper()
	m, ok, err := reference.Machine("knl-7210-quadrant")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return m
}

func knlParameters(t *testing.T) capability.Parameters {
	t.Helper()
	p, err := capability.NewParameters(knl(t), "DRAM")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNewParameters(t *testing.T) {
	want := capability.Parameters{
		Local: 3.8, Remote: 119, Memory: 140, Tile: 34, CoresPerTile: 2, Contention: &capability.Line{Base: 200, Each: 34},
	}
	if diff := cmp.Diff(want, knlParameters(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	p, err := capability.NewParameters(knl(t), "MCDRAM")
	want.Memory = 167
	if diff := cmp.Diff(want, p); err != nil || diff != "" {
		t.Errorf("MCDRAM: %v, -want +got:\n%s", err, diff)
	}
}

func TestNewParametersNamesWhatIsMissing(t *testing.T) {
	tests := []struct {
		name   string
		change func(*v1alpha1.MachineProfile)
		memory string
		want   string
	}{
		{"nothing", func(m *v1alpha1.MachineProfile) { m.Spec.Capability = nil }, "", "no section capability"},
		{"latencies", func(m *v1alpha1.MachineProfile) { m.Spec.Capability.Latencies = nil }, "", "missing latencies: level1, remote, memory, tile"},
		{"memory", func(*v1alpha1.MachineProfile) {}, "HBM", `memory (memory "HBM"; it has DRAM, MCDRAM, cache)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := knl(t)
			tt.change(m)
			_, err := capability.NewParameters(m, tt.memory)
			if !errors.Is(err, capability.ErrNotCovered) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestParametersValidate(t *testing.T) {
	p := capability.Parameters{
		Local: -1, Remote: capability.Cost(math.NaN()), Memory: capability.Cost(math.Inf(1)), Tile: 2e9,
		Contention: &capability.Line{Base: -2, Each: -3},
	}
	err := p.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"local", "remote", "memory", "tile", "base", "per thread", "0 cores per tile"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestCostString(t *testing.T) {
	for cost, want := range map[capability.Cost]string{
		0: "0 ns", 3.8: "3.8 ns", 999: "999 ns", 999.5: "1 µs", 1520: "1.52 µs", 281e6: "281 ms", 2.5e9: "2.5 s", 1234e9: "1234 s",
	} {
		if got := cost.String(); got != want {
			t.Errorf("%v: got %q, want %q", float64(cost), got, want)
		}
	}
}
