package pmu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/perf"
)

// near compares to a part in a million: counts are whole numbers.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Max(math.Abs(want), 1) }

// runs is a workload that takes a time.
func runs(d time.Duration) profiler.Workload {
	return profiler.Workload{Run: func(ctx context.Context) error { return pause(ctx, d) }}
}

// measure runs in a bubble, in which clocks run only while everybody waits.
func measure(t *testing.T, fixtureName, source string, w profiler.Workload, change func(*machine), check func(*testing.T, profiler.Summary, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, fixtureName)
		if change != nil {
			change(m)
		}
		s, err := m.source(t, source).Measure(t.Context(), w)
		check(t, s, err)
	})
}

func TestMeasure(t *testing.T) {
	const unknown = -1
	for _, tt := range []struct {
		name, fixture, source string
		rates                 map[string]float64
		read, write, share    float64
		nodes                 []float64 // totals; nil when they cannot be told
		sockets               []float64
		warning               string
	}{
		{
			name: "by socket and node", fixture: "skx", source: "imc",
			rates: map[string]float64{"cas_count_read@0": 1e6, "cas_count_write@0": 5e5, "cas_count_read@4": 2e6, "uncore_imc_5/cas_count_write@4": 1e6},
			read:  64 * 6 * 3e6, write: 64 * (6*5e5 + 1e6), share: 18 / 22.,
			nodes: []float64{64 * 6 * 1.5e6, 64 * 13e6}, sockets: []float64{64 * 6 * 1.5e6, 64 * 13e6},
		},
		{
			name: "both sub-channels", fixture: "gnr", source: "imc",
			rates: map[string]float64{"cas_count_read_sch0": 1e6, "cas_count_read_sch1": 2e6, "cas_count_write_sch1": 1e6},
			read:  64 * 2 * 3e6, write: 64 * 2 * 1e6, share: 0.75, nodes: []float64{64 * 8e6}, sockets: []float64{64 * 8e6},
		},
		{
			name: "nodes within a socket cannot be told", fixture: "zen4-nps4", source: "amd-umc",
			rates: map[string]float64{"event=0x0a,rdwrmask=0x1": 3e6, "event=0x0a,rdwrmask=0x2": 1e6},
			read:  64 * 12e6, write: 64 * 4e6, share: 0.75, sockets: []float64{64 * 16e6}, warning: "not divided by NUMA node",
		},
		{
			name: "nodes within a socket are told", fixture: "kunpeng920", source: "hisi-ddrc",
			rates: map[string]float64{"hisi_sccl1_ddrc0/flux_rd": 1e6, "hisi_sccl3_ddrc1/flux_wr": 2e6},
			read:  32e6, write: 64e6, share: 1 / 3., nodes: []float64{32e6, 64e6, 0, 0}, sockets: []float64{96e6, 0},
		},
		{
			name: "total only", fixture: "zen2", source: "amd-df",
			rates: map[string]float64{"event=0x7,umask=0x38": 1e6, "event=0x1c7,umask=0x38@4": 1e6},
			read:  64 * 3e6, share: unknown, nodes: []float64{64e6, 2 * 64e6}, sockets: []float64{64e6, 2 * 64e6},
		},
		{
			name: "traffic of other sockets", fixture: "zen4", source: "amd-df",
			rates: map[string]float64{"event=0x5f,umask=0x7fe": 1e6, "event=0x5f,umask=0xbfe": 5e5, "event=0x2df,umask=0xbff@4": 1e6},
			read:  64 * 3e6, write: 64e6, share: 0.75, nodes: []float64{64 * 1.5e6, 64 * 2.5e6}, sockets: []float64{64 * 1.5e6, 64 * 2.5e6},
		},
		{
			name: "units of read and write differ", fixture: "grace", source: "nvidia-scf",
			rates: map[string]float64{"cmem_rd_data": 1e6, "cmem_wr_total_bytes": 16e6},
			read:  64e6, write: 32e6, share: 2 / 3., nodes: []float64{48e6, 48e6}, sockets: []float64{48e6, 48e6},
		},
		{
			name: "free-running beside regular ones is not read", fixture: "icx", source: "imc",
			rates: map[string]float64{"cas_count_read": 1e6, "read": 4e6},
			read:  64 * 8e6, share: 1, nodes: []float64{64 * 4e6, 64 * 4e6}, sockets: []float64{64 * 4e6, 64 * 4e6},
		},
		{
			name: "client", fixture: "tgl", source: "imc-client",
			rates: map[string]float64{"data_read": 3e6, "data_write": 1e6, "data_total": 4e6},
			read:  64 * 6e6, write: 64 * 2e6, share: 0.75, nodes: []float64{64 * 8e6}, sockets: []float64{64 * 8e6},
		},
		{
			name: "doubtful bytes per count", fixture: "altra", source: "dmc620",
			rates: map[string]float64{"event=0x12,clkdiv2=1,mask=1,match=0": 1e6},
			read:  64 * 2e6, share: 1, nodes: []float64{64 * 2e6}, sockets: []float64{64 * 2e6}, warning: "is assumed",
		},
		{
			name: "ports", fixture: "power9", source: "power-nest",
			rates: map[string]float64{"PM_MCS01_128B_RD_DISP_PORT23": 1e6, "PM_MCS23_128B_WR_DISP_PORT01@4": 1e6},
			read:  64 * 2e6, write: 64e6, share: 2 / 3., nodes: []float64{64e6, 128e6}, sockets: []float64{64e6, 128e6},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			measure(t, tt.fixture, tt.source, profiler.Workload{Duration: time.Second}, func(m *machine) { m.counters.perSecond = tt.rates },
				func(t *testing.T, s profiler.Summary, err error) {
					if err != nil {
						t.Fatal(err)
					}
					if s.Source != tt.source || s.Scope != profiler.ScopeMachine || !near(s.Seconds, 1) {
						t.Errorf("source %s, scope %s, %v s", s.Source, s.Scope, s.Seconds)
					}
					if !near(float64(s.Read), tt.read) || !near(float64(s.Write), tt.write) {
						t.Errorf("read %v, write %v; want %v, %v", s.Read, s.Write, tt.read, tt.write)
					}
					switch {
					case tt.share == unknown && s.ReadShare != nil:
						t.Errorf("read share %v, want it unknown", *s.ReadShare)
					case tt.share != unknown && (s.ReadShare == nil || !near(*s.ReadShare, tt.share)):
						t.Errorf("read share %v, want %v", s.ReadShare, tt.share)
					}
					var nodes, sockets []float64
					for _, n := range s.PerNode {
						nodes = append(nodes, float64(n.Total()))
					}
					for _, n := range s.Counters.Sockets {
						sockets = append(sockets, float64(n.Total()))
					}
					if !slices.EqualFunc(nodes, tt.nodes, near) || !slices.EqualFunc(sockets, tt.sockets, near) {
						t.Errorf("nodes %v, sockets %v; want %v, %v", nodes, sockets, tt.nodes, tt.sockets)
					}
					if text := strings.Join(s.Warnings, "\n"); !strings.Contains(text, tt.warning) || (tt.warning == "" && text != "") {
						t.Errorf("warnings %q, want %q", text, tt.warning)
					}
					if s.Counters.LeastRunningShare != 1 || s.Counters.Background != nil {
						t.Errorf("running share %v, background %v", s.Counters.LeastRunningShare, s.Counters.Background)
					}
				})
		})
	}
}

