package slurm

import (
	"slices"
	"strings"
)

// Flags of reservations, as Slurm writes them (man scontrol, RESERVATIONS).
const (
	flagAnyNodes    = "ANY_NODES"
	flagFlexible    = "FLEX"
	flagMaintenance = "MAINT"
	flagOverlap     = "OVERLAP"
)

func (v *Reservation) has(flag string) bool { return slices.Contains(v.Flags, flag) }

// binds reports whether jobs in the reservation have to stay on its nodes.
func (v *Reservation) binds() bool { return !v.has(flagFlexible) && !v.has(flagAnyNodes) }

// excludes reports whether the reservation keeps its nodes from a job that runs in its own
// one, or in none where own is nil.
func (v *Reservation) excludes(q *Request, own *Reservation) bool {
	switch {
	case v == own:
		return false
	case own == nil:
		return !v.Partial || q.Exclusive
	case own.has(flagMaintenance), own.has(flagOverlap) && !v.has(flagMaintenance):
		return false
	}
	return !v.Partial
}

// reservations are those of a cluster by their names and by the nodes that they hold.
type reservations struct {
	cluster *Cluster
	named   map[string]*Reservation
	on      map[string][]*Reservation
}

func newReservations(c *Cluster) reservations {
	all := reservations{cluster: c, named: map[string]*Reservation{}, on: map[string][]*Reservation{}}
	for i := range c.Reservations {
		v := &c.Reservations[i]
		all.named[v.Name] = v
		for _, name := range v.Nodes {
			if there := all.on[name]; len(there) == 0 || there[len(there)-1] != v {
				all.on[name] = append(there, v)
			}
		}
	}
	return all
}

// admit reports whether the node is up and no reservation keeps the job off it. A job that
// names several reservations needs one of them.
func (a *reservations) admit(q *Request, n *Node) bool {
	for name := range strings.SplitSeq(q.Reservation, ",") {
		if a.admitIn(name, q, n) {
			return true
		}
	}
	return false
}

// admitNow is admit by those of the job's reservations that have begun.
func (a *reservations) admitNow(q *Request, n *Node) bool {
	for name := range strings.SplitSeq(q.Reservation, ",") {
		if a.begun(name) && a.admitIn(name, q, n) {
			return true
		}
	}
	return false
}

// begun reports whether jobs of a reservation may start now; true for an empty name.
func (a *reservations) begun(name string) bool {
	now, v := a.cluster.Time, a.named[name]
	return v == nil || now.IsZero() || v.has(flagFlexible) || !v.Start.After(now)
}

// admitIn is admit for a job in the reservation of this name; in none where it is empty.
// The reservation has the node, and no other holds it from when the job may start until it
// would end.
func (a *reservations) admitIn(name string, q *Request, n *Node) bool {
	now := a.cluster.Time
	if now.IsZero() || a.cluster.Reservations == nil {
		return n.AvailableTo(name)
	}
	own, there := a.named[name], a.on[n.Name]
	if name != "" && (own == nil || own.binds() && !slices.Contains(there, own)) {
		return false
	}
	start := now
	if !a.begun(name) {
		start = own.Start
	}
	for _, v := range there {
		if !v.excludes(q, own) {
			continue
		}
		if limit, bounded := q.longest(a.cluster, n); v.End.After(start) && (!bounded || v.Start.Before(start.Add(limit))) {
			return false
		}
	}
	if holder := a.named[n.Reservation]; start.After(now) || holder != nil && !holder.excludes(q, own) {
		return n.up()
	}
	return n.AvailableTo(name)
}
