package slurm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/units"
)

// Occupancy is who runs in which memory domain of a cluster. A job on two nodes is two
// residents. It serves one goroutine at a time.
type Occupancy struct {
	occupancy.Cluster

	site    *Site
	advisor *advisor.Advisor
	limit   units.Slowdown // of jobs that set none
	entries map[entryKey]*advisor.Entry
	labels  map[*Job]Label
	parts   map[string][]*occupancy.Node // by node
	// free is how many CPUs of a socket nobody has, where sockets are memory domains.
	free map[*occupancy.Node]float64
	// caches are those of a part that has several, untold by node the residents of which
	// Slurm does not tell which they use.
	caches map[*occupancy.Node]*cacheRoom
	untold map[string][]*occupancy.Resident
}

type entryKey struct{ application, machine string }

// NewOccupancy returns the occupancy by the jobs that occupy nodes, except for one
// that may be nil. Jobs that set no limit have this one, and 0 is none. Where sockets
// is set, every socket of a node that shares its memory with no other is a memory
// domain.
func NewOccupancy(c *Cluster, site *Site, a *advisor.Advisor, limit units.Slowdown, sockets bool, except *Job) *Occupancy {
	o := &Occupancy{
		site: site, advisor: a, limit: limit, entries: map[entryKey]*advisor.Entry{}, labels: map[*Job]Label{},
		parts: map[string][]*occupancy.Node{}, free: map[*occupancy.Node]float64{},
		caches: map[*occupancy.Node]*cacheRoom{}, untold: map[string][]*occupancy.Resident{},
	}
	for i := range c.Nodes {
		o.addNode(&c.Nodes[i], sockets)
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if !j.Occupies() || (except != nil && j.ID == except.ID) {
			continue
		}
		for _, name := range j.Nodes {
			if n := c.Node(name); n != nil {
				o.addJob(j, n)
			}
		}
	}
	o.seatUntold()
	return o
}

// addNode adds a node, or each of its sockets.
func (o *Occupancy) addNode(n *Node, sockets bool) {
	node := occupancy.Node{Name: n.Name, Machine: o.site.Machine(n)}
	if domain := o.site.Domain(n); domain != n.Name {
		node.Domain = domain
	}
	names := []string{n.Name}
	if sockets && n.Sockets > 1 && node.Domain == "" {
		names = make([]string, n.Sockets)
		for s := range names {
			names[s] = fmt.Sprintf("%s/%d", n.Name, s)
		}
	}
	for socket, name := range names {
		part := node
		part.Name = name
		o.Add(&part)
		o.parts[n.Name] = append(o.parts[n.Name], &part)
		o.free[&part] = float64((n.CoresPerSocket - len(n.SystemCores[socket])) * n.cpusPerCore())
	}
	o.addCaches(n, o.parts[n.Name])
}

// addJob makes a job a resident of a node; of sockets, with all its traffic, of each
// where it has cores, or of all where Slurm does not tell.
func (o *Occupancy) addJob(j *Job, n *Node) {
	parts := o.parts[n.Name]
	cores := j.coresOn(n)
	if len(parts) == 1 || len(cores) == 0 {
		cpus := j.CPUsOn(n) / float64(len(parts))
		for _, part := range parts {
			o.settle(j, n, part, cpus)
		}
		return
	}
	for _, socket := range slices.Sorted(maps.Keys(cores)) {
		if socket >= 0 && socket < len(parts) {
			cpus := float64(len(cores[socket]) * n.cpusPerCore())
			o.settle(j, n, parts[socket], cpus)
		}
	}
}

// settle makes a running job a resident of a part of a node, in the caches of its cores.
func (o *Occupancy) settle(j *Job, n *Node, part *occupancy.Node, cpus float64) {
	held := o.held(j, n, part)
	r := o.Resident(j, n, cpus)
	r.Caches = numbers(held)
	o.place(r, part, cpus, held)
}

// Place adds a resident to a node or socket of which it takes CPUs, evenly in its caches.
func (o *Occupancy) Place(r occupancy.Resident, part *occupancy.Node, takes float64) {
	o.place(r, part, takes, spread(r.Caches, takes))
}

func (o *Occupancy) place(r occupancy.Resident, part *occupancy.Node, takes float64, held map[int]float64) {
	part.Residents = append(part.Residents, &r)
	o.free[part] -= takes
	if room := o.caches[part]; room != nil {
		room.take(held)
	}
}

// Parts returns the memory domains' parts in which a node has CPUs: the node, or its
// sockets.
func (o *Occupancy) Parts(n *Node) []*occupancy.Node { return o.parts[n.Name] }

// Resident returns a job as a resident of a node with that many CPUs.
func (o *Occupancy) Resident(j *Job, n *Node, cpus float64) occupancy.Resident {
	label := o.Label(j)
	return occupancy.Resident{
		Name: j.String(), Node: n.Name, Application: label.Application, CPUs: cpus,
		Entry: o.Entry(label.Application, n), Limit: label.Limit,
	}
}

// Label returns the application of a job, as the site knows it, and its limit.
func (o *Occupancy) Label(j *Job) Label {
	l, ok := o.labels[j]
	if !ok {
		l = Label{Application: o.site.Application(j), Limit: cmp.Or(o.site.Limit(j), o.limit)}
		o.labels[j] = l
	}
	return l
}

// SetLabel sets what Label returns for a job that was made up.
func (o *Occupancy) SetLabel(j *Job, l Label) { o.labels[j] = l }

// Entry returns the profile of an application on a node.
func (o *Occupancy) Entry(application string, n *Node) *advisor.Entry {
	key := entryKey{application, o.parts[n.Name][0].Machine}
	e := o.entries[key]
	if e == nil {
		found := o.advisor.Lookup(key.application, key.machine)
		e = &found
		o.entries[key] = e
	}
	return e
}
