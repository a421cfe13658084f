package reference_test

import (
	"encoding/json"
	"os"
	"testing"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability/reference"
)

// quantity is a number of the tables, or a range.
type quantity struct{ low, high float64 }

func (q *quantity) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &q.low); err == nil {
		q.high = q.low
		return nil
	}
	var both [2]float64
	err := json.Unmarshal(data, &both)
	q.low, q.high = both[0], both[1]
	return err
}

type bandwidths map[string][]float64

// figures are Tables I and II as they are printed.
type figures struct {
	Modes  []string
	Table1 struct {
		Latency    map[string][]quantity `json:"latency_ns"`
		Contention struct {
			Alpha float64 `json:"alpha_ns"`
			Beta  float64 `json:"beta_ns"`
		}
	}
	Table2 struct {
		Flat struct {
			Latency   map[string][]quantity `json:"latency_ns"`
			Bandwidth map[string]bandwidths `json:"bandwidth_GBps"`
		}
		Cache struct {
			Latency   []quantity `json:"latency_ns"`
			Bandwidth bandwidths `json:"bandwidth_GBps"`
		}
	}
}

func readFigures(t *testing.T) figures {
	t.Helper()
	text, err := os.ReadFile("../testdata/figures.json")
	if err != nil {
		t.Fatal(err)
	}
	var f figures
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestProfilesHoldTheTables(t *testing.T) {
	f := readFigures(t)
	machines, err := reference.Machines()
	if err != nil {
		t.Fatal(err)
	}
	if len(machines) != len(f.Modes) {
		t.Fatalf("%d machines, want one for each of %v", len(machines), f.Modes)
	}
	for i, m := range machines {
		t.Run(m.Name, func(t *testing.T) {
			c := m.Spec.Capability
			if c.Contention.BaseNanoseconds != f.Table1.Contention.Alpha || c.Contention.PerThreadNanoseconds != f.Table1.Contention.Beta {
				t.Errorf("contention %+v, want %+v", *c.Contention, f.Table1.Contention)
			}
			for printed, at := range map[string]v1alpha1.LineLatency{
				"L1": {Place: "level1"}, "tile M": {Place: "tile", State: "modified"},
				"tile E": {Place: "tile", State: "exclusive"}, "tile S,F": {Place: "tile", State: "shared"},
				"remote M": {Place: "remote", State: "modified"}, "remote E": {Place: "remote", State: "exclusive"},
			} {
				wantLatency(t, c, at, f.Table1.Latency[printed][i])
			}
			memories := map[string]bandwidths{"cache": f.Table2.Cache.Bandwidth}
			wantLatency(t, c, v1alpha1.LineLatency{Place: "memory", Memory: "cache"}, f.Table2.Cache.Latency[i])
			for _, memory := range []string{"DRAM", "MCDRAM"} {
				memories[memory] = f.Table2.Flat.Bandwidth[memory]
				wantLatency(t, c, v1alpha1.LineLatency{Place: "memory", Memory: memory}, f.Table2.Flat.Latency[memory][i])
			}
			for memory, accesses := range memories {
				if len(accesses) != 4 {
					t.Errorf("%d kinds of access in %s", len(accesses), memory)
				}
				for access, values := range accesses {
					wantBandwidth(t, c, access, memory, values[i])
				}
			}
		})
	}
}

func wantLatency(t *testing.T, c *v1alpha1.Capability, at v1alpha1.LineLatency, want quantity) {
	t.Helper()
	for _, l := range c.Latencies {
		if l.Place != at.Place || l.State != at.State || l.Memory != at.Memory {
			continue
		}
		low, high := l.Nanoseconds, l.Nanoseconds
		if l.LowNanoseconds != nil && l.HighNanoseconds != nil {
			low, high = *l.LowNanoseconds, *l.HighNanoseconds
		}
		if low != want.low || high != want.high || l.Nanoseconds != (low+high)/2 {
			t.Errorf("%+v: want %v to %v ns", l, want.low, want.high)
		}
		return
	}
	t.Errorf("no latency of %+v", at)
}

func wantBandwidth(t *testing.T, c *v1alpha1.Capability, access, memory string, want float64) {
	t.Helper()
	for _, b := range c.Bandwidths {
		if b.Access == access && b.Memory == memory && b.Threads == 0 {
			if b.BytesPerSecond != want*1e9 {
				t.Errorf("%s in %s: %v, want %v GB/s", access, memory, b.BytesPerSecond, want)
			}
			return
		}
	}
	t.Errorf("no bandwidth of %s in %s", access, memory)
}

func TestMachine(t *testing.T) {
	m, ok, err := reference.Machine("knl-7210-quadrant")
	if err != nil || !ok || m.Spec.Capability.Source != "imported: Ramos and Hoefler 2017, Tables I and II, cluster mode QUAD" {
		t.Errorf("%v, %v, %v", m, ok, err)
	}
	if _, ok, err := reference.Machine("knl"); ok || err != nil {
		t.Errorf("a machine that there is not: %v, %v", ok, err)
	}
}
