package occupancy

import (
	"slices"
	"time"

	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// Domain is a memory domain: the nodes that share it, in the order in which
// residents count.
type Domain struct {
	Name  string
	Nodes []*Node
}

// Neighbors are the residents of a memory domain that a newcomer shares memory with.
type Neighbors struct {
	Residents []*Resident
	// Background is the measured traffic of all others; nil without a fresh
	// measurement.
	Background *units.Traffic
	// Expires is when time alone changes Background: a measurement becomes too old, or one
	// from the future begins to count. It is zero for never.
	Expires time.Time

	domain     string
	unmeasured []bool // whether no fresh measurement includes a resident
}

// Neighbors returns the neighbors of a newcomer at a node of the domain. Measurements
// older than maxAge do not count.
//
// Residents of the node that are pinned to another NUMA node than the newcomer are left
// out. Residents of other nodes count all, because nodes share the memory beyond their
// NUMA nodes. A newcomer that is already there is not its own neighbor; its traffic is
// part of the measurement, not of the background.
//
// A resident that may have begun to run during the interval of a measurement counts beside
// it. Where the newcomer is already there, such residents count as measured: their start
// alone must not look like a limit that is exceeded.
func (d *Domain) Neighbors(newcomer *Resident, at *Node, now time.Time, maxAge time.Duration) Neighbors {
	total := 0
	for _, n := range d.Nodes {
		total += len(n.Residents)
	}
	there := d.holds(newcomer)
	met := Neighbors{domain: d.Name, Residents: make([]*Resident, 0, total)}
	for _, n := range d.Nodes {
		fresh, start := n.Measured.Fresh(now, maxAge), time.Time{}
		if fresh && there {
			start = n.Measured.Time
		} else if fresh {
			start = n.Measured.start(maxAge)
		}
		for _, r := range n.Residents {
			if !r.is(newcomer) && (n != at || r.NUMANode.Meets(newcomer.NUMANode)) {
				met.Residents = append(met.Residents, r)
				met.unmeasured = append(met.unmeasured, !r.ranBefore(start))
			}
		}
		switch {
		case fresh:
			met.measured(n.background(start))
			met.expire(n.Measured.Time.Add(maxAge))
		case n.Measured != nil && n.Measured.Time.After(now):
			met.expire(n.Measured.Time.Add(-maxAge))
		}
	}
	return met
}

// holds reports whether a newcomer is already there.
func (d *Domain) holds(newcomer *Resident) bool {
	return slices.ContainsFunc(d.Nodes, func(n *Node) bool { return slices.ContainsFunc(n.Residents, newcomer.is) })
}

// measured adds the background of a node.
func (n *Neighbors) measured(background units.Traffic) {
	if n.Background != nil {
		background = background.Add(*n.Background)
	}
	n.Background = &background
}

// expire brings Expires forward to a time.
func (n *Neighbors) expire(at time.Time) {
	if n.Expires.IsZero() || at.Before(n.Expires) {
		n.Expires = at
	}
}

// Measured reports whether Background includes the traffic of resident i.
func (n *Neighbors) Measured(i int) bool { return !n.unmeasured[i] }

// Domain returns the neighbors as the score sees them.
func (n *Neighbors) Domain() score.Domain {
	d := score.Domain{Name: n.domain, Residents: make([]score.Job, len(n.Residents)), Background: n.Background}
	for i, r := range n.Residents {
		d.Residents[i] = r.Job()
		d.Residents[i].Unmeasured = !n.Measured(i)
	}
	return d
}

// Load prepares the neighbors in a new load, for scores and estimates. It fails on
// residents that s refuses.
func (n *Neighbors) Load(s *score.Scorer, load *score.Load) error {
	if err := s.PrepareIn(load, n.Domain()); err != nil {
		return err
	}
	models := make([]*fast.Model, len(n.Residents))
	for i, r := range n.Residents {
		models[i] = r.Fast
	}
	s.Tabulate(load, models)
	return nil
}