func TestApart(t *testing.T) {
	for _, tt := range []struct {
		fixture, memory   string
		rates             map[string]float64
		total, read, writ float64
	}{
		{"spr-max", "HBM", map[string]float64{"uncore_imc_0/cas_count_read": 1e6, "uncore_hbm_1/cas_count_read": 4e6, "uncore_hbm_2/cas_count_write@8": 1e6}, 128e6, 2 * 4e6 * 32, 32e6},
		{"clx-optane", "persistent", map[string]float64{"cas_count_read": 1e6, "event=0xe3": 2e6, "event=0xe7@4": 1e6}, 4 * 64e6, 4 * 128e6, 2 * 64e6},
	} {
		measure(t, tt.fixture, "imc", profiler.Workload{Duration: time.Second}, func(m *machine) { m.counters.perSecond = tt.rates },
			func(t *testing.T, s profiler.Summary, err error) {
				if err != nil {
					t.Fatal(err)
				}
				if got := float64(s.Traffic.Total()); !near(got, tt.total) {
					t.Errorf("%s: total %v, want %v", tt.fixture, got, tt.total)
				}
				if len(s.Counters.OtherMemory) != 1 || s.Counters.OtherMemory[0].Memory != tt.memory ||
					!near(float64(s.Counters.OtherMemory[0].Read), tt.read) || !near(float64(s.Counters.OtherMemory[0].Write), tt.writ) {
					t.Errorf("%s: apart %+v, want %s with %v and %v", tt.fixture, s.Counters.OtherMemory, tt.memory, tt.read, tt.writ)
				}
				if !strings.Contains(strings.Join(s.Warnings, "\n"), tt.memory+" memory moved another") {
					t.Errorf("%s: warnings %q", tt.fixture, s.Warnings)
				}
			})
	}
}

