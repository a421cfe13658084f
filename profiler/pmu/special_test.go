package pmu

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/topology"
)

// TestNoCPUMask: the first drivers of this controller have no such file, and count on a CPU
// of their own choice.
func TestNoCPUMask(t *testing.T) {
	measure(t, "altra", "dmc620", profiler.Workload{Duration: 3 * time.Second}, func(m *machine) {
		for name := range m.sys {
			if strings.HasPrefix(name, "bus/event_source/devices/arm_dmc620_") && strings.HasSuffix(name, "/cpumask") {
				delete(m.sys, name)
			}
		}
		const event = "event=0x12,clkdiv2=1,mask=1,match="
		m.counters.perSecond = map[string]float64{event + "0": 1e6, event + "1": 5e5}
		setAt(m, 1500*time.Millisecond, map[string]string{onlineFile: "1-3"})
	}, func(t *testing.T, s profiler.Summary, err error) {
		if err != nil || len(s.Counters.Channels) != 2 || !near(float64(s.Read), 2*64e6) || !near(float64(s.Write), 2*32e6) {
			t.Errorf("%v on %+v, %v; want 128 MB/s of reads and 64 MB/s of writes on two channels", s.Traffic, s.Counters, err)
		}
	})
}

// TestMemoryOnlyNode: no counter sees an expander of CXL memory.
func TestMemoryOnlyNode(t *testing.T) {
	measure(t, "icx", "imc", profiler.Workload{Duration: time.Second}, func(m *machine) {
		steady(m)
		m.Machine.Nodes = append(m.Machine.Nodes, topology.Node{ID: 2, MemoryBytes: 1 << 30}, topology.Node{ID: 3})
	}, func(t *testing.T, s profiler.Summary, err error) {
		if text := strings.Join(s.Warnings, "\n"); err != nil || !strings.Contains(text, "node 2 has memory but no CPUs") {
			t.Errorf("warnings %q, %v; want one about node 2", text, err)
		}
	})
}

// TestNoModules: a Xeon Max can do without memory modules.
func TestNoModules(t *testing.T) {
	measure(t, "spr-max", "imc", profiler.Workload{Duration: time.Second}, func(m *machine) {
		m.counters.perSecond = map[string]float64{"uncore_hbm_1/cas_count_read": 4e6}
	}, func(t *testing.T, _ profiler.Summary, err error) {
		if !errors.Is(err, profiler.ErrUnsupported) || errors.Is(err, ErrNothingCounted) || !strings.Contains(err.Error(), "HBM memory, which totals leave out, moved 0.3 GB/s") {
			t.Errorf("%v, want that only HBM moved", err)
		}
	})
}
