package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/topology"
)

// fake is a machine under the control of a test.
type fake struct {
	Environment
	sys, proc fstest.MapFS
	machine   *topology.Machine
	allowed   cpuset.CPUSet
}

func (f *fake) set(files fstest.MapFS, name, content string) {
	files[name] = &fstest.MapFile{Data: []byte(content)}
}

// wholesome is a two-socket machine with nothing to complain about.
func wholesome() *fake {
	f := &fake{
		sys: fstest.MapFS{}, proc: fstest.MapFS{},
		machine: &topology.Machine{
			CPUModel: "Example 9000",
			CPUs: []topology.CPU{
				{ID: 0, Core: 0},
				{ID: 1, Core: 1},
				{ID: 2, Core: 2, Socket: 1, Node: 1},
				{ID: 3, Core: 3, Socket: 1, Node: 1},
			},
			Nodes: []topology.Node{
				{ID: 0, CPUs: cpuset.New(0, 1), MemoryBytes: 64 << 30, Distances: []int{10, 21}},
				{ID: 1, CPUs: cpuset.New(2, 3), MemoryBytes: 64 << 30, Distances: []int{21, 10}},
			},
			Caches: []topology.Cache{
				{Level: 3, Type: "Unified", Bytes: 32 << 20, CPUs: cpuset.New(0, 1)},
				{Level: 3, Type: "Unified", Bytes: 32 << 20, CPUs: cpuset.New(2, 3)},
			},
			MemoryBytes: 128 << 30,
		},
		allowed: cpuset.New(0, 1, 2, 3),
	}
	for name, content := range map[string]string{
		"bus/event_source/devices/cpu/type":                             "4",
		"bus/event_source/devices/uncore_imc_0/type":                    "24",
		"fs/resctrl/info/L3_MON/mon_features":                           "llc_occupancy\nmbm_total_bytes\n",
		"kernel/mm/transparent_hugepage/enabled":                        "always [madvise] never\n",
		"devices/system/clocksource/clocksource0/current_clocksource":   "tsc\n",
		"devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
		"devices/system/cpu/cpu0/cpufreq/scaling_governor":              "performance\n",
		"devices/system/cpu/cpufreq/boost":                              "1\n",
	} {
		f.set(f.sys, name, content)
	}
	for name, content := range map[string]string{
		"meminfo":                        "MemTotal: 134217728 kB\nMemAvailable: 130000000 kB\n",
		"sys/kernel/perf_event_paranoid": "0\n",
		"filesystems":                    "nodev\tsysfs\nnodev\tresctrl\n",
		"self/cgroup":                    "0::/\n",
		"stat":                           "cpu  100 0 100 1000 0 0 0 10 0 0\ncpu0 1\n",
	} {
		f.set(f.proc, name, content)
	}
	f.Environment = Environment{
		Sys: f.sys, Proc: f.proc,
		Machine:        func() (*topology.Machine, error) { return f.machine, nil },
		Allowed:        func() (cpuset.CPUSet, error) { return f.allowed, nil },
		Pin:            func(int) error { return nil },
		BindMemory:     func(int) error { return nil },
		OpenSystemWide: func(int) error { return nil },
		Ticks:          func() []ticks.Availability { return []ticks.Availability{{Kind: "a page"}} },
		RealTime:       func() error { return nil },
		Interruptions: func(_ context.Context, _ int, window time.Duration) (Interruptions, error) {
			return Interruptions{Window: window, Longest: 50 * time.Microsecond, Total: window / 1000}, nil
		},
		Regime: func(context.Context, int, int) (regime.Tag, error) {
			return regime.Tag{Class: regime.CrossComplex, RoundTrip: 250}, nil
		},
	}
	return f
}

func TestWholesomeMachine(t *testing.T) {
	r := Examine(t.Context(), wholesome().Environment)
	if !r.Measurable {
		t.Error("nothing is measurable")
	}
	names := map[string]bool{}
	for _, f := range r.Findings {
		if f.State != OK || f.Remedy != "" || f.Detail == "" || f.Title == "" {
			t.Errorf("%+v, want ok with a detail and without a remedy", f)
		}
		if names[f.Name] {
			t.Errorf("%s is found twice", f.Name)
		}
		names[f.Name] = true
	}
}

