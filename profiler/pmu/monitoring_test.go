package pmu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/sysfile"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/resctrl"
	"bandmate.dev/bandmate/profiler/pmu/tasks"
)

// mounted is resctrl's groups in a test's file system: totals rise by the clock.
type mounted struct {
	*machine
	since  time.Time
	create error
	// made and joined record what was asked.
	made, removed []string
	joined        []string
	// places and gone are what threads answer that are not in the default group.
	places map[int]resctrl.Place
	gone   map[int]error
	// value overrides the text of a counter after a time.
	value func(since time.Duration, domain int) (string, bool)
}

// mount puts a resctrl file system into m.
func mount(m *machine) *mounted {
	g := &mounted{machine: m, since: time.Now()}
	m.set(resctrl.Root+"/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n")
	m.Monitoring = g
	m.Sys = counting{g}
	g.folder("")
	return g
}

func (g *mounted) folder(group string) {
	for domain := range 2 {
		g.set(fmt.Sprintf("%s/%smon_data/mon_L3_%02d/mbm_total_bytes", resctrl.Root, group, domain), "0")
	}
}

func (g *mounted) PlaceOf(thread int) (resctrl.Place, error) {
	if place, ok := g.places[thread]; ok {
		return place, nil
	}
	return resctrl.Place{}, g.gone[thread]
}

func (g *mounted) Create(name, class string) (string, error) {
	if g.create != nil {
		return "", g.create
	}
	group := path.Join(class, "mon_groups", name)
	g.made = append(g.made, group)
	g.folder(group + "/")
	return group, nil
}

func (g *mounted) Join(group string, thread int) error {
	if err := g.gone[thread]; err != nil {
		return err
	}
	g.joined = append(g.joined, group)
	return nil
}

func (g *mounted) Return(place resctrl.Place, _ int) error {
	g.joined = append(g.joined, place.Class+place.Monitor)
	return nil
}

func (g *mounted) Remove(group string) error {
	g.removed = append(g.removed, group)
	for name := range g.sys {
		if strings.HasPrefix(name, resctrl.Root+"/"+group+"/") {
			delete(g.sys, name)
		}
	}
	return nil
}

// counting is a sysfs whose bandwidth totals rise by 1 and 2 GB/s.
type counting struct{ *mounted }

func (c counting) Open(name string) (fs.File, error) {
	for domain := range 2 {
		if !strings.HasSuffix(name, fmt.Sprintf("mon_L3_%02d/mbm_total_bytes", domain)) {
			continue
		}
		if _, ok := c.sys[name]; !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		since := time.Since(c.since)
		text := fmt.Sprintf("%d\n", 1e6+uint64(since.Seconds()*1e9*float64(domain+1)))
		if c.value != nil {
			if v, ok := c.value(since, domain); ok {
				text = v
			}
		}
		return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
	}
	return c.sys.Open(name)
}

func TestMonitoringOfCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		g := mount(m)
		s, err := monitoring{m.Host}.Measure(t.Context(), launches(2, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Read), 3e9) || s.ReadShare != nil || s.Scope != profiler.ScopeCommand || !near(s.Seconds, 2) || len(s.Timeline) != 20 {
			t.Errorf("%v over %v s in %d samples, read share %v, scope %s", s.Read, s.Seconds, len(s.Timeline), s.ReadShare, s.Scope)
		}
		// One group to see whether that works, one to measure in.
		if len(g.made) != 2 || !slices.Equal(g.made, g.removed) {
			t.Errorf("made %q, removed %q", g.made, g.removed)
		}
		group := g.made[1]
		if !slices.Equal(g.joined, []string{group, "", group, ""}) {
			t.Errorf("threads joined %q, want each start inside and back", g.joined)
		}
	})
}

func TestMonitoringOfMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		mount(m).folder("batch/")
		s, err := monitoring{m.Host}.Measure(t.Context(), profiler.Workload{Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Read), 6e9) || s.Scope != profiler.ScopeCores {
			t.Errorf("%v, scope %s; want both control groups", s.Read, s.Scope)
		}
	})
}

func TestMonitoringGaps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value func(time.Duration, int) (string, bool)
		text  string
		is    error
		gaps  bool
	}{
		{name: "no value for a while", gaps: true, value: func(since time.Duration, domain int) (string, bool) {
			return "Unavailable\n", domain == 1 && since > 250*time.Millisecond && since < 450*time.Millisecond
		}},
		{name: "no value at first", gaps: true, value: func(since time.Duration, _ int) (string, bool) {
			return "Unavailable\n", since < 150*time.Millisecond
		}},
		{name: "never a value", is: profiler.ErrInconclusive, text: "Unavailable", value: func(time.Duration, int) (string, bool) { return "Unavailable\n", true }},
		{name: "hardware error", is: resctrl.ErrCounter, value: func(since time.Duration, _ int) (string, bool) {
			return "Error\n", since > 500*time.Millisecond
		}},
		{name: "malformed", is: sysfile.ErrMalformed, value: func(time.Duration, int) (string, bool) { return "lots\n", true }},
		{name: "falls", text: "fell", value: func(since time.Duration, _ int) (string, bool) { return "5\n", since > 500*time.Millisecond }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fixture(t, "skx")
				g := mount(m)
				g.value = tt.value
				s, err := monitoring{m.Host}.Measure(t.Context(), launches(1, time.Second))
				if !slices.Equal(g.made, g.removed) {
					t.Errorf("made %q, removed %q", g.made, g.removed)
				}
				if !tt.gaps {
					if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
						t.Errorf("%v, want %v with %q", err, tt.is, tt.text)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if !near(float64(s.Read), 3e9) || len(s.Timeline) >= 10 || !strings.Contains(strings.Join(s.Warnings, "\n"), "no value for the group") {
					t.Errorf("%v in %d samples, %q", s.Read, len(s.Timeline), s.Warnings)
				}
			})
		})
	}
}

