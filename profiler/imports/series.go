package imports

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/units"
)

// flow is bytes moved. whole is what is not split into reads and writes.
type flow struct{ read, write, whole float64 }

func flowOf(k catalog.Kind, bytes float64) flow {
	switch k {
	case catalog.Read:
		return flow{read: bytes}
	case catalog.Write:
		return flow{write: bytes}
	case catalog.Total:
	}
	return flow{whole: bytes}
}

func (f flow) add(g flow) flow {
	return flow{f.read + g.read, f.write + g.write, f.whole + g.whole}
}

func (f flow) total() float64 { return f.read + f.write + f.whole }

// over is the mean over a time. Undivided traffic counts as read, as in every
// summary of counters.
func (f flow) over(seconds float64) units.Traffic {
	return units.Traffic{
		Read:  units.Bandwidth((f.read + f.whole) / seconds),
		Write: units.Bandwidth(f.write / seconds),
	}
}

// place is where traffic is counted.
type place struct {
	kind   placeKind
	number int
}

type placeKind int

const (
	elsewhere placeKind = iota // a place that is no node and no socket
	node
	socket
)

// maxNamed is how many gaps or events a warning names.
const maxNamed = 3

// series adds intervals up, in bounded memory.
type series struct {
	at       float64 // end of the last interval
	seconds  float64 // counted
	moved    flow
	places   map[place]flow
	timeline profiler.Timeline

	gaps     []string // the first few
	gapCount int
	missed   float64 // seconds in gaps
}

func newSeries() series { return series{places: map[place]flow{}} }

// add takes the traffic of the interval that ends at end, in seconds since the
// start. end must be after that of the interval before.
func (s *series) add(end float64, places map[place]flow) error {
	seconds := end - s.at
	var moved flow
	for _, f := range places {
		moved = moved.add(f)
	}
	if rate := moved.total() / seconds; !(rate <= v1alpha1.MaxBytesPerSecond) {
		return fmt.Errorf("%.3g bytes in %.3g s are beyond every memory system: the unit or the wall time is wrong", moved.total(), seconds)
	}
	for p, f := range places {
		s.places[p] = s.places[p].add(f)
	}
	s.at = end
	s.seconds += seconds
	s.moved = s.moved.add(moved)
	s.timeline.Add(nanoseconds(end), moved.over(seconds))
	return nil
}

// gap takes an interval that was not counted, or only in part.
func (s *series) gap(end float64, why string) {
	if s.gapCount++; s.gapCount <= maxNamed {
		s.gaps = append(s.gaps, fmt.Sprintf("%.6g–%.6g s (%s)", s.at, end, why))
	}
	s.missed += end - s.at
	s.at = end
}

// errNothing is returned where every interval is a gap.
var errNothing = errors.New("nothing was counted")

// summary is the mean over what was counted. remedy says how something would be.
func (s *series) summary(remedy string) (Result, error) {
	if s.seconds <= 0 {
		return Result{}, fmt.Errorf("%w: %s: %s", errNothing, strings.Join(s.gaps, ", "), remedy)
	}
	mean := s.moved.over(s.seconds)
	var r Result
	r.Source = SourceName
	r.Scope = profiler.ScopeMachine
	r.Seconds = nanoseconds(s.seconds)
	r.Traffic = mean
	if share, ok := mean.ReadShare(); ok && s.moved.whole == 0 {
		r.ReadShare = new(float64(share))
	}
	s.timeline.Finish()
	r.Timeline = s.timeline.Samples
	s.divide(&r)
	r.Warnings = s.warnings()
	if s.moved.whole > 0 {
		// The read share may be anything from 0 to 1.
		r.ReadShareUncertainty = new(0.5)
	}
	return r, nil
}

// divide sets the parts by place.
func (s *series) divide(r *Result) {
	r.Counters = &profiler.Counters{Channels: []profiler.ChannelTraffic{}, Sockets: []profiler.SocketTraffic{}, LeastRunningShare: 1}
	byNumber := func(a, b place) int { return cmp.Compare(a.number, b.number) }
	for _, p := range slices.SortedFunc(maps.Keys(s.places), byNumber) {
		mean := s.places[p].over(s.seconds)
		switch p.kind {
		case node:
			r.PerNode = append(r.PerNode, profiler.NodeTraffic{Node: p.number, Traffic: mean})
		case socket:
			r.Counters.Sockets = append(r.Counters.Sockets, profiler.SocketTraffic{Socket: p.number, Traffic: mean})
		case elsewhere:
		}
	}
}

func (s *series) warnings() []string {
	var w []string
	if s.moved.whole > 0 {
		w = append(w, "reads and writes were counted together: the read share is unknown, and all traffic counts as read")
	}
	if s.moved.total() == 0 {
		w = append(w, "every count is zero: check that the events count on this machine")
	}
	if s.gapCount > 0 {
		named := strings.Join(s.gaps, ", ")
		if more := s.gapCount - len(s.gaps); more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		w = append(w, fmt.Sprintf("%.3g s are gaps and part of no mean; in the time line the sample after a gap includes it: %s", s.missed, named))
	}
	if n := s.timeline.Halvings; n > 0 {
		w = append(w, fmt.Sprintf("the time line was thinned: a sample is the mean of some %d intervals", 1<<n))
	}
	return w
}

// nanoseconds rounds to the resolution of every tool, which is no zero.
func nanoseconds(seconds float64) float64 { return max(math.Round(seconds*1e9), 1) / 1e9 }