func TestFindings(t *testing.T) {
	const clockDir = "devices/system/clocksource/clocksource0/"
	virtual := func(f *fake) { f.machine.VirtualMachine, f.machine.Hypervisor = true, "KVM" }
	tests := []struct {
		name, finding  string
		change         func(*fake)
		state          State
		detail, remedy string // parts; an empty remedy wants none
		unmeasurable   bool
	}{
		{
			name: "machine unreadable", finding: "cpus", state: Missing, detail: "no sysfs", remedy: "mount /sys", unmeasurable: true,
			change: func(f *fake) {
				f.Machine = func() (*topology.Machine, error) { return nil, errors.New("no sysfs") }
			},
		},
		{
			name: "affinity unreadable", finding: "cpus", state: Missing, detail: "EPERM", remedy: "sched_getaffinity", unmeasurable: true,
			change: func(f *fake) {
				f.Allowed = func() (cpuset.CPUSet, error) { return cpuset.New(), errors.New("EPERM") }
			},
		},
		{
			name: "one CPU", finding: "cpus", state: Missing, detail: `"2" only`, remedy: "second CPU", unmeasurable: true,
			change: func(f *fake) { f.allowed = cpuset.New(2) },
		},
		{
			name: "one CPU leaves no placement", finding: "placement", state: Missing, detail: "only one CPU", unmeasurable: true,
			change: func(f *fake) { f.allowed = cpuset.New(2) },
		},
		{
			name: "no pinning", finding: "affinity", state: Missing, detail: "forbidden", remedy: "sched_setaffinity", unmeasurable: true,
			change: func(f *fake) { f.Pin = func(int) error { return errors.New("forbidden") } },
		},
		{
			name: "CPU quota", finding: "cpu-quota", state: Missing, detail: "/sys/fs/cgroup/cpu.max permits the CPU time of 1.5 CPUs, and application and interferer would use 4", remedy: "CPUQuota", unmeasurable: true,
			change: func(f *fake) { f.set(f.sys, "fs/cgroup/cpu.max", "150000 100000\n") },
		},
		{
			name: "CPU quota for fewer CPUs", finding: "cpu-quota", state: Limited, detail: "so experiments use only CPUs 0-2", remedy: "raise it",
			change: func(f *fake) { f.set(f.sys, "fs/cgroup/cpu.max", "390000 100000\n") },
		},
		{
			name: "CPU quota for all CPUs", finding: "cpu-quota", state: OK, detail: "as much as an experiment uses",
			change: func(f *fake) { f.set(f.sys, "fs/cgroup/cpu.max", "400000 100000\n") },
		},
		{
			name: "one core", finding: "placement", state: Limited, detail: "share a core", remedy: "second core",
			change: func(f *fake) { f.machine.CPUs[1].Core = 0; f.allowed = cpuset.New(0, 1) },
		},
		{
			name: "one cache", finding: "last-level-cache", state: Limited, detail: "share a last-level cache", remedy: "several sockets",
			change: func(f *fake) { f.allowed = cpuset.New(0, 1) },
		},
		{
			name: "cache unknown", finding: "last-level-cache", state: Inconclusive, detail: "does not say",
			change: func(f *fake) { f.machine.Caches = nil },
		},
		{
			name: "little memory", finding: "memory", state: Limited, detail: "take 32 MiB, 1 times", remedy: "--memory-cap 32MiB",
			change: func(f *fake) { f.set(f.proc, "meminfo", "MemAvailable: 131071 kB\n") },
		},
		{
			name: "enough memory for small buffers", finding: "memory", state: Limited, detail: "take 32 MiB, 1 times its last-level cache, which may keep", remedy: "--memory-cap 128MiB",
			change: func(f *fake) { f.set(f.proc, "meminfo", "MemAvailable: 131072 kB\n") },
		},
		{
			name: "just enough memory", finding: "memory", state: OK, detail: "512 MiB available; the interferer's buffers take 128 MiB, 4 times",
			change: func(f *fake) { f.set(f.proc, "meminfo", "MemAvailable: 524288 kB\n") },
		},
		{
			name: "container limit", finding: "memory", state: Limited, detail: "100 MiB available", remedy: "container's limit",
			change: func(f *fake) {
				f.set(f.sys, "fs/cgroup/memory.max", "209715200\n")
				f.set(f.sys, "fs/cgroup/memory.current", "104857600\n")
			},
		},
		{
			name: "little memory on the node", finding: "memory", state: Limited, detail: "node 0 has 100 MiB available; the interferer's buffers take 32 MiB, 1 times", remedy: "free memory",
			change: func(f *fake) {
				f.set(f.sys, "devices/system/node/node0/meminfo", "Node 0 MemFree: 102400 kB\n")
			},
		},
		{
			name: "no memory of the node", finding: "memory", state: Limited, detail: "memory node 0: no such node", remedy: "cpuset.mems",
			change: func(f *fake) {
				f.BindMemory = func(node int) error { return fmt.Errorf("memory node %d: no such node", node) }
			},
		},
		{
			name: "memory may not be bound", finding: "memory", state: Limited, detail: "memory node 0", remedy: "SYS_NICE",
			change: func(f *fake) {
				f.BindMemory = func(node int) error { return fmt.Errorf("memory node %d: %w", node, fs.ErrPermission) }
			},
		},
		{
			name: "no memory is bound", finding: "memory", state: OK, detail: "available",
			change: func(f *fake) {
				f.machine.Nodes = []topology.Node{{CPUs: f.allowed, MemoryBytes: 64 << 30}}
				for i := range f.machine.CPUs {
					f.machine.CPUs[i].Node = 0
				}
				f.BindMemory = func(int) error { return errors.New("asked for") }
			},
		},
		{
			name: "container without a limit", finding: "memory", state: OK, detail: "123 GiB available",
			change: func(f *fake) {
				f.set(f.sys, "fs/cgroup/memory.max", "max\n")
				f.set(f.sys, "fs/cgroup/memory.current", "104857600\n")
			},
		},
		{
			name: "memory unknown", finding: "memory", state: Inconclusive, detail: "MemAvailable",
			change: func(f *fake) { f.set(f.proc, "meminfo", "MemFree: 1 kB\n") },
		},
		{
			name: "memory malformed", finding: "memory", state: Inconclusive, detail: "MemAvailable",
			change: func(f *fake) { f.set(f.proc, "meminfo", "MemAvailable: much kB\n") },
		},
		{
			name: "cache size assumed", finding: "memory", state: OK, detail: "assumed size",
			change: func(f *fake) { f.machine.Caches = nil },
		},
		{
			name: "counters by AMD", finding: "memory-counters", state: OK, detail: "amd_umc_0, amd_umc_1, amd_umc_2, amd_umc_3, 4 more",
			change: func(f *fake) {
				delete(f.sys, "bus/event_source/devices/uncore_imc_0/type")
				for i := range 8 {
					f.set(f.sys, fmt.Sprintf("bus/event_source/devices/amd_umc_%d/type", i), "30")
				}
			},
		},
		{
			name: "counters in a virtual machine", finding: "memory-counters", state: Missing, detail: "probe source", remedy: "bare-metal",
			change: func(f *fake) { virtual(f); delete(f.sys, "bus/event_source/devices/uncore_imc_0/type") },
		},
		{
			name: "counters without a driver", finding: "memory-counters", state: Missing, detail: "no driver", remedy: "sudo modprobe",
			change: func(f *fake) { delete(f.sys, "bus/event_source/devices/uncore_imc_0/type") },
		},
		{
			name: "drivers of every platform", finding: "memory-counters", state: Missing, detail: "no driver", remedy: "sudo modprobe -a intel_uncore amd_uncore nvidia_cspmu hisi_uncore_ddrc_pmu arm_dmc620_pmu arm-cmn;",
			change: func(f *fake) { delete(f.sys, "bus/event_source/devices/uncore_imc_0/type") },
		},
		{
			name: "no perf events", finding: "memory-counters", state: Missing, detail: "no perf events", remedy: "CONFIG_PERF_EVENTS",
			change: func(f *fake) {
				for name := range f.sys {
					if strings.HasPrefix(name, "bus/") {
						delete(f.sys, name)
					}
				}
			},
		},
		{
			name: "counting forbidden", finding: "counter-permission", state: Limited, detail: "perf_event_paranoid is 2", remedy: "sysctl kernel.perf_event_paranoid=0",
			change: func(f *fake) {
				f.set(f.proc, "sys/kernel/perf_event_paranoid", "2\n")
				f.OpenSystemWide = func(int) error { return fmt.Errorf("perf_event_open: %w", syscall.EACCES) }
			},
		},
		{
			name: "counting impossible", finding: "counter-permission", state: Missing, detail: "perf events", remedy: "perf_event_open",
			change: func(f *fake) { f.OpenSystemWide = func(int) error { return syscall.ENOSYS } },
		},
		{
			name: "counting fails oddly", finding: "counter-permission", state: Inconclusive, detail: syscall.EIO.Error(),
			change: func(f *fake) { f.OpenSystemWide = func(int) error { return syscall.EIO } },
		},
		{
			name: "no instructions", finding: "ticks", state: Limited, detail: "counted are a page; instructions not: none here", remedy: "progress.md",
			change: func(f *fake) {
				f.Ticks = func() []ticks.Availability {
					return []ticks.Availability{{Kind: "instructions", Err: errors.New("none here")}, {Kind: "a page"}}
				}
			},
		},
		{
			name: "no ticks", finding: "ticks", state: Missing, detail: "instructions not: none here",
			change: func(f *fake) {
				f.Ticks = func() []ticks.Availability {
					return []ticks.Availability{{Kind: "instructions", Err: errors.New("none here")}}
				}
			},
		},
		{
			name: "resctrl not mounted", finding: "resctrl", state: Limited, detail: "not mounted", remedy: "mount -t resctrl",
			change: func(f *fake) { delete(f.sys, "fs/resctrl/info/L3_MON/mon_features") },
		},
		{
			name: "resctrl without bandwidth", finding: "resctrl", state: Limited, detail: "no bandwidth, only llc_occupancy",
			change: func(f *fake) { f.set(f.sys, "fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\n") },
		},
		{
			name: "resctrl without monitoring", finding: "resctrl", state: Limited, detail: "no monitoring",
			change: func(f *fake) {
				delete(f.sys, "fs/resctrl/info/L3_MON/mon_features")
				f.set(f.sys, "fs/resctrl/info/L3/cbm_mask", "fff\n")
			},
		},
		{
			name: "no resctrl", finding: "resctrl", state: Missing, detail: "does not offer",
			change: func(f *fake) {
				delete(f.sys, "fs/resctrl/info/L3_MON/mon_features")
				f.set(f.proc, "filesystems", "nodev\tsysfs\n")
			},
		},
		{
			name: "huge pages always", finding: "huge-pages", state: OK, detail: "always",
			change: func(f *fake) {
				f.set(f.sys, "kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
			},
		},
		{
			name: "huge pages never", finding: "huge-pages", state: Limited, detail: "7 to 15%", remedy: "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
			change: func(f *fake) {
				f.set(f.sys, "kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")
			},
		},
		{
			name: "huge pages malformed", finding: "huge-pages", state: Inconclusive, detail: "always madvise",
			change: func(f *fake) {
				f.set(f.sys, "kernel/mm/transparent_hugepage/enabled", "always madvise [never\n")
			},
		},
		{
			name: "no huge pages", finding: "huge-pages", state: Missing, detail: "none", remedy: "CONFIG_TRANSPARENT_HUGEPAGE",
			change: func(f *fake) { delete(f.sys, "kernel/mm/transparent_hugepage/enabled") },
		},
		{
			name: "no real-time", finding: "real-time", state: Limited, detail: "not permitted", remedy: "cap_sys_nice",
			change: func(f *fake) { f.RealTime = func() error { return syscall.EPERM } },
		},
		{
			name: "governor", finding: "frequency", state: Limited, detail: "powersave", remedy: "cpupower frequency-set -g performance",
			change: func(f *fake) {
				f.set(f.sys, "devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n")
			},
		},
		{
			name: "governor of a CPU not allowed", finding: "frequency", state: OK, detail: "performance",
			change: func(f *fake) {
				f.set(f.sys, "devices/system/cpu/cpu9/cpufreq/scaling_governor", "powersave\n")
			},
		},
		{
			name: "turbo by Intel", finding: "frequency", state: OK, detail: "boost is on",
			change: func(f *fake) {
				delete(f.sys, "devices/system/cpu/cpufreq/boost")
				f.set(f.sys, "devices/system/cpu/intel_pstate/no_turbo", "0\n")
			},
		},
		{
			name: "no governor", finding: "frequency", state: Inconclusive, detail: "does not control",
			change: func(f *fake) { delete(f.sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor") },
		},
		{
			name: "slow clock", finding: "clock", state: Limited, detail: "hpet", remedy: "echo tsc | sudo tee /sys/" + clockDir + "current_clocksource",
			change: func(f *fake) { f.set(f.sys, clockDir+"current_clocksource", "hpet\n") },
		},
		{
			name: "slow clock without another", finding: "clock", state: Limited, detail: "xen", remedy: "clocksource=tsc",
			change: func(f *fake) {
				f.set(f.sys, clockDir+"current_clocksource", "xen\n")
				f.set(f.sys, clockDir+"available_clocksource", "xen\n")
			},
		},
		{
			name: "clock unknown", finding: "clock", state: Inconclusive, detail: "current_clocksource",
			change: func(f *fake) { delete(f.sys, clockDir+"current_clocksource") },
		},
		{
			name: "a noisy CPU", finding: "noise", state: Limited, detail: "noisy: CPUs 2", remedy: "isolcpus=2, and start this program with taskset -c 2, without which",
			change: func(f *fake) {
				f.Interruptions = func(_ context.Context, cpu int, window time.Duration) (Interruptions, error) {
					if cpu == 2 {
						return Interruptions{Window: window, Longest: time.Millisecond, Total: window / 50}, nil
					}
					return Interruptions{Window: window}, nil
				}
			},
		},
		{
			name: "a long pause", finding: "noise", state: Limited, detail: "3ms", remedy: "dedicated CPUs",
			change: func(f *fake) {
				virtual(f)
				f.Interruptions = func(_ context.Context, _ int, window time.Duration) (Interruptions, error) {
					return Interruptions{Window: 10 * time.Second, Longest: 3 * time.Millisecond, Total: 3 * time.Millisecond}, nil
				}
			},
		},
		{
			name: "noise not measured", finding: "noise", state: Inconclusive, detail: "CPU 0",
			change: func(f *fake) {
				f.Interruptions = func(context.Context, int, time.Duration) (Interruptions, error) {
					return Interruptions{}, errors.New("stopped")
				}
			},
		},
		{
			name: "two regimes", finding: "regime", state: Limited, detail: "same-complex (50ns) in 5 of 10 probes, cross-complex (250ns) in 5 of 10 probes", remedy: "dedicated CPUs",
			change: func(f *fake) {
				probes := 0
				f.Regime = func(context.Context, int, int) (regime.Tag, error) {
					if probes++; probes%2 == 0 {
						return regime.Tag{Class: regime.SameComplex, RoundTrip: 50}, nil
					}
					return regime.Tag{Class: regime.CrossComplex, RoundTrip: 250}, nil
				}
			},
		},
		{
			name: "one core in truth", finding: "regime", state: Limited, detail: "although the kernel", remedy: "whole cores",
			change: func(f *fake) {
				f.Regime = func(context.Context, int, int) (regime.Tag, error) {
					return regime.Tag{Class: regime.SameCore, RoundTrip: 31}, nil
				}
			},
		},
		{
			name: "regime inconclusive", finding: "regime", state: Inconclusive, detail: regime.ErrInconclusive.Error(), remedy: "stop other programs",
			change: func(f *fake) {
				f.Regime = func(context.Context, int, int) (regime.Tag, error) { return regime.Tag{}, regime.ErrInconclusive }
			},
		},
		{
			name: "virtual machine", finding: "virtual-machine", state: Limited, detail: "(KVM); the host took 25.0%", remedy: "bare metal",
			change: func(f *fake) {
				virtual(f)
				f.Regime = func(context.Context, int, int) (regime.Tag, error) {
					f.set(f.proc, "stat", "cpu  150 0 115 1010 0 0 0 35 0 0\n")
					return regime.Tag{Class: regime.SameComplex, RoundTrip: 50}, nil
				}
			},
		},
		{
			name: "steal time malformed", finding: "virtual-machine", state: Limited, detail: "could not be measured", remedy: "bare metal",
			change: func(f *fake) { virtual(f); f.set(f.proc, "stat", "cpu 1 2 3\n") },
		},
		{name: "steal time standing still", finding: "virtual-machine", state: Limited, detail: "could not be measured", remedy: "bare metal", change: virtual},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := wholesome()
			tt.change(f)
			r := Examine(t.Context(), f.Environment)
			got, ok := finding(r, tt.finding)
			if !ok {
				t.Fatalf("no finding %q", tt.finding)
			}
			if got.State != tt.state || !strings.Contains(got.Detail, tt.detail) {
				t.Errorf("%s: %s; want %s: … %s …", got.State, got.Detail, tt.state, tt.detail)
			}
			if !strings.Contains(got.Remedy, tt.remedy) || (tt.remedy == "") != (got.Remedy == "") {
				t.Errorf("remedy %q, want %q", got.Remedy, tt.remedy)
			}
			if r.Measurable == tt.unmeasurable {
				t.Errorf("measurable: %v", r.Measurable)
			}
		})
	}
}

// Whatever is wrong with a machine, every finding says something.
func TestNothingToRead(t *testing.T) {
	f := wholesome()
	f.Sys, f.Proc = fstest.MapFS{}, fstest.MapFS{}
	f.Machine = func() (*topology.Machine, error) { return nil, fs.ErrNotExist }
	f.Allowed = func() (cpuset.CPUSet, error) { return cpuset.New(), syscall.ENOSYS }
	f.Ticks = func() []ticks.Availability { return nil }
	r := Examine(t.Context(), f.Environment)
	if r.Measurable {
		t.Error("measurable")
	}
	for _, finding := range r.Findings {
		if finding.Detail == "" || finding.Name != "real-time" && finding.State != Missing && finding.State != Inconclusive {
			t.Errorf("%+v", finding)
		}
	}
}

func TestSpread(t *testing.T) {
	list := make([]int, 128)
	for i := range list {
		list[i] = i
	}
	got := spread(list, 16)
	if len(got) != 16 || got[0] != 0 || got[15] != 120 || !slices.IsSorted(got) {
		t.Errorf("spread picks %v", got)
	}
	if got := spread(list[:3], 16); len(got) != 3 {
		t.Errorf("spread of three picks %v", got)
	}
}

func TestReportJSON(t *testing.T) {
	got, err := json.Marshal(Report{Findings: []Finding{{Name: "cpus", Title: "CPUs", Outcome: Outcome{State: OK, Detail: "two"}}}, Verdict: "good", Measurable: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"findings":[{"name":"cpus","title":"CPUs","state":"ok","detail":"two"}],"verdict":"good","measurable":true}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func finding(r Report, name string) (Finding, bool) {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Name == name })
	if i < 0 {
		return Finding{}, false
	}
	return r.Findings[i], true
}
