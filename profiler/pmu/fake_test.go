package pmu

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"bandmate.dev/bandmate/internal/golden"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/topology"
)

// machine is a host made of a fixture, with counters that run by the clock.
type machine struct {
	*Host
	sys, proc fstest.MapFS
	// lock guards sys while a test changes it during a measurement.
	lock     sync.Mutex
	counters *counters
}

// changing is the machine's sysfs, which a test may change while it is read.
type changing struct{ *machine }

func (c changing) Open(name string) (fs.File, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.sys.Open(name)
}

// fixture reads testdata/NAME.txtar, files under sys/ and proc/.
func fixture(t testing.TB, name string) *machine {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{sys: fstest.MapFS{}, proc: fstest.MapFS{}, counters: &counters{perSecond: map[string]float64{}}}
	for _, f := range archive.Files {
		if path, ok := strings.CutPrefix(f.Name, "sys/"); ok {
			m.sys[path] = &fstest.MapFile{Data: f.Data}
		} else if path, ok := strings.CutPrefix(f.Name, "proc/"); ok {
			m.proc[path] = &fstest.MapFile{Data: f.Data}
		}
	}
	topo, err := topology.Read(m.sys, m.proc)
	if err != nil {
		t.Fatal(err)
	}
	m.Host = &Host{Sys: changing{m}, Proc: m.proc, Machine: topo, Opener: m.counters}
	t.Cleanup(func() {
		if m.counters.open != 0 {
			t.Errorf("%d counters left open", m.counters.open)
		}
	})
	return m
}

func (m *machine) set(name, content string) { m.sys[name] = &fstest.MapFile{Data: []byte(content)} }

func (m *machine) source(t testing.TB, name string) *controllers {
	t.Helper()
	for _, s := range MemoryControllers(m.Host) {
		if c, ok := s.(*controllers); ok && c.name == name {
			return c
		}
	}
	t.Fatalf("no source %s", name)
	return nil
}

// counters is an opener whose events count at fixed rates. It counts what is
// open.
type counters struct {
	// perSecond are counts per second, by "LABEL@CPU", "LABEL" or a suffix of the
	// label after its slash.
	perSecond map[string]float64
	// refuse returns an error for what may not be opened.
	refuse func(cpu int, events []perf.Event) error
	// running is the share of the time in which an event counts; nil means 1.
	running func(label string, cpu int, since time.Duration) float64
	// spoil changes a reading.
	spoil func(label string, cpu int, since time.Duration, r *perf.CounterSample) error

	open, opened int
}

func (c *counters) rate(label string, cpu int) float64 {
	_, event, _ := strings.Cut(label, "/")
	for _, key := range []string{fmt.Sprintf("%s@%d", label, cpu), label, fmt.Sprintf("%s@%d", event, cpu), event} {
		if r, ok := c.perSecond[key]; ok {
			return r
		}
	}
	return 0
}

func (c *counters) OpenCPU(cpu int, events []perf.Event) (perf.Group, error) {
	if c.refuse != nil {
		if err := c.refuse(cpu, events); err != nil {
			return nil, fmt.Errorf("%s on CPU %d: %w", events[0].Label, cpu, err)
		}
	}
	c.open++
	c.opened++
	return &group{counters: c, cpu: cpu, events: events, since: time.Now()}, nil
}

func (c *counters) OpenCommand(e perf.Event) (perf.Group, error) {
	return c.OpenCPU(-1, []perf.Event{e})
}

// OpenThread counts by the label alone, like everything else here.
func (c *counters) OpenThread(_ int, e perf.Event) (perf.Group, error) {
	return c.OpenCPU(-1, []perf.Event{e})
}

type group struct {
	*counters
	cpu    int
	events []perf.Event
	since  time.Time
	closed bool
}

func (g *group) Read(r *perf.CounterSample) error {
	if g.closed {
		return fmt.Errorf("read after close: %w", fs.ErrClosed)
	}
	since, share := time.Since(g.since), 1.0
	label := g.events[0].Label
	if g.running != nil {
		share = g.running(label, g.cpu, since)
	}
	r.Enabled, r.Running = since, time.Duration(share*float64(since))
	r.Values = r.Values[:0]
	for _, e := range g.events {
		r.Values = append(r.Values, uint64(g.rate(e.Label, g.cpu)*r.Running.Seconds()))
	}
	if g.spoil != nil {
		return g.spoil(label, g.cpu, since, r)
	}
	return nil
}

func (g *group) Close() error {
	if g.closed {
		return fmt.Errorf("closed twice: %w", fs.ErrClosed)
	}
	g.closed = true
	g.open--
	return nil
}

func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Want(t, filepath.Join("testdata", name+".golden"), []byte(got))
}

func pause(ctx context.Context, d time.Duration) error {
	return profiler.Workload{Duration: d}.Wait(ctx)
}
