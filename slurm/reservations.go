package slurm

import (
	"slices"
	"strings"
	"time"
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

// cpus returns how many CPUs of a node are reserved where only some are; 0 otherwise.
func (v *Reservation) cpus(n *Node) float64 {
	return min(float64(v.Cores[n.Name]*n.cpusPerCore()), float64(n.CPUs))
}

// heldBy returns how many reserved CPUs of a node a job holds that is not in the reservation,
// such as one that started before it; 0 where Slurm does not tell the cores.
func (v *Reservation) heldBy(q *Request, n *Node) float64 {
	if q.Job == nil || slices.Contains(strings.Split(q.Reservation, ","), v.Name) {
		return 0
	}
	reserved, shared := coresOn(v.Allocations, n), 0
	for socket, cores := range q.Job.coresOn(n) {
		for _, core := range cores {
			if _, found := slices.BinarySearch(reserved[socket], core); found {
				shared++
			}
		}
	}
	return float64(shared * n.cpusPerCore())
}

// bindsCores reports whether jobs in the reservation have to stay on some cores of the node;
// not where v is nil.
func (v *Reservation) bindsCores(n *Node) bool { return v != nil && v.binds() && v.cpus(n) > 0 }

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

// any reports whether something holds for one of the job's reservations, by its name; for a
// job in none the name is empty. A job that names several needs one of them.
func (a *reservations) any(q *Request, holds func(name string) bool) bool {
	for name := range strings.SplitSeq(q.Reservation, ",") {
		if holds(name) {
			return true
		}
	}
	return false
}

// admit reports whether the node is up and no reservation keeps the job off it.
func (a *reservations) admit(q *Request, n *Node) bool {
	return a.any(q, func(name string) bool { return a.admitIn(name, q, n) })
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
		if v.excludes(q, own) && a.meets(v, q, n, start) {
			return false
		}
	}
	if n.CPUs > 0 && q.CPUsOn(n) > a.cpus(q, n, own, start) {
		return false
	}
	if holder := a.named[n.Reservation]; start.After(now) || holder != nil && !holder.excludes(q, own) {
		return n.up()
	}
	return n.AvailableTo(name)
}

// meets reports whether a reservation holds its nodes before a job would end that starts
// then.
func (a *reservations) meets(v *Reservation, q *Request, n *Node, start time.Time) bool {
	limit, bounded := q.longest(a.cluster, n)
	return v.End.After(start) && (!bounded || v.Start.Before(start.Add(limit)))
}

// keepers returns the reservations that keep some cores of a node from a job that starts
// then in its own reservation, or in none where own is nil.
func (a *reservations) keepers(q *Request, n *Node, own *Reservation, start time.Time) []*Reservation {
	var keepers []*Reservation
	if own != nil || start.IsZero() {
		return nil
	}
	for _, v := range a.on[n.Name] {
		if v.cpus(n) > 0 && a.meets(v, q, n, start) {
			keepers = append(keepers, v)
		}
	}
	return keepers
}

// cpus returns how many CPUs of a node there are for a job that starts then.
func (a *reservations) cpus(q *Request, n *Node, own *Reservation, start time.Time) float64 {
	if own.bindsCores(n) {
		return own.cpus(n)
	}
	cpus := float64(n.CPUs)
	for _, v := range a.keepers(q, n, own, start) {
		cpus -= v.cpus(n)
	}
	return cpus
}
