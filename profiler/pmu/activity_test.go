package pmu

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
)

// repeating is a source that runs a workload several times, as the probe does,
// after it has got ready.
type repeating struct {
	ready time.Duration
	times int
	scope profiler.Scope
	err   error
}

func (repeating) Name() string { return "repeating" }

func (repeating) Available(context.Context) profiler.Availability {
	return profiler.Availability{State: profiler.Usable}
}

func (s repeating) Measure(ctx context.Context, w profiler.Workload) (profiler.Summary, error) {
	time.Sleep(s.ready)
	for range s.times {
		if err := w.Wait(ctx); err != nil {
			return profiler.Summary{}, err
		}
	}
	return profiler.Summary{Source: "repeating", Scope: s.scope}, s.err
}

// busySince makes /proc/stat say that the machine was busy for so many ticks
// when it is read for the second time.
func busySince(m *machine, ticks string) {
	m.proc["stat"] = &fstest.MapFile{Data: []byte("cpu 0 0 0 0 0 0 0\n")}
	m.Proc = changed{m.proc, ticks}
}

// changed is a procfs whose stat changes after it was read.
type changed struct {
	fstest.MapFS
	ticks string
}

func (c changed) Open(name string) (file fs.File, err error) {
	file, err = c.MapFS.Open(name)
	if name == "stat" {
		c.MapFS["stat"] = &fstest.MapFile{Data: []byte("cpu " + c.ticks + " 0 0 0 0 0 0\n")}
	}
	return file, err
}

// active are counters of tasks: half of a CPU, a billion instructions a second
// and ten context switches, for a second at most.
func active(m *machine) {
	m.counters.perSecond = map[string]float64{"task-clock": 5e8, "instructions": 1e9, "context-switches": 10}
	m.counters.spoil = func(_ string, cpu int, since time.Duration, r *perf.CounterSample) error {
		if cpu < 0 && since > time.Second {
			for i := range r.Values {
				r.Values[i] = uint64(float64(r.Values[i]) / since.Seconds())
			}
			r.Enabled, r.Running = time.Second, time.Second
		}
		return nil
	}
}

func TestActivityOfCommand(t *testing.T) {
	for _, tt := range []struct {
		name    string
		source  repeating
		passes  int
		command profiler.Workload
		cpu     float64
		other   bool
	}{
		{"once", repeating{times: 1}, 0, launches(1, time.Second), 0.5, true},
		{"several commands a pass", repeating{times: 1}, 3, launches(3, time.Second), 1.5, true},
		{"several passes", repeating{times: 4}, 2, launches(2, time.Second), 1, false},
		{"no whole pass", repeating{times: 1}, 2, launches(1, time.Second), -1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fixture(t, "skx")
				active(m)
				busySince(m, "200")
				s, err := WithActivity(tt.source, m.Host, tt.passes).Measure(t.Context(), tt.command)
				if err != nil {
					t.Fatal(err)
				}
				a := s.Activity
				if tt.cpu < 0 {
					if a != nil {
						t.Errorf("%+v of no whole pass", a)
					}
					return
				}
				if a == nil || !near(*a.CPUSeconds, tt.cpu) || !near(*a.Instructions, 2e9*tt.cpu) || !near(*a.ContextSwitches, 20*tt.cpu) || a.InstructionsUserOnly {
					t.Fatalf("%+v, want %v s", a, tt.cpu)
				}
				if (a.OtherCPUSeconds != nil) != tt.other || tt.other && !near(*a.OtherCPUSeconds, 2-tt.cpu) {
					t.Errorf("others %v of 2 s", a.OtherCPUSeconds)
				}
			})
		})
	}
}

func TestActivityOfProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		active(m)
		busySince(m, "300")
		w := profiler.Workload{Processes: &running{looks: [][]int{{1, 2}}}}
		s, err := WithActivity(repeating{times: 1, scope: profiler.ScopeMachine}, m.Host, 0).Measure(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if a := s.Activity; a == nil || !near(*a.CPUSeconds, 1) || !near(*a.OtherCPUSeconds, 2) {
			t.Errorf("%+v, want a second of two threads, and two of others", a)
		}
		if !strings.Contains(strings.Join(s.Warnings, "\n"), "other programs used 2 s") {
			t.Errorf("warnings %q", s.Warnings)
		}
	})
}

