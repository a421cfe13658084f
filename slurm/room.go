package slurm

import (
	"maps"
	"slices"
	"strings"
)

// Room is what is taken of every node. Slurm counts shared CPUs per partition, so
// they are counted by the jobs that can be seen, and by what Slurm says is allocated
// where that is more.
type Room struct {
	cluster *Cluster
	taken   map[string]float64
	memory  map[string]int
	gres    map[string]map[string]int
	// within are the CPUs of a node that the jobs of a partition hold, or that are taken of
	// what a reservation reserves.
	within map[membership]float64
	// present counts jobs on nodes, and owning those that share them only with jobs of the
	// same user; owners are such users by what Slurm says of a node.
	present, owning map[presence]int
	owners          map[string]string
	// sharing says how the jobs on a node share it.
	sharing map[string]*sharers
	// reserved are the reservations of the cluster.
	reserved reservations
	// wholeNodes is true where jobs of some partition have their nodes for themselves.
	wholeNodes bool
}

// membership is of jobs on a node: those of a partition or those in a reservation.
type membership struct{ node, partition, reservation string }

// presence is of jobs on a node: those of a user, or everybody's.
type presence struct {
	node, user string
	everybody  bool
}

// NewRoom returns the room in a cluster as it is.
func NewRoom(c *Cluster) *Room {
	r := emptyRoom(c, newReservations(c))
	for i := range c.Jobs {
		j := &c.Jobs[i]
		// Slurm gives the CPUs of a suspended job to others.
		if !j.Occupies() {
			continue
		}
		q := Request{
			Job: j, Partitions: j.Partitions, Reservation: j.Reservation, User: j.User, Exclusive: j.Exclusive, ExclusiveUser: j.ExclusiveUser,
			Oversubscribe: j.Oversubscribe,
		}
		for _, name := range j.Nodes {
			if n := c.Node(name); n != nil {
				q.CPUsPerNode = j.CPUsOn(n)
				r.enter(&q, n, 1)
			}
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		r.taken[n.Name] = max(r.taken[n.Name], float64(n.AllocatedCPUs))
		r.memory[n.Name] = n.AllocatedMemory
		if len(n.GresUsed) > 0 {
			r.gres[n.Name] = maps.Clone(n.GresUsed)
		}
		if n.Owner != "" {
			r.owners[n.Name] = n.Owner
		}
	}
	return r
}

// emptyRoom returns the room in a cluster without jobs.
func emptyRoom(c *Cluster, reserved reservations) *Room {
	return &Room{
		cluster: c, reserved: reserved,
		taken: make(map[string]float64, len(c.Nodes)), memory: make(map[string]int, len(c.Nodes)), gres: map[string]map[string]int{},
		within: map[membership]float64{}, present: map[presence]int{}, owning: map[presence]int{}, owners: map[string]string{},
		sharing:    map[string]*sharers{},
		wholeNodes: slices.ContainsFunc(c.Partitions, Partition.WholeNodes),
	}
}

// enter notes that a job is on a node; with a sign of −1, that it has left.
func (r *Room) enter(q *Request, n *Node, sign int) {
	signed := float64(sign) * r.Takes(q, n)
	r.taken[n.Name] += signed
	r.share(q, n, sign)
	owns := q.ExclusiveUser
	for _, name := range q.partitions(r.cluster) {
		if p := r.cluster.partition(name); p != nil && slices.Contains(n.Partitions, name) {
			owns = owns || p.ExclusiveUser
			if p.MostCPUsPerNode > 0 {
				r.within[membership{node: n.Name, partition: name}] += signed
			}
		}
	}
	for name := range strings.SplitSeq(q.Reservation, ",") {
		if v := r.reserved.named[name]; v != nil && v.Partial {
			r.within[membership{node: n.Name, reservation: name}] += signed
		}
	}
	for _, v := range r.reserved.on[n.Name] {
		if held := v.heldBy(q, n); held > 0 {
			r.within[membership{node: n.Name, reservation: v.Name}] += float64(sign) * held
		}
	}
	for _, whose := range []presence{{node: n.Name, user: q.User}, {node: n.Name, everybody: true}} {
		r.present[whose] += sign
		if owns {
			r.owning[whose] += sign
		}
	}
}

// Free returns how many CPUs of the node nobody has, never below 0.
func (r *Room) Free(n *Node) float64 { return max(0, float64(n.CPUs)-r.taken[n.Name]) }

// FreeFor returns how many CPUs of the node nobody has and no reservation of some of its
// cores keeps from the job.
func (r *Room) FreeFor(q *Request, n *Node) float64 {
	free := 0.0
	for name := range strings.SplitSeq(q.Reservation, ",") {
		cpus, taken := r.left(q, n, r.reserved.named[name])
		free = max(free, cpus-taken)
	}
	return min(free, r.Free(n))
}

// left returns how many CPUs of the node there are for a job in its reservation, or in none
// where own is nil, and how many of those are taken.
func (r *Room) left(q *Request, n *Node, own *Reservation) (cpus, taken float64) {
	if own.bindsCores(n) {
		return own.cpus(n), r.within[membership{node: n.Name, reservation: own.Name}]
	}
	cpus, taken = float64(n.CPUs), r.taken[n.Name]
	for _, v := range r.reserved.keepers(q, n, own, r.cluster.Time) {
		cpus -= v.cpus(n)
		taken -= r.within[membership{node: n.Name, reservation: v.Name}]
	}
	return max(0, cpus), max(0, taken)
}

// Takes returns how many CPUs of the node nobody else may use once the job is there.
func (r *Room) Takes(q *Request, n *Node) float64 {
	if r.whole(q, n) {
		return max(q.CPUsPerNode, float64(n.CPUs))
	}
	return q.CPUsOn(n)
}

// whole reports whether the job has the node for itself, in whichever partition it starts.
func (r *Room) whole(q *Request, n *Node) bool {
	if q.Exclusive || !r.wholeNodes {
		return q.Exclusive
	}
	open := r.openTo(q, n)
	return len(open) > 0 && !slices.ContainsFunc(open, func(p *Partition) bool { return !p.WholeNodes() })
}

// openTo returns the partitions of the node that admit the job, as far as they are known.
func (r *Room) openTo(q *Request, n *Node) []*Partition {
	var open []*Partition
	for _, name := range q.open(r.cluster) {
		if p := r.cluster.partition(name); p != nil && slices.Contains(n.Partitions, name) {
			open = append(open, p)
		}
	}
	return open
}

// Take books what a job takes of a node; Leave gives it back.
func (r *Room) Take(q *Request, n *Node) { r.book(q, n, 1) }

// Leave gives back what a job has of a node.
func (r *Room) Leave(q *Request, n *Node) { r.book(q, n, -1) }

func (r *Room) book(q *Request, n *Node, sign int) {
	r.enter(q, n, sign)
	r.memory[n.Name] = max(0, r.memory[n.Name]+sign*q.memory(r.cluster, n))
	for name, count := range q.Gres {
		if r.gres[n.Name] == nil {
			r.gres[n.Name] = map[string]int{}
		}
		r.gres[n.Name][name] = max(0, r.gres[n.Name][name]+sign*count)
	}
}

// Holds reports whether the node has the memory and the generic resources that the job
// takes there.
func (r *Room) Holds(q *Request, n *Node) bool {
	return q.resources(n.Gres, r.gres[n.Name]) && (n.Memory == 0 || r.memory[n.Name]+q.memory(r.cluster, n) <= n.Memory)
}

// CanStart reports whether the job can start on the node once there is room: the node
// is up, and no reservation of others holds it before the job would end.
func (r *Room) CanStart(q *Request, n *Node) bool { return r.reserved.admit(q, n) }

// Fits reports whether the job can start on the node now. It cannot before its reservation
// begins.
func (r *Room) Fits(q *Request, n *Node) bool { return r.Fitting(q)(n) }

// Fitting returns Fits for one job and many nodes. It sees what is booked later.
func (r *Room) Fitting(q *Request) func(*Node) bool {
	hasCPUs, admitted := r.havingCPUs(q), q.admitted(r.cluster)
	return func(n *Node) bool {
		return admitted && n.startsNow() && r.Holds(q, n) && r.reserved.any(q, func(name string) bool {
			return r.reserved.begun(name) && r.reserved.admitIn(name, q, n) && hasCPUs(n, r.reserved.named[name])
		})
	}
}

// together returns for how many such jobs, most at most, the node has room at a time.
func (r *Room) together(q *Request, n *Node, most int) int {
	hasCPUs := r.havingCPUs(q)
	fits := func(name string) bool { return hasCPUs(n, r.reserved.named[name]) }
	count := 0
	for count < most && r.Holds(q, n) && r.reserved.any(q, fits) {
		r.Take(q, n)
		count++
	}
	for range count {
		r.Leave(q, n)
	}
	return count
}

// havingCPUs returns whether a node has the CPUs for a job in its reservation, or in none
// where that is nil: in one of the partitions that admit it.
func (r *Room) havingCPUs(q *Request) func(n *Node, own *Reservation) bool {
	var open []*Partition
	for _, name := range q.open(r.cluster) {
		if p := r.cluster.partition(name); p != nil {
			open = append(open, p)
		}
	}
	return func(n *Node, own *Reservation) bool {
		known := false
		for _, p := range open {
			if slices.Contains(n.Partitions, p.Name) {
				if r.hasCPUs(q, n, p, own) {
					return true
				}
				known = true
			}
		}
		return !known && r.hasCPUs(q, n, &Partition{}, own)
	}
}

// hasCPUs reports whether a partition starts the job on the node beside those that are there.
func (r *Room) hasCPUs(q *Request, n *Node, p *Partition, own *Reservation) bool {
	if !r.joins(q, n, p) || !r.sharesWith(q, n, p) {
		return false
	}
	cpus, left := r.left(q, n, own)
	taken := r.taken[n.Name]
	way := wayOf(q, p)
	if way == ownNode {
		return taken == 0 && (own != nil || cpus == float64(n.CPUs))
	}
	takes := q.CPUsOn(n)
	if p.MostCPUsPerNode > 0 && r.within[membership{node: n.Name, partition: p.Name}]+takes > float64(p.MostCPUsPerNode) {
		return false
	}
	if way == inRows {
		return r.hasRow(q, n, p, min(cpus, float64(n.CPUs)))
	}
	return taken+takes <= float64(n.CPUs) && left+takes <= cpus
}

// joins reports whether the users whose jobs are on the node let a job of the partition
// join them, and the job them.
func (r *Room) joins(q *Request, n *Node, p *Partition) bool {
	owns := q.ExclusiveUser || p.ExclusiveUser
	if !owns && len(r.owning) == 0 && len(r.owners) == 0 {
		return true
	}
	own, all := presence{node: n.Name, user: q.User}, presence{node: n.Name, everybody: true}
	if owner := r.owners[n.Name]; owner != "" && owner != q.User || r.owning[all] != r.owning[own] {
		return false
	}
	return !owns || r.present[all] == r.present[own]
}