func TestMonitoringAvailable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*machine, *mounted)
		state  profiler.State
		text   string
	}{
		{"works", func(*machine, *mounted) {}, profiler.Usable, ""},
		{"not mounted", func(m *machine, _ *mounted) {
			delete(m.sys, resctrl.Root+"/info/L3_MON/mon_features")
			m.proc["filesystems"] = &fstest.MapFile{Data: []byte("nodev\tsysfs\nnodev\tresctrl\n")}
		}, profiler.Unsupported, "mount -t resctrl"},
		{"not offered", func(m *machine, _ *mounted) { delete(m.sys, resctrl.Root+"/info/L3_MON/mon_features") }, profiler.Unsupported, "does not offer"},
		{"no bandwidth", func(m *machine, _ *mounted) {
			m.set(resctrl.Root+"/info/L3_MON/mon_features", "llc_occupancy\n")
		}, profiler.Unsupported, "only llc_occupancy"},
		{"not permitted", func(_ *machine, g *mounted) { g.create = fs.ErrPermission }, profiler.Unsupported, "run as root"},
		{"no group left", func(_ *machine, g *mounted) { g.create = unix.ENOSPC }, profiler.Inconclusive, "in use"},
		{"no groups", func(m *machine, _ *mounted) { m.Monitoring = nil }, profiler.Unsupported, "no monitoring group"},
		{"odd", func(_ *machine, g *mounted) { g.create = errors.New("odd") }, profiler.Inconclusive, "odd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fixture(t, "skx")
			g := mount(m)
			tt.change(m, g)
			a := monitoring{m.Host}.Available(context.Background())
			if a.State != tt.state || !strings.Contains(a.Reason+" "+a.Remedy, tt.text) {
				t.Errorf("%+v, want %s with %q", a, tt.state, tt.text)
			}
		})
	}
}

// running are processes that run already; with looks, their threads change.
type running struct {
	looks [][]int
}

func (r *running) Threads() ([]int, error) {
	now := r.looks[0]
	if len(r.looks) > 1 {
		r.looks = r.looks[1:]
	}
	return now, nil
}

func (*running) Wait(ctx context.Context) error { return pause(ctx, time.Second) }
func (*running) String() string                 { return "process 1 and its descendants" }

func TestMonitoringOfProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fixture(t, "skx")
		g := mount(m)
		g.places = map[int]resctrl.Place{3: {Class: "batch"}}
		g.gone = map[int]error{4: unix.ESRCH}
		s, err := monitoring{m.Host}.Measure(t.Context(), profiler.Workload{Processes: &running{looks: [][]int{{1, 3, 4}, {1, 2, 3}}}})
		if err != nil {
			t.Fatal(err)
		}
		if !near(float64(s.Read), 6e9) || s.ReadShare != nil || s.Scope != profiler.ScopeProcesses || !near(s.Seconds, 1) {
			t.Errorf("%v over %v s, read share %v, scope %s; want what both groups moved", s.Read, s.Seconds, s.ReadShare, s.Scope)
		}
		if len(g.made) != 3 || !slices.Equal(g.made, g.removed) {
			t.Fatalf("made %q, removed %q", g.made, g.removed)
		}
		plain, batch := g.made[1], g.made[2]
		if !strings.HasPrefix(batch, "batch/") || !slices.Equal(g.joined, []string{plain, batch, plain}) {
			t.Errorf("threads joined %q, want each the group in its class", g.joined)
		}
	})
}

func TestMonitoringOfProcessesFaults(t *testing.T) {
	var growing [][]int
	for i := range 2 * gatherAttempts {
		growing = append(growing, []int{i + 1})
	}
	for _, tt := range []struct {
		name   string
		looks  [][]int
		places map[int]resctrl.Place
		is     error
		text   string
	}{
		{name: "ended", looks: [][]int{{}}, is: tasks.ErrEnded},
		{name: "in a group of another tool", looks: [][]int{{1}}, places: map[int]resctrl.Place{1: {Monitor: "kepler"}}, is: profiler.ErrUnsupported, text: "kepler"},
		{name: "never steady", looks: growing, text: "1 of them may be missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fixture(t, "skx")
				g := mount(m)
				g.places = tt.places
				s, err := monitoring{m.Host}.Measure(t.Context(), profiler.Workload{Processes: &running{looks: tt.looks}})
				if !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) || !strings.Contains(fmt.Sprint(err, s.Warnings), tt.text) {
					t.Errorf("%v with %q, want %v with %q", err, s.Warnings, tt.is, tt.text)
				}
				if !slices.Equal(g.made, g.removed) {
					t.Errorf("made %q, removed %q", g.made, g.removed)
				}
			})
		})
	}
}