func steady(m *machine) {
	m.counters.perSecond = map[string]float64{"cas_count_read": 3e6, "cas_count_write": 1e6}
}

// total is what steady traffic amounts to on the fixture icx.
const total = 8 * 4e6 * 64

func TestCommandBackground(t *testing.T) {
	measure(t, "icx", "imc", runs(time.Second), steady, func(t *testing.T, s profiler.Summary, err error) {
		if err != nil {
			t.Fatal(err)
		}
		b := s.Counters.Background
		nearTotal := func(got float64) bool { return math.Abs(got-total) < 1e-5*total } // 150 ms of whole counts
		if b == nil || !nearTotal(b.BeforeBytesPerSecond) || !nearTotal(b.AfterBytesPerSecond) {
			t.Errorf("background %+v, want %v", b, float64(total))
		}
		if !near(s.Seconds, 1) || !near(float64(s.Traffic.Total()), total) {
			t.Errorf("%v in %v s: the background windows are not part of the command", s.Traffic, s.Seconds)
		}
		if !strings.Contains(strings.Join(s.Warnings, "\n"), "before and") {
			t.Errorf("warnings %q, want one about the background", s.Warnings)
		}
	})
}

func TestTimelineFollowsTraffic(t *testing.T) {
	// The first channel of socket 0 moves something in the second half second
	// only.
	late := func(m *machine) {
		m.counters.spoil = func(label string, cpu int, since time.Duration, r *perf.CounterSample) error {
			if label == "uncore_imc_0/cas_count_read" && cpu == 0 {
				r.Values[0] = uint64(1e6 * max(since.Seconds()-0.5, 0) * 2)
			}
			return nil
		}
	}
	w := profiler.Workload{Duration: time.Second, Interval: 250 * time.Millisecond}
	measure(t, "icx", "imc", w, late, func(t *testing.T, s profiler.Summary, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Timeline) != 4 {
			t.Fatalf("%d samples, want 4: %+v", len(s.Timeline), s.Timeline)
		}
		for i, want := range []float64{0, 0, 128e6, 128e6} {
			if sample := s.Timeline[i]; !near(sample.Seconds, 0.25*float64(i+1)) || !near(sample.ReadBytesPerSecond, want) {
				t.Errorf("sample %d: %+v, want %v", i, sample, want)
			}
		}
		if spread := s.Counters.RelativeSpread; spread == nil || !near(*spread, 1) {
			t.Errorf("spread %v, want 1: the traffic is half of the time zero, half of the time twice the mean", spread)
		}
		if !near(float64(s.Read), 64e6) {
			t.Errorf("mean %v, want half of 128 MB/s", s.Read)
		}
	})
}

