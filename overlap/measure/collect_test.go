package measure

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

const gigabyte = units.GigabytePerSecond

// madeUp is a machine of which each core streams 5 GB/s and messages come with 4,
// and each loses a tenth beside the other; some tags and samples are off.
type madeUp struct {
	// tags are handed out in turn; the last one stays.
	tags []regime.Tag
	// outlier is a sample, by number, with ten times the bandwidth.
	outlier int
	// nothing is a sample, by number, in which nothing happens.
	nothing int
	fault   error
	samples int
	order   []condition
}

var (
	near = regime.Tag{Class: regime.SameComplex, RoundTrip: 80 * time.Nanosecond}
	far  = regime.Tag{Class: regime.CrossComplex, RoundTrip: 400 * time.Nanosecond}
)

func (m *madeUp) tag(context.Context) (regime.Tag, error) {
	if len(m.tags) == 0 {
		return near, nil
	}
	t := m.tags[0]
	if len(m.tags) > 1 {
		m.tags = m.tags[1:]
	}
	if t.Class == "" {
		return t, regime.ErrInconclusive
	}
	return t, nil
}

func (m *madeUp) sample(_ context.Context, c condition, cores int) (overlap.Bandwidths, error) {
	m.samples++
	m.order = append(m.order, c)
	factor := units.Bandwidth(1)
	if m.samples == m.outlier {
		factor = 10
	}
	if m.samples == m.nothing {
		return overlap.Bandwidths{}, errNoTraffic
	}
	computing, communicating := 5*gigabyte*units.Bandwidth(cores)*factor, 4*gigabyte*factor
	switch c {
	case computationAlone:
		return overlap.Bandwidths{Computation: computing}, m.fault
	case communicationAlone:
		return overlap.Bandwidths{Communication: communicating}, m.fault
	case together:
	}
	return overlap.Bandwidths{Computation: computing * 0.9, Communication: communicating * 0.9}, m.fault
}

func collecting(cores, parts, repeats int) *collection {
	o := Options{Parts: parts, Repeats: repeats, Seed: 3}
	for cpu := range cores {
		o.Cores.Computing = append(o.Cores.Computing, cpu)
	}
	return &collection{options: o, placements: 1}
}

func TestCollect(t *testing.T) {
	c, m := collecting(3, 2, 3), &madeUp{outlier: 7}
	var told []string
	c.options.Progress = func(done, total int, next string) {
		if total != 18 || done != len(told) {
			t.Errorf("%d of %d before sample %d of 18", done, total, len(told))
		}
		told = append(told, next)
	}
	points, err := c.collect(t.Context(), m, overlap.Placement{})
	if err != nil || len(points) != 6 || m.samples != 3*6*3 {
		t.Fatalf("%d points of %d samples, %v", len(points), m.samples, err)
	}
	for i, p := range points {
		want := overlap.Bandwidths{Computation: 5 * gigabyte * units.Bandwidth(i+1), Communication: 4 * gigabyte}
		if p.Cores != i+1 || p.Repeats != 3 || p.Alone != want || math.Abs(float64(p.Together.Computation/want.Computation)-0.9) > 1e-12 {
			t.Errorf("%+v", p)
		}
		if computation, communication := p.Loss(); math.Abs(computation-1/0.9) > 1e-12 || math.Abs(communication-1/0.9) > 1e-12 {
			t.Errorf("loss %v and %v", computation, communication)
		}
	}
	if !strings.HasSuffix(told[0], "/2") {
		t.Errorf("progress says %q of half cores", told[0])
	}
	// No condition is always the first.
	first := map[condition]bool{}
	for i := 0; i < len(m.order); i += 3 {
		first[m.order[i]] = true
		if m.order[i] == m.order[i+1] || m.order[i+1] == m.order[i+2] || m.order[i] == m.order[i+2] {
			t.Errorf("conditions %v of one sample", m.order[i:i+3])
		}
	}
	if len(first) < 2 {
		t.Errorf("always %v first", first)
	}
}

// What moved does not count, nor what was far apart when most were near.
func TestCollectRegimes(t *testing.T) {
	c := collecting(1, 1, 3)
	m := &madeUp{tags: []regime.Tag{near, far, far, far, {}, near}}
	points, err := c.collect(t.Context(), m, overlap.Placement{})
	if err != nil || points[0].Repeats != 3 {
		t.Fatalf("%+v, %v", points, err)
	}
	// One moved, one was far, one was not to be told.
	if c.dropped != 3 || c.wanted != regime.SameComplex {
		t.Errorf("%d dropped, %s wanted", c.dropped, c.wanted)
	}
	// The next placement is held to the same regime.
	_, err = c.collect(t.Context(), &madeUp{tags: []regime.Tag{far}}, overlap.Placement{ComputationNode: 1})
	if !errors.Is(err, ErrUnsteady) {
		t.Errorf("another regime is taken: %v", err)
	}
	if _, err := collecting(1, 1, 1).collect(t.Context(), &madeUp{tags: []regime.Tag{{}}}, overlap.Placement{}); !errors.Is(err, ErrUnsteady) {
		t.Errorf("no regime at all: %v", err)
	}
}

// A point with fewer repeats than were asked for counts those that it has.
func TestCollectTooFewRepeats(t *testing.T) {
	c := collecting(1, 2, 3)
	m := &madeUp{tags: []regime.Tag{near, near, near, near, near, near, {}}}
	points, err := c.collect(t.Context(), m, overlap.Placement{})
	if n := kept(points); n != 3 || err != nil {
		t.Errorf("%d samples are kept of three that could be told: %+v, %v", n, points, err)
	}
}

// A sample in which a busy machine let nothing happen is taken again.
func TestCollectNothing(t *testing.T) {
	c := collecting(1, 1, 2)
	points, err := c.collect(t.Context(), &madeUp{nothing: 2}, overlap.Placement{})
	if err != nil || points[0].Repeats != 2 || c.dropped != 1 {
		t.Errorf("%+v, %d dropped, %v", points, c.dropped, err)
	}
}

func TestCollectFails(t *testing.T) {
	want := errors.New("no memory")
	_, err := collecting(2, 1, 1).collect(t.Context(), &madeUp{fault: want}, overlap.Placement{})
	if !errors.Is(err, want) || !strings.Contains(err.Error(), "computing cores: ") {
		t.Error(err)
	}
}

func TestOneRepeatHasNoSpread(t *testing.T) {
	points, err := collecting(2, 1, 1).collect(t.Context(), &madeUp{}, overlap.Placement{CommunicationNode: 2})
	if err != nil || !math.IsNaN(points[0].TogetherSpread.Computation) {
		t.Fatalf("%+v, %v", points, err)
	}
	r := Result{Points: points, Parts: 1}
	var b bytes.Buffer
	if err := r.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), ",,,,,1,1\n") {
		t.Errorf("a spread of one repeat:\n%s", &b)
	}
	again, err := overlap.ReadSweep(&b, "sweep.csv")
	if err != nil || len(again) != 2 || again[1] != r.Points[1].Point {
		t.Errorf("%+v, %v", again, err)
	}
}
