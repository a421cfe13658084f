package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// condition is what runs during a sample.
type condition int

// The conditions. CPUs that take no part spin, so that no condition runs at a higher
// clock than another.
const (
	computationAlone condition = iota
	communicationAlone
	together
)

func (c condition) String() string {
	return [...]string{"computation alone", "communication alone", "both"}[c]
}

// sampler is the machine at one placement, or a fake one.
type sampler interface {
	// tag returns the regime of receiver and computation at this moment.
	tag(ctx context.Context) (regime.Tag, error)
	// sample measures a condition with so many computing cores.
	sample(ctx context.Context, c condition, cores int) (overlap.Bandwidths, error)
}

// errNoTraffic is a sample in which a busy machine let one side do nothing.
var errNoTraffic = errors.New("no traffic")

// ErrUnsteady is returned if the CPUs moved so often that a point has no sample.
var ErrUnsteady = errors.New("the CPUs moved, or could not be had together, during too many samples: measure again at a quieter time, or have the host pin the virtual CPUs")

// collection collects the samples of all placements; all of one regime count.
type collection struct {
	options    Options
	placements int
	tally      regime.Tally
	// wanted is the regime of the placements measured so far; empty at first.
	wanted   regime.Class
	done     int
	dropped  int
	warnings []string
}

// triple is the result of one visit to a point.
type triple struct {
	class           regime.Class
	alone, together overlap.Bandwidths
}

// A point is visited at most attempts × repeats + spare times.
const (
	attempts = 4
	spare    = 50
)

// collect visits every number of cores, in a new order each round, until each
// has its repeats in one regime.
func (c *collection) collect(ctx context.Context, s sampler, at overlap.Placement) ([]Point, error) {
	steps := c.options.Parts * len(c.options.Cores.Computing)
	samples := make([][]triple, steps+1)
	order := make([]int, steps)
	for i := range order {
		order[i] = i + 1
	}
	draw := rand.New(rand.NewPCG(c.options.Seed, uint64(at.ComputationNode)<<32|uint64(at.CommunicationNode)))
	total := c.placements * steps * c.options.Repeats
	for round := range attempts*c.options.Repeats + spare {
		draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		missing := false
		class := c.class(samples)
		for _, n := range order {
			if count(samples[n], class) >= c.options.Repeats {
				continue
			}
			missing = true
			if c.options.Progress != nil {
				c.options.Progress(c.done, total+c.dropped, c.label(n, at))
			}
			t, kept, err := c.visit(ctx, s, n, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.label(n, at), err)
			}
			c.done++
			if !kept {
				c.dropped++
				continue
			}
			samples[n] = append(samples[n], t)
		}
		if !missing {
			break
		}
	}
	return c.points(samples, at)
}

func (c *collection) label(n int, at overlap.Placement) string {
	what := fmt.Sprintf("computing cores: %d", n)
	if c.options.Parts > 1 {
		what = fmt.Sprintf("computing cores: %d/%d", n, c.options.Parts)
	}
	if c.placements > 1 {
		what += fmt.Sprintf(", data on nodes %d and %d", at.ComputationNode, at.CommunicationNode)
	}
	return what
}

// visit measures the three conditions of a point one after the other, between two
// probes of the regime.
func (c *collection) visit(ctx context.Context, s sampler, n, round int) (t triple, kept bool, err error) {
	before, err := s.tag(ctx)
	if errors.Is(err, regime.ErrInconclusive) {
		return t, false, nil
	}
	if err != nil {
		return t, false, err
	}
	began := time.Now()
	for i := range 3 {
		condition := condition((i + round) % 3)
		if round%2 == 1 {
			condition = together - condition
		}
		b, err := s.sample(ctx, condition, n)
		if errors.Is(err, errNoTraffic) {
			return t, false, nil
		}
		if err != nil {
			return t, false, fmt.Errorf("%s: %w", condition, err)
		}
		switch condition {
		case computationAlone:
			t.alone.Computation = b.Computation
		case communicationAlone:
			t.alone.Communication = b.Communication
		case together:
			t.together = b
		}
	}
	after, err := s.tag(ctx)
	if errors.Is(err, regime.ErrInconclusive) {
		return t, false, nil
	}
	if err != nil {
		return t, false, err
	}
	t.class = before.Class
	return t, c.tally.Add(before, after, time.Since(began)), nil
}

// class returns the regime whose samples count: that of the placements before, or
// else the most frequent so far.
func (c *collection) class(samples [][]triple) regime.Class {
	if c.wanted != "" {
		return c.wanted
	}
	var main regime.Class
	most := 0
	for _, class := range regime.Classes() {
		seen := 0
		for _, s := range samples {
			seen += count(s, class)
		}
		if seen > most {
			main, most = class, seen
		}
	}
	return main
}

func count(samples []triple, class regime.Class) int {
	n := 0
	for _, t := range samples {
		if t.class == class {
			n++
		}
	}
	return n
}

// points takes the medians of the samples that count.
func (c *collection) points(samples [][]triple, at overlap.Placement) ([]Point, error) {
	class := c.class(samples)
	c.wanted = class
	var points []Point
	for n, all := range samples {
		if n == 0 {
			continue
		}
		counting := slices.DeleteFunc(slices.Clone(all), func(t triple) bool { return t.class != class })
		c.dropped += len(all) - len(counting)
		if len(counting) == 0 {
			return nil, fmt.Errorf("%s: %w", c.label(n, at), ErrUnsteady)
		}
		if len(counting) < c.options.Repeats {
			c.warnings = append(c.warnings, fmt.Sprintf("%s: %d of %d repeats, because the CPUs moved", c.label(n, at), len(counting), c.options.Repeats))
		}
		points = append(points, summarize(counting, n, at))
	}
	return points, nil
}

func summarize(samples []triple, cores int, at overlap.Placement) Point {
	p := Point{Point: overlap.Point{Placement: at, Cores: cores}, Repeats: len(samples)}
	column := func(of func(triple) units.Bandwidth) (units.Bandwidth, float64) {
		values := make([]float64, len(samples))
		for i, t := range samples {
			values[i] = float64(of(t))
		}
		middle, spread := stats.MedianAndSpread(values)
		return units.Bandwidth(middle), spread
	}
	p.Alone.Computation, p.AloneSpread.Computation = column(func(t triple) units.Bandwidth { return t.alone.Computation })
	p.Alone.Communication, p.AloneSpread.Communication = column(func(t triple) units.Bandwidth { return t.alone.Communication })
	p.Together.Computation, p.TogetherSpread.Computation = column(func(t triple) units.Bandwidth { return t.together.Computation })
	p.Together.Communication, p.TogetherSpread.Communication = column(func(t triple) units.Bandwidth { return t.together.Communication })
	return p
}