func TestMultiplexingIsScaled(t *testing.T) {
	share := func(s float64) func(*machine) {
		return func(m *machine) {
			steady(m)
			m.counters.running = func(label string, _ int, _ time.Duration) float64 {
				if strings.HasPrefix(label, "uncore_imc_1/") {
					return s
				}
				return 1
			}
		}
	}
	measure(t, "icx", "imc", profiler.Workload{Duration: time.Second}, share(0.25), func(t *testing.T, s profiler.Summary, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Traffic.Total()), total) || !near(s.Counters.LeastRunningShare, 0.25) {
			t.Errorf("%v, running share %v", s.Traffic, s.Counters.LeastRunningShare)
		}
		if !strings.Contains(strings.Join(s.Warnings, "\n"), "25%") {
			t.Errorf("warnings %q", s.Warnings)
		}
	})
	for _, barely := range []float64{0.04, 0} {
		measure(t, "icx", "imc", profiler.Workload{Duration: time.Second}, share(barely), func(t *testing.T, s profiler.Summary, err error) {
			if !errors.Is(err, errBarelyRan) || s.Counters != nil {
				t.Errorf("running share %v: %v, want %v and no result", barely, err, errBarelyRan)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	broken := errors.New("exit status 3")
	second := profiler.Workload{Duration: time.Second}
	for _, tt := range []struct {
		name   string
		w      profiler.Workload
		change func(*machine)
		is     error
		text   string
	}{
		{name: "not permitted", w: second, is: profiler.ErrUnsupported, text: "perf_event_paranoid is 2", change: func(m *machine) {
			m.counters.refuse = func(int, []perf.Event) error { return syscall.EACCES }
		}},
		{name: "the second instance is refused", w: second, is: syscall.EACCES, text: "on CPU 4", change: func(m *machine) {
			m.counters.refuse = func(cpu int, _ []perf.Event) error {
				if cpu == 4 {
					return syscall.EACCES
				}
				return nil
			}
		}},
		{name: "the event is refused", w: second, is: profiler.ErrInconclusive, text: "refuses the event", change: func(m *machine) {
			m.counters.refuse = func(int, []perf.Event) error { return syscall.EINVAL }
		}},
		{name: "in use", w: second, is: profiler.ErrInconclusive, text: "in use", change: func(m *machine) {
			m.counters.refuse = func(int, []perf.Event) error { return syscall.EBUSY }
		}},
		{name: "the device vanishes", w: second, is: perf.ErrVanished, text: "measure again", change: func(m *machine) {
			m.counters.spoil = func(_ string, _ int, since time.Duration, _ *perf.CounterSample) error {
				if since > 300*time.Millisecond {
					return fmt.Errorf("%w: reading", perf.ErrVanished)
				}
				return nil
			}
		}},
		{name: "a count falls", w: second, is: perf.ErrBackwards, text: "uncore_imc_0", change: func(m *machine) {
			m.counters.spoil = func(label string, cpu int, since time.Duration, r *perf.CounterSample) error {
				if since > 300*time.Millisecond && label == "uncore_imc_0/cas_count_read" && cpu == 0 {
					r.Values[0] = 1
				}
				return nil
			}
		}},
		{name: "nothing counts", w: second, is: profiler.ErrInconclusive, text: "stayed at zero", change: func(m *machine) { m.counters.perSecond = nil }},
		{name: "the command fails", w: profiler.Workload{Run: func(context.Context) error { return broken }}, is: broken},
		{name: "interval too short", w: profiler.Workload{Duration: time.Second, Interval: time.Millisecond}, text: "at least 10ms"},
		{name: "no workload", text: "either a command"},
		{name: "online CPUs unreadable", w: second, is: fs.ErrNotExist, text: "online", change: func(m *machine) {
			delete(m.sys, onlineFile)
		}},
		{name: "malformed cpumask", w: second, is: profiler.ErrInconclusive, text: "uncore_imc_1/cpumask", change: func(m *machine) {
			m.set("bus/event_source/devices/uncore_imc_1/cpumask", "0,x")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			measure(t, "icx", "imc", tt.w, func(m *machine) {
				steady(m)
				if tt.change != nil {
					tt.change(m)
				}
			}, func(t *testing.T, s profiler.Summary, err error) {
				if err == nil || (tt.is != nil && !errors.Is(err, tt.is)) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("error %v, want %v with %q", err, tt.is, tt.text)
				}
				if s.Counters != nil || s.Source != "" {
					t.Errorf("a result beside the error: %+v", s)
				}
			})
		})
	}
}

func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "icx")
		steady(m)
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		if _, err := m.source(t, "imc").Measure(ctx, profiler.Workload{Duration: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// TestRefusedGroups: where a driver allows no groups, events count alone.
func TestRefusedGroups(t *testing.T) {
	measure(t, "altra", "dmc620", profiler.Workload{Duration: time.Second}, func(m *machine) {
		m.counters.perSecond = map[string]float64{"event=0x12,clkdiv2=1,mask=1,match=0": 3e6, "event=0x12,clkdiv2=1,mask=1,match=1": 1e6}
		m.counters.refuse = func(_ int, events []perf.Event) error {
			if len(events) > 1 {
				return syscall.EINVAL
			}
			return nil
		}
	}, func(t *testing.T, s profiler.Summary, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Read), 64*6e6) || !near(float64(s.Write), 64*2e6) {
			t.Errorf("%v", s.Traffic)
		}
	})
}

// setAt changes files while they are in use; an empty content removes one.
func setAt(m *machine, after time.Duration, files map[string]string) {
	time.AfterFunc(after, func() {
		m.lock.Lock()
		defer m.lock.Unlock()
		for name, content := range files {
			if content == "" {
				delete(m.sys, name)
				continue
			}
			m.sys[name] = &fstest.MapFile{Data: []byte(content)}
		}
	})
}

func cpumasks(list string) map[string]string {
	files := map[string]string{}
	for i := range 4 {
		files[fmt.Sprintf("bus/event_source/devices/uncore_imc_%d/cpumask", i)] = list
	}
	return files
}

func TestHotPlug(t *testing.T) {
	w := profiler.Workload{Duration: time.Second}
	t.Run("the counters move", func(t *testing.T) {
		var fake *counters
		measure(t, "icx", "imc", w, func(m *machine) {
			steady(m)
			fake = m.counters
			gone := cpumasks("1,4")
			gone[onlineFile] = "1-7"
			setAt(m, 450*time.Millisecond, gone)
		}, func(t *testing.T, s profiler.Summary, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if !near(float64(s.Traffic.Total()), total) || len(s.PerNode) != 2 || !near(float64(s.PerNode[0].Read), 4*3e6*64) {
				t.Errorf("%v, %+v", s.Traffic, s.PerNode)
			}
			if text := strings.Join(s.Warnings, "\n"); !strings.Contains(text, "uncore_imc_3@0 moved from CPU 0 to CPU 1") {
				t.Errorf("warnings %q", text)
			}
			if want := 1 + 8 + 4; fake.opened != want { // the look before, 8 instances, 4 moves
				t.Errorf("opened %d groups, want %d", fake.opened, want)
			}
		})
	})
	t.Run("no CPU of the socket is left", func(t *testing.T) {
		measure(t, "icx", "imc", w, func(m *machine) {
			steady(m)
			gone := cpumasks("4")
			gone[onlineFile] = "4-7"
			setAt(m, 450*time.Millisecond, gone)
		}, func(t *testing.T, _ profiler.Summary, err error) {
			if !errors.Is(err, perf.ErrVanished) || !strings.Contains(err.Error(), "CPU 0") {
				t.Errorf("%v, want %v", err, perf.ErrVanished)
			}
		})
	})
	t.Run("a CPU that matters to no counter", func(t *testing.T) {
		measure(t, "icx", "imc", w, func(m *machine) {
			steady(m)
			setAt(m, 450*time.Millisecond, map[string]string{onlineFile: "0-2,4-7"})
		}, func(t *testing.T, s profiler.Summary, err error) {
			if err != nil || len(s.Warnings) > 0 || !near(float64(s.Traffic.Total()), total) {
				t.Errorf("%v, %q, %v", s.Traffic, s.Warnings, err)
			}
		})
	})
	t.Run("the new CPU is refused", func(t *testing.T) {
		measure(t, "icx", "imc", w, func(m *machine) {
			steady(m)
			gone := cpumasks("1,4")
			gone[onlineFile] = "1-7"
			setAt(m, 450*time.Millisecond, gone)
			m.counters.refuse = func(cpu int, _ []perf.Event) error {
				if cpu == 1 {
					return syscall.ENODEV
				}
				return nil
			}
		}, func(t *testing.T, _ profiler.Summary, err error) {
			if !errors.Is(err, syscall.ENODEV) {
				t.Errorf("%v, want %v", err, syscall.ENODEV)
			}
		})
	})
}

// TestEmptyCPUMask: the device's CPUs are all offline before the start.
func TestEmptyCPUMask(t *testing.T) {
	measure(t, "tgl", "imc-client", profiler.Workload{Duration: time.Second}, func(m *machine) {
		for i := range 2 {
			m.set(fmt.Sprintf("bus/event_source/devices/uncore_imc_free_running_%d/cpumask", i), "\n")
		}
	}, func(t *testing.T, _ profiler.Summary, err error) {
		if !errors.Is(err, profiler.ErrUnsupported) || !strings.Contains(err.Error(), "cpumask") {
			t.Errorf("%v, want %v about the cpumask", err, profiler.ErrUnsupported)
		}
	})
}

// module is a structure of SMBIOS type 17.
func module(transfers, bits int) string {
	data := make([]byte, 0x28)
	data[0], data[1] = 17, byte(len(data))
	data[0x0a] = byte(bits)
	data[0x0c], data[0x0d] = 0, 0x40
	data[0x12] = 0x1a
	data[0x20], data[0x21] = byte(transfers), byte(transfers>>8)
	return string(data)
}

func TestPeak(t *testing.T) {
	for _, tt := range []struct {
		name    string
		modules int
		peak    float64
	}{
		{"two modules a channel", 16, 8 * 2400e6 * 8},
		{"not every channel is populated", 4, 4 * 2400e6 * 8},
		{"no table", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			measure(t, "icx", "imc", profiler.Workload{Duration: time.Second}, func(m *machine) {
				steady(m)
				for i := range tt.modules {
					m.set(fmt.Sprintf("firmware/dmi/entries/17-%d/raw", i), module(2400, 64))
				}
			}, func(t *testing.T, s profiler.Summary, err error) {
				if err != nil {
					t.Fatal(err)
				}
				got := s.Counters.TheoreticalPeakBytesPerSecond
				if (got == nil) != (tt.peak == 0) || got != nil && !near(*got, tt.peak) {
					t.Errorf("peak %v, want %v", got, tt.peak)
				}
				if strings.Contains(strings.Join(s.Warnings, "\n"), "theoretical peak") {
					t.Errorf("flagged: %q", s.Warnings)
				}
			})
		})
	}
	measure(t, "icx", "imc", profiler.Workload{Duration: time.Second}, func(m *machine) {
		steady(m)
		m.set("firmware/dmi/entries/17-0/raw", module(200, 64))
	}, func(t *testing.T, s profiler.Summary, err error) {
		if err != nil || !strings.Contains(strings.Join(s.Warnings, "\n"), "counted twice") {
			t.Errorf("%v above a peak of 1.6 GB/s: %q, %v", s.Traffic, s.Warnings, err)
		}
	})
}

