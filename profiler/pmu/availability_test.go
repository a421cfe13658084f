package pmu

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

func TestAvailable(t *testing.T) {
	withoutDevices := func(m *machine) {
		for name := range m.sys {
			if strings.HasPrefix(name, sysfs.Root+"/uncore") || strings.HasPrefix(name, sysfs.Root+"/amd") || strings.HasPrefix(name, sysfs.Root+"/nvidia") {
				delete(m.sys, name)
			}
		}
	}
	for _, tt := range []struct {
		name, fixture, source string
		change                func(*machine)
		state                 profiler.State
		reason, remedy        string
	}{
		{name: "works", fixture: "skx", source: "imc", state: profiler.Usable},
		{
			name: "counters in a guest that passes them on", fixture: "skx", source: "imc", state: profiler.Usable,
			change: func(m *machine) { m.Machine.VirtualMachine = true },
		},
		{name: "driver not loaded", fixture: "skx", source: "imc", change: withoutDevices, state: profiler.Unsupported, reason: "uncore_imc_N", remedy: "modprobe intel_uncore"},
		{name: "kernel too old", fixture: "zen4", source: "amd-umc", change: withoutDevices, state: profiler.Unsupported, reason: "amd_umc_N", remedy: "Linux 6.7"},
		{name: "another architecture", fixture: "grace", source: "nvidia-scf", change: withoutDevices, state: profiler.Unsupported, reason: "nvidia_scf_pmu_N", remedy: "modprobe nvidia_cspmu"},
		{
			name: "a virtual machine", fixture: "skx", source: "imc", state: profiler.Unsupported, reason: "KVM", remedy: "bare-metal",
			change: func(m *machine) {
				withoutDevices(m)
				m.Machine.VirtualMachine, m.Machine.Hypervisor = true, "KVM"
			},
		},
		{name: "another vendor", fixture: "zen4", source: "imc", state: profiler.Unsupported, reason: "AMD EPYC 9654 96-Core Processor is not"},
		{name: "Intel's on Arm", fixture: "grace", source: "imc", state: profiler.Unsupported, reason: "is not a processor"},
		{name: "IBM's on Arm", fixture: "grace", source: "power-nest", state: profiler.Unsupported, reason: "is not a processor"},
		{name: "Nvidia's on POWER", fixture: "power9", source: "nvidia-scf", state: profiler.Unsupported, reason: "is not a processor"},
		{name: "a client has no server's counters", fixture: "tgl", source: "imc", state: profiler.Unsupported, reason: "names no event cas_count_read"},
		{
			name: "no perf events", fixture: "skx", source: "imc", state: profiler.Unsupported, reason: "no perf events", remedy: "CONFIG_PERF_EVENTS",
			change: func(m *machine) {
				for name := range m.sys {
					if strings.HasPrefix(name, sysfs.Root) {
						delete(m.sys, name)
					}
				}
			},
		},
		{
			name: "malformed", fixture: "skx", source: "imc", state: profiler.Inconclusive, reason: "uncore_imc_0/type",
			change: func(m *machine) { m.set(sysfs.Root+"/uncore_imc_0/type", "x") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fixture(t, tt.fixture)
			if tt.change != nil {
				tt.change(m)
			}
			a := m.source(t, tt.source).Available(t.Context())
			if a.State != tt.state || !strings.Contains(a.Reason, tt.reason) || !strings.Contains(a.Remedy, tt.remedy) {
				t.Errorf("%+v, want %s because %q with %q", a, tt.state, tt.reason, tt.remedy)
			}
			if (a.State == profiler.Usable) != (a.Reason == "") {
				t.Errorf("%+v: a reason belongs to what is not usable", a)
			}
		})
	}
}

func TestSourcesInOrder(t *testing.T) {
	m := fixture(t, "zen4")
	seen := map[string]bool{}
	for _, s := range Sources(m.Host) {
		if seen[s.Name()] {
			t.Errorf("%s twice", s.Name())
		}
		seen[s.Name()] = true
	}
	s, err := profiler.Select(t.Context(), "", Sources(m.Host)...)
	if err != nil || s.Name() != "amd-umc" {
		t.Errorf("chose %v, %v; want the controllers before the data fabric", s, err)
	}
	for name, want := range map[string]bool{"imc": true, "amd-umc": true, "amd-df": false, "arm-cmn": false} {
		if got := SplitsReadWrite(m.source(t, name)); got != want {
			t.Errorf("%s tells reads from writes: %v", name, got)
		}
	}
	if SplitsReadWrite(misses{m.Host}) {
		t.Error("cache misses tell reads from writes")
	}
}

// TestOpenHost reads this machine, whatever it has.
func TestOpenHost(t *testing.T) {
	h, err := OpenHost()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Sources(h) {
		if a := s.Available(t.Context()); a.State != profiler.Usable && a.Reason == "" {
			t.Errorf("%s: %+v without a reason", s.Name(), a)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
