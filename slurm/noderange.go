package slurm

import "slices"

// NodeRange is a job that leaves its number of nodes to Slurm, within bounds.
type NodeRange struct {
	// Least and Most are the bounds, 1 or more.
	Least, Most int
	// On returns what the job asks for on so many nodes.
	On func(nodes int) Request
}

// Widest returns the request of the job on as many nodes as have room for it and as its
// partitions allow; false where too few have room for the least. What it returns can be
// narrowed.
func (n NodeRange) Widest(c *Cluster, room *Room) (r Request, found bool) {
	fewest := n.On(n.Least)
	for nodes := min(n.Most, fewest.mostNodes(c), len(c.Nodes)); nodes >= n.Least; {
		r = n.on(nodes)
		fits, count, required := room.Fitting(&r), 0, len(r.Required)
		for _, node := range r.Matching(c) {
			if fits(node) {
				count++
				if slices.Contains(r.Required, node.Name) {
					required--
				}
			}
		}
		if required > 0 {
			return r, false
		}
		if count >= nodes {
			return r, true
		}
		nodes = count // fewer nodes get larger parts, which have room on no more of them
	}
	return r, false
}

func (n NodeRange) on(nodes int) Request {
	r := n.On(nodes)
	r.within = &n
	return r
}

// Narrow makes a request of Widest one for so many nodes, or for the fewest that the job
// takes. It reports whether these are fewer than before.
func (r *Request) Narrow(nodes int) bool {
	if r.within == nil || max(nodes, r.within.Least) >= r.Nodes {
		return false
	}
	*r = r.within.on(max(nodes, r.within.Least))
	return true
}

// Widen makes the request of a job that waits for a range of nodes one for as many of them as
// have room. Requests of other jobs, and of those that lack room, stay as they are.
func (r *Request) Widen(c *Cluster, room *Room) {
	j := r.Job
	if j == nil || !j.Pending() || j.MostNodes <= r.Nodes {
		return
	}
	fewest := *r
	waiting := NodeRange{Least: r.Nodes, Most: j.MostNodes, On: func(nodes int) Request {
		wide := fewest
		wide.Nodes = nodes
		if j.Tasks > fewest.Nodes {
			on := *j
			on.NodeCount = nodes
			wide.CPUsPerNode = on.CPUsPerNode()
			if j.MemoryPerCPU > 0 {
				wide.Memory = on.memoryOfCPUs()
			}
		}
		return wide
	}}
	// Of a job that names no tasks, Slurm says one for each of the fewest nodes, and starts one
	// on each node that it gives.
	if j.Tasks > r.Nodes {
		waiting.Most = min(waiting.Most, j.Tasks)
	}
	if wide, found := waiting.Widest(c, room); found {
		*r = wide
	}
}
