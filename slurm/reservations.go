package slurm

import "slices"

// reservations are those of a cluster by the nodes that they hold.
type reservations struct {
	cluster *Cluster
	// named counts the reservations of each name.
	named map[string]int
	on    map[string][]*Reservation
}

func newReservations(c *Cluster) reservations {
	all := reservations{cluster: c, named: map[string]int{}, on: map[string][]*Reservation{}}
	for i := range c.Reservations {
		v := &c.Reservations[i]
		all.named[v.Name]++
		for _, name := range v.Nodes {
			if there := all.on[name]; len(there) == 0 || there[len(there)-1] != v {
				all.on[name] = append(there, v)
			}
		}
	}
	return all
}

// admit reports whether the node is up and no reservation keeps the job off it: the
// job's own has the node, and no other holds it before the job would end.
func (a *reservations) admit(q *Request, n *Node) bool {
	if !n.AvailableTo(q.Reservation) {
		return false
	}
	now, own := a.cluster.Time, 0
	if now.IsZero() {
		return true
	}
	for _, v := range a.on[n.Name] {
		if v.Name == q.Reservation {
			own++
			continue
		}
		if limit, bounded := q.longest(a.cluster, n); v.End.After(now) && (!bounded || v.Start.Before(now.Add(limit))) {
			return false
		}
	}
	return own == a.named[q.Reservation]
}

// begun reports whether the job names no reservation, or one that has begun.
func (a *reservations) begun(q *Request) bool {
	now := a.cluster.Time
	return now.IsZero() || !slices.ContainsFunc(a.cluster.Reservations, func(v Reservation) bool {
		return v.Name == q.Reservation && v.Start.After(now)
	})
}
