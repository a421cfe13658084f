package slurm

import "slices"

// way is how a job holds the cores of its nodes (the state of nodes in select/cons_tres).
type way int

const (
	// ownCores jobs hold cores that no other job gets.
	ownCores way = iota
	// inRows jobs let others of their partition have the same cores: as many at a time as
	// the partition has rows (OverSubscribe=FORCE, and YES for jobs that ask for it).
	inRows
	// ownNode jobs hold all of a node.
	ownNode
)

// sharers are how the jobs on a node share it.
type sharers struct {
	jobs [ownNode + 1]int
	// held are the CPUs of each job in partitions that have several rows, inRows or not, and
	// of those inRows in partitions that have one.
	held map[string][]float64
	// known is how many CPUs they hold.
	known float64
}

// wayOf returns how a job of the partition holds a node.
func wayOf(q *Request, p *Partition) way {
	switch {
	case p.Forced(): // whatever the job asks for
		return inRows
	case q.Exclusive, p.WholeNodes():
		return ownNode
	case q.Oversubscribe && p.Shares() > 1:
		return inRows
	}
	return ownCores
}

// share notes how a job shares a node; with a sign of −1, that it has left. Of a job that may
// start in several partitions the first counts.
func (r *Room) share(q *Request, n *Node, sign int) {
	s := r.sharing[n.Name]
	if s == nil {
		s = &sharers{held: map[string][]float64{}}
		r.sharing[n.Name] = s
	}
	open := r.openTo(q, n)
	if len(open) == 0 {
		return // in a partition that Slurm does not show
	}
	p, cpus := open[0], r.Takes(q, n)
	way := wayOf(q, p)
	s.jobs[way] += sign
	s.known += float64(sign) * cpus
	if way != inRows && p.Shares() == 1 {
		return
	}
	held := s.held[p.Name]
	if sign > 0 {
		s.held[p.Name] = append(held, cpus)
	} else if len(held) > 0 {
		i := max(0, slices.Index(held, cpus)) // what is known of a job on its nodes may be a mean
		s.held[p.Name] = slices.Delete(held, i, i+1)
	}
}

// sharesWith reports whether Slurm starts a job of the partition on a node where jobs share
// as they do. A job that holds its cores alone cannot join jobs of another partition that has
// rows, wherever on the node they are, nor can one in rows join such as hold theirs alone.
func (r *Room) sharesWith(q *Request, n *Node, p *Partition) bool {
	s := r.sharing[n.Name]
	switch {
	case s == nil:
		return true
	case s.jobs[ownNode] > 0:
		return false
	case wayOf(q, p) == inRows:
		return s.jobs[ownCores] == 0
	}
	for name, held := range s.held {
		if len(held) > 0 && name != p.Name && r.cluster.partition(name).Shares() > 1 {
			return false
		}
	}
	return true
}

// hasRow reports whether a row of the partition has the CPUs for the job, where each has that
// many. What other partitions hold in their rows does not count. CPUs of jobs that cannot be
// seen count as one more job.
func (r *Room) hasRow(q *Request, n *Node, p *Partition, cpus float64) bool {
	var held []float64
	if s := r.sharing[n.Name]; s != nil {
		held = slices.Clone(s.held[p.Name])
		if unseen := r.taken[n.Name] - s.known; unseen > 0 {
			held = append(held, unseen)
		}
	} else if taken := r.taken[n.Name]; taken > 0 {
		held = append(held, taken)
	}
	rows := make([]float64, p.Shares())
	for _, job := range append(held, min(r.Takes(q, n), cpus)) {
		i := slices.IndexFunc(rows, func(row float64) bool { return row+job <= cpus })
		if i < 0 {
			return false
		}
		rows[i] += job
	}
	return true
}