// TestMissingDevices: what cannot be read beside what can is no zero.
func TestMissingDevices(t *testing.T) {
	unknownModel := func(m *machine) {
		m.proc["cpuinfo"] = &fstest.MapFile{Data: []byte("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 250\n\n")}
	}
	nameless := func(devices ...string) func(*machine) {
		return func(m *machine) {
			unknownModel(m)
			for name := range m.sys {
				for _, d := range devices {
					if strings.HasPrefix(name, "bus/event_source/devices/"+d+"/events/") {
						delete(m.sys, name)
					}
				}
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*machine)
		want   string
	}{
		{"none", unknownModel, ""},
		{"one", nameless("uncore_imc_1"), "the traffic of uncore_imc_1 is missing"},
		{"many", nameless("uncore_imc_0", "uncore_imc_1", "uncore_imc_2", "uncore_imc_3", "uncore_imc_4"), "the traffic of uncore_imc_0, uncore_imc_1, uncore_imc_2, 2 more is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			measure(t, "skx", "imc", profiler.Workload{Duration: time.Second}, func(m *machine) {
				tt.change(m)
				m.counters.perSecond = map[string]float64{"cas_count_read": 1e6, "cas_count_write": 1e6}
			}, func(t *testing.T, s profiler.Summary, err error) {
				if err != nil {
					t.Fatal(err)
				}
				text := strings.Join(s.Warnings, "\n")
				if tt.want == "" && strings.Contains(text, "missing") || !strings.Contains(text, tt.want) {
					t.Errorf("warnings %q, want %q", s.Warnings, tt.want)
				}
			})
		})
	}
}