// TestActivityWhileMeasured: what processes did while a source got ready is no
// part of what it measured.
func TestActivityWhileMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		m.counters.perSecond = map[string]float64{"task-clock": 5e8}
		w := profiler.Workload{Processes: &running{looks: [][]int{{1}}}}
		s, err := WithActivity(repeating{ready: time.Minute, times: 1}, m.Host, 0).Measure(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if a := s.Activity; a == nil || !near(*a.CPUSeconds, 0.5) {
			t.Errorf("%+v, want half a second", a)
		}
	})
}

// TestActivityUnknown: what cannot be counted fails no measurement.
func TestActivityUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		m.counters.refuse = func(int, []perf.Event) error { return syscall.ENOSYS }
		for name, w := range map[string]profiler.Workload{
			"command":   launches(1, time.Second),
			"processes": {Processes: &running{looks: [][]int{{1}}}},
			"machine":   {Duration: time.Second},
		} {
			s, err := WithActivity(repeating{times: 1}, m.Host, 0).Measure(t.Context(), w)
			if err != nil || s.Activity != nil || s.Source != "repeating" {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
	})
}

func TestActivityFaults(t *testing.T) {
	broken := errors.New("broken")
	var growing [][]int
	for i := range 50 {
		growing = append(growing, []int{i + 1})
	}
	for _, tt := range []struct {
		name   string
		source repeating
		w      profiler.Workload
		change func(*machine)
		is     error
		text   string
	}{
		{name: "the source fails", source: repeating{err: broken}, w: launches(1, time.Second), is: broken},
		{name: "the processes have ended", source: repeating{}, w: profiler.Workload{Processes: &running{looks: [][]int{{}}}}, is: tasks.ErrEnded},
		{name: "no descriptor left", source: repeating{times: 1}, w: launches(1, time.Second), is: syscall.EMFILE, change: func(m *machine) {
			m.counters.refuse = func(int, []perf.Event) error { return syscall.EMFILE }
		}},
		{name: "unreadable", source: repeating{times: 2}, w: launches(1, time.Second), is: perf.ErrVanished, change: func(m *machine) {
			m.counters.spoil = func(string, int, time.Duration, *perf.CounterSample) error { return perf.ErrVanished }
		}},
		{name: "never steady", source: repeating{}, w: profiler.Workload{Processes: &running{looks: growing}}, text: "counted twice or not at all"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fixture(t, "skx") // which fails when counters stay open
				if tt.change != nil {
					tt.change(m)
				}
				s, err := WithActivity(tt.source, m.Host, 0).Measure(t.Context(), tt.w)
				if !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) || !strings.Contains(strings.Join(s.Warnings, "\n"), tt.text) {
					t.Errorf("%v, %q; want %v, %q", err, s.Warnings, tt.is, tt.text)
				}
			})
		})
	}
}

func TestMissesOfProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		m.counters.perSecond = map[string]float64{"cache-misses": 1e6}
		m.counters.refuse = func(_ int, events []perf.Event) error {
			if !events[0].UserOnly {
				return syscall.EACCES
			}
			return nil
		}
		s, err := misses{m.Host}.Measure(t.Context(), profiler.Workload{Processes: &running{looks: [][]int{{1, 2}}}, Duration: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Read), 2*64e6) || s.Scope != profiler.ScopeProcesses || !near(s.Seconds, 1) {
			t.Errorf("%v over %v s, scope %s; want both threads until they ended", s.Read, s.Seconds, s.Scope)
		}
		if !strings.Contains(strings.Join(s.Warnings, "\n"), "misses in the kernel are not permitted") {
			t.Errorf("warnings %q", s.Warnings)
		}
	})
}
