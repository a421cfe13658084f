// Package measure measures the sweeps of package overlap on this machine: cores that
// stream non-temporal stores, one core that receives large messages over TCP, alone and
// together, for each number of computing cores and each placement of their data over
// the NUMA nodes (Denis et al. 2022, section IV.A).
//
// The streams are those of package interferer, so both kinds of traffic are
// counted: the bytes that cores stored, and those that the receiver got. Conditions
// are interleaved, their order changes from round to round, and a sample counts
// only if the placement regime of the two CPUs is the same before and after it
// (package regime).
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// Options are the options of Run.
type Options struct {
	// Cores assigns CPUs to computing, receiving and sending; see Choose.
	Cores Cores
	// Nodes are the NUMA nodes on which data lie; all pairs of them are
	// measured. At least one, each once.
	Nodes []int
	// Connect makes the connection over which messages come; nil means the
	// loopback of this machine.
	Connect Connect
	// Parts divides each computing core: the sweep then goes in steps of a
	// core ÷ Parts, whose streams are paced, and its numbers of cores count
	// parts. 1 is whole cores, whose streams take what they get.
	Parts int
	// MessageBytes is the size of a message, which the receiver writes to one
	// place.
	MessageBytes int64
	// LastLevelCacheBytes is the size of the last-level cache that computing
	// cores use; 0 when unknown. Buffers are larger.
	LastLevelCacheBytes int64
	// Window is the time of one condition; Repeats is the number of samples of
	// each point, at least 1.
	Window  time.Duration
	Repeats int
	// Seed orders the points.
	Seed uint64
	// Progress is called before each sample; may be nil. The total may grow when
	// samples are dropped.
	Progress func(done, total int, next string)
}

// Bounds of Options.
const (
	// MinMessageBytes and MaxMessageBytes bound a message.
	MinMessageBytes int64 = 1 << 20
	MaxMessageBytes int64 = 4 << 30
	// MinWindow is the shortest time in which rates are steady.
	MinWindow = 10 * time.Millisecond
	maxWindow = time.Minute
	maxParts  = 64
	// maxRepeats bounds the samples of a point.
	maxRepeats = 1000
)

// Validate reports every option that is out of range.
func (o Options) Validate() error {
	faults := []error{o.Cores.validate()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(len(o.Nodes) > 0 && len(slices.Compact(slices.Sorted(slices.Values(o.Nodes)))) == len(o.Nodes),
		"nodes %v: want one NUMA node or more, each once", o.Nodes)
	check(o.Parts >= 1 && o.Parts <= maxParts, "parts of a core: %d: want 1 to %d", o.Parts, maxParts)
	check(o.MessageBytes >= MinMessageBytes && o.MessageBytes <= MaxMessageBytes,
		"messages of %d bytes: want %d to %d", o.MessageBytes, MinMessageBytes, MaxMessageBytes)
	check(o.LastLevelCacheBytes >= 0, "last-level cache of %d bytes: want 0 or more", o.LastLevelCacheBytes)
	check(o.Window >= MinWindow && o.Window <= maxWindow, "window of %v: want %v to %v", o.Window, MinWindow, maxWindow)
	check(o.Repeats >= 1 && o.Repeats <= maxRepeats, "repeats: %d: want 1 to %d", o.Repeats, maxRepeats)
	return errors.Join(faults...)
}

// Result is a measured sweep.
type Result struct {
	// Points are ordered by placement and number of cores. Their nodes are numbered as
	// [overlap.Parameters] has them: those of the socket that computes, from 0.
	Points []Point
	// NodesPerSocket is #m of the model: the number of Nodes of the socket that
	// computes.
	NodesPerSocket int
	// Parts is Options.Parts: the unit of the points' numbers of cores is a
	// core ÷ Parts.
	Parts int
	// Regime is that of the receiver and the first computing core in the Kept
	// samples; Dropped counts those of other regimes or of several.
	Regime  regime.Class
	Kept    int
	Dropped int
	// Warnings say which results may be doubted.
	Warnings []string
}

// Point is one point of the sweep with its spread.
type Point struct {
	overlap.Point
	// AloneSpread and TogetherSpread are standard deviations over the repeats ÷
	// the medians; NaN for a single repeat.
	AloneSpread, TogetherSpread Spread
	// Repeats is the number of samples that count.
	Repeats int
}

// Spread is the relative spread of the two bandwidths.
type Spread struct{ Computation, Communication float64 }

// Loss are the loss ratios of Langguth et al. (2018, section III), L_M and L_N:
// the bandwidth alone ÷ beside the other. A ratio below 1 is noise.
func (p Point) Loss() (computation, communication float64) {
	return float64(p.Alone.Computation / p.Together.Computation), float64(p.Alone.Communication / p.Together.Communication)
}

// Run measures, and leaves no process or connection behind. It fails when ctx ends.
// Errors of placement wrap interferer.ErrCPU or interferer.ErrMemory, and
// fs.ErrPermission if memory may not be bound to a node.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	r := Result{NodesPerSocket: o.Cores.nodesPerSocket(o.Nodes), Parts: o.Parts, Warnings: slices.Clone(o.Cores.Warnings)}
	c := collection{options: o, placements: len(o.Nodes) * len(o.Nodes)}
	nodes := o.Cores.localFirst(o.Nodes)
	r.Warnings = append(r.Warnings, o.Cores.numbering(nodes)...)
	for i, computation := range nodes {
		for j, communication := range nodes {
			at := overlap.Placement{ComputationNode: computation, CommunicationNode: communication}
			points, warnings, err := measureAt(ctx, o, at, &c)
			if err != nil {
				return Result{}, fmt.Errorf("computation on node %d, communication on node %d: %w", computation, communication, err)
			}
			for k := range points {
				points[k].Placement = overlap.Placement{ComputationNode: i, CommunicationNode: j}
			}
			r.Points = append(r.Points, points...)
			for _, w := range warnings {
				if !slices.Contains(r.Warnings, w) {
					r.Warnings = append(r.Warnings, w)
				}
			}
		}
	}
	r.Regime, _ = c.tally.Main()
	r.Kept, r.Dropped = kept(r.Points), c.dropped
	r.Warnings = append(r.Warnings, c.warnings...)
	return r, nil
}

// kept returns the number of samples of points.
func kept(points []Point) int {
	sum := 0
	for _, p := range points {
		sum += p.Repeats
	}
	return sum
}

// measureAt measures one placement of the data.
func measureAt(ctx context.Context, o Options, at overlap.Placement, c *collection) (points []Point, warnings []string, err error) {
	b, err := newBench(ctx, o, at)
	if err != nil {
		return nil, nil, cmp.Or(context.Cause(ctx), err)
	}
	defer func() {
		err = errors.Join(err, b.close())
		if ctx.Err() != nil { // other errors follow from it
			err = context.Cause(ctx)
		}
	}()
	points, err = c.collect(ctx, b, at)
	return points, b.doubts(), err
}

// full is the share of its unpaced bandwidth that a divided core can hold by
// pacing.
const full units.Bandwidth = 0.95
