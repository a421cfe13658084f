package memory

import (
	"fmt"
	"slices"
)

// Link is how co-runners reach the memory that a target is next to.
type Link string

const (
	// LinkUnknown is the zero value.
	LinkUnknown Link = ""
	// LinkNone means that co-runners are as near to the memory as the target.
	LinkNone Link = "none"
	// LinkOwn means that each co-runner comes over a link of its own.
	LinkOwn Link = "own"
	// LinkShared means that all co-runners come over one link, as from the other
	// socket of two.
	LinkShared Link = "shared"
)

// Links lists every Link that is known.
func Links() []Link { return []Link{LinkNone, LinkOwn, LinkShared} }

// ParseLink reads the name of a link; the empty name means LinkUnknown.
func ParseLink(name string) (Link, error) {
	l := Link(name)
	if l != LinkUnknown && !slices.Contains(Links(), l) {
		return LinkUnknown, fmt.Errorf("link %q: want one of %q", name, Links())
	}
	return l, nil
}

// Distant reports whether co-runners are farther from the memory than the target.
func (l Link) Distant() bool { return l == LinkOwn || l == LinkShared }

// link is the way of co-runners and of the interferer to the memory.
type link struct {
	kind Link
	// way is the delay of the distance.
	way float64
	// capacity is the most reads that it carries, relative to Model.unit, and write
	// how many reads a write counts for: writes go the other way, but cost part of a
	// read's slot.
	capacity, write float64
	// queue is the factor of the wait for a link that is shared,
	//
	//	wait(u) = queue·u ÷ (1 − u)
	//
	// where u is the part of the link that is in use.
	queue float64
}

// reads returns how many reads a flow counts for.
func (l *link) reads(f flow) float64 { return f.read + l.write*f.write }

// use returns the part of the link that a flow takes; above 1 where it takes more than
// there is.
func (l *link) use(f flow) float64 { return l.reads(f) / l.capacity }

// wait returns the delay by a use.
func (l *link) wait(use float64) float64 {
	use = min(use, fullest)
	return l.queue * use / (1 - use)
}

// LinkNumbers are the parameters of a shared link.
type LinkNumbers struct {
	// Capacity is how many reads it carries, relative to Numbers.Unit, and Write how
	// many reads a write counts for.
	Capacity float64 `json:"capacity"`
	Write    float64 `json:"write"`
	// Queue is the factor of the wait: wait = Queue·u ÷ (1 − u), where u is the part of
	// the link that is in use.
	Queue float64 `json:"queue"`
}

// ShareLink returns the model of a memory that is m but for one link that all co-runners
// share, where they have one each in m; nil where they have none.
func (m *Model) ShareLink() *Model {
	if m.link.kind != LinkOwn {
		return nil
	}
	shared := *m
	shared.link.kind = LinkShared
	return &shared
}
