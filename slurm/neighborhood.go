package slurm

import (
	"fmt"
	"maps"
	"slices"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// neighborhood is who is where in a cluster, by memory domain.
type neighborhood struct {
	site    *Site
	roster  *advisor.Advisor
	limit   units.Slowdown // of residents without their own
	domains map[string]*memoryDomain
}

// memoryDomain is a memory domain and its residents: jobs, and for each what the
// score needs to know of it.
type memoryDomain struct {
	name      string
	residents []resident
	jobs      []score.Job // of the residents, in their order
	freeCPUs  float64     // of a socket; not used for other domains
}

// resident is a job on a node: one of two nodes is two residents.
type resident struct {
	job         string
	node        string
	application string
	entry       advisor.Entry
}

// domainsOf returns the names of the memory domains that a node has CPUs in: one,
// or with sockets one for each socket, if the node is no part of a larger domain.
func (h *neighborhood) domainsOf(n *Node, sockets bool) []string {
	name := h.site.Domain(n)
	if !sockets || n.Sockets < 2 || name != n.Name {
		return []string{name}
	}
	names := make([]string, n.Sockets)
	for s := range names {
		names[s] = socketName(n, s)
	}
	return names
}

func socketName(n *Node, socket int) string { return fmt.Sprintf("%s/%d", n.Name, socket) }

// newNeighborhood counts the jobs that occupy nodes, but for one.
func newNeighborhood(c *Cluster, a *Advisor, except *Job) *neighborhood {
	h := &neighborhood{site: a.site(), roster: a.Roster, limit: a.Options.Limit, domains: map[string]*memoryDomain{}}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for _, name := range h.domainsOf(n, a.Options.Sockets) {
			d := h.domains[name]
			if d == nil {
				d = &memoryDomain{name: name}
				h.domains[name] = d
			}
			d.freeCPUs = float64(n.CoresPerSocket * max(1, n.ThreadsPerCore))
		}
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if !j.Occupies() || (except != nil && j.ID == except.ID) {
			continue
		}
		for _, name := range j.Nodes {
			if n := c.Node(name); n != nil {
				h.settle(j, n, a.Options.Sockets)
			}
		}
	}
	return h
}

// settle makes a job a resident of a node. With sockets it resides on those where
// it has cores, in each with all its traffic; where Slurm does not tell, on all.
func (h *neighborhood) settle(j *Job, n *Node, sockets bool) {
	names := h.domainsOf(n, sockets)
	if len(names) == 1 {
		h.add(names[0], j, n, j.CPUsOn(n))
		return
	}
	cores := j.coresOn(n)
	if len(cores) == 0 {
		for _, name := range names {
			h.add(name, j, n, j.CPUsOn(n)/float64(len(names)))
		}
		return
	}
	for _, socket := range slices.Sorted(maps.Keys(cores)) {
		if name := socketName(n, socket); h.domains[name] != nil {
			h.add(name, j, n, float64(cores[socket]*max(1, n.ThreadsPerCore)))
		}
	}
}

func (h *neighborhood) add(domain string, j *Job, n *Node, cpus float64) {
	d := h.domains[domain]
	r := resident{job: j.String(), node: n.Name, application: h.site.Application(j)}
	r.entry = h.roster.Lookup(r.application, h.site.Machine(n))
	limit := h.site.Limit(j)
	if limit == 0 {
		limit = h.limit
	}
	d.freeCPUs -= cpus
	d.residents = append(d.residents, r)
	d.jobs = append(d.jobs, score.Job{Name: r.job, Application: r.entry.Application, CPUs: cpus, Limit: limit, Card: n.Name})
}

// coresOn returns the cores of a job on a node by socket; nil when not told.
func (j *Job) coresOn(n *Node) map[int]int {
	for _, a := range j.Allocations {
		if a.Node == n.Name {
			return a.Cores
		}
	}
	return nil
}
