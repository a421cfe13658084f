package pmu

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/perf"
)

// launches is a workload that starts a number of commands, each of which takes a
// time, as a launcher does.
func launches(n int, each time.Duration) profiler.Workload {
	return profiler.Workload{Run: func(ctx context.Context) error {
		for range n {
			release, err := profiler.BeforeLaunch(ctx)
			if err != nil {
				return err
			}
			if err := errors.Join(pause(ctx, each), release()); err != nil {
				return err
			}
		}
		return nil
	}}
}

func TestMissesOfCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		m.counters.perSecond = map[string]float64{"cache-misses": 1e6}
		// The fake counts on after the command; one command keeps that out.
		s, err := misses{m.Host}.Measure(t.Context(), launches(1, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Read), 64e6) || s.ReadShare != nil || s.Scope != profiler.ScopeCommand || s.Source != CacheMisses {
			t.Errorf("%+v", s)
		}
		if len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0], "underestimate") {
			t.Errorf("warnings %q", s.Warnings)
		}
		if len(s.Timeline) != 10 {
			t.Errorf("%d samples, want 10", len(s.Timeline))
		}
	})
}

func TestMissesOfSeveralCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		m.counters.spoil = func(_ string, _ int, since time.Duration, r *perf.CounterSample) error {
			r.Enabled, r.Running = min(since, time.Second), min(since, time.Second)
			r.Values[0] = uint64(1e6 * r.Running.Seconds())
			return nil
		}
		s, err := misses{m.Host}.Measure(t.Context(), launches(3, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if !near(s.Seconds, 3) || !near(float64(s.Read), 64e6) {
			t.Errorf("%v in %v s, want 64 MB/s over all three", s.Read, s.Seconds)
		}
	})
}

func TestMissesOfMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		m.counters.perSecond = map[string]float64{"cache-misses": 1e6}
		s, err := misses{m.Host}.Measure(t.Context(), profiler.Workload{Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Read), 8*64e6) || s.ReadShare != nil || s.Scope != profiler.ScopeCores {
			t.Errorf("%+v", s)
		}
	})
}

func TestMissesFaults(t *testing.T) {
	broken := errors.New("exit status 1")
	for _, tt := range []struct {
		name   string
		w      profiler.Workload
		change func(*machine)
		is     error
		text   string
	}{
		{"no hardware counters", launches(1, time.Second), func(m *machine) {
			m.counters.refuse = func(int, []perf.Event) error { return syscall.ENOENT }
		}, profiler.ErrUnsupported, "no hardware counters"},
		{"none in a guest", launches(1, time.Second), func(m *machine) {
			m.Machine.VirtualMachine, m.Machine.Hypervisor = true, "KVM"
			m.counters.refuse = func(int, []perf.Event) error { return syscall.EOPNOTSUPP }
		}, profiler.ErrUnsupported, "pmu=on"},
		{"whole CPUs are not permitted", profiler.Workload{Duration: time.Second}, func(m *machine) {
			m.counters.refuse = func(cpu int, _ []perf.Event) error {
				if cpu >= 0 {
					return syscall.EACCES
				}
				return nil
			}
		}, profiler.ErrUnsupported, "CAP_PERFMON"},
		{"barely counted", launches(1, time.Second), func(m *machine) {
			m.counters.running = func(string, int, time.Duration) float64 { return 0.01 }
		}, errBarelyRan, "1.0%"},
		{"nothing launched", runs(time.Second), nil, nil, "started no command"},
		{"the command fails", profiler.Workload{Run: func(context.Context) error { return broken }}, nil, broken, ""},
		{"unreadable", launches(1, time.Second), func(m *machine) {
			m.counters.spoil = func(string, int, time.Duration, *perf.CounterSample) error { return perf.ErrVanished }
		}, perf.ErrVanished, ""},
		{"no workload", profiler.Workload{}, nil, nil, "either"},
		{"interval", profiler.Workload{Duration: time.Second, Interval: 1}, nil, nil, "interval"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fixture(t, "skx")
				if tt.change != nil {
					tt.change(m)
				}
				s, err := misses{m.Host}.Measure(t.Context(), tt.w)
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%+v, %v; want %v with %q", s, err, tt.is, tt.text)
				}
			})
		})
	}
}
