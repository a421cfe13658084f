package schedplugin

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/predictor/score"
)

// rows hold what a look at every node needs, side by side in the order of the
// scheduler's own list of nodes, in which it asks for them. What is looked at for
// every pod then comes out of a few cache lines in a row, and not by five pointers,
// each to another place in memory, for each node.
type rows struct {
	busy     sync.Mutex // of whoever uses what follows; nobody waits for it
	all      []row
	byName   map[string]int
	found    []*row      // what find returned last
	missed   bool        // whether a node was not found
	outdated atomic.Bool // since a node was deleted
}

// row is a node as it was when generation, snapshot and round were these, for pods
// that are pinned to no NUMA node.
type row struct {
	info       fwk.NodeInfo
	generation int64
	snapshot   *snapshot
	round      int64 // anyRound where none changes it
	until      int64 // nanoseconds of Unix time
	sight            // its load is nil where the row has to be made anew
}

const anyRound = -1

// open gives the rows to the caller, until close; false when somebody else has them.
func (r *rows) open(all fwk.NodeInfoLister) bool {
	if !r.busy.TryLock() { // the scheduler places one pod after the other
		return false
	}
	if r.outdated.Swap(false) || r.missed || r.byName == nil {
		r.order(all)
	}
	return true
}

func (r *rows) close() { r.busy.Unlock() }

// order makes a row for every node; what is known of one goes along.
func (r *rows) order(all fwk.NodeInfoLister) {
	nodes, err := all.List()
	if err != nil {
		return // the scheduler's snapshot has no error; the old rows serve
	}
	next, byName := make([]row, 0, len(nodes)), make(map[string]int, len(nodes))
	for _, info := range nodes {
		node := info.Node()
		if node == nil {
			continue
		}
		made := row{info: info}
		if at, ok := r.byName[node.Name]; ok && r.all[at].info == info {
			made = r.all[at]
		}
		byName[node.Name] = len(next)
		next = append(next, made)
	}
	r.all, r.byName, r.missed = next, byName, false
}

// find returns the rows of nodes, in their order; nil for a node that has none yet.
//
// Nodes come in about the order of the rows: the scheduler's goroutines ask for
// stretches of it in turn. So where the last two stretches go on is looked first.
func (r *rows) find(nodes []fwk.NodeInfo) []*row {
	r.found = r.found[:0]
	var first, second int
	for _, info := range nodes {
		var at *row
		switch {
		case first < len(r.all) && r.all[first].info == info:
			at, first = &r.all[first], first+1
		case second < len(r.all) && r.all[second].info == info:
			at, first, second = &r.all[second], second+1, first
		case info != nil && info.Node() != nil:
			if place, ok := r.byName[info.Node().Name]; ok {
				at, first, second = &r.all[place], place+1, first
			} else {
				r.missed = true
			}
		}
		if at != nil && at.info != info {
			*at = row{info: info}
		}
		r.found = append(r.found, at)
	}
	return r.found
}

// current reports whether the row says what its node would say.
func (r *row) current(c *cycle, nanoseconds int64) bool {
	return r.load != nil && r.generation == r.info.GetGeneration() && r.snapshot == c.snapshot && nanoseconds < r.until &&
		(r.round == anyRound || r.round == c.snapshot.round.Load())
}

// sight is what a cycle sees of a node.
type sight struct {
	load    *score.Load
	at      *place
	machine string
}

// look returns what the cycle sees of a node, from its row where that is there and
// current. Of a node that shares its memory, or for a pod that is pinned to a NUMA
// node, no row says it.
func (c *cycle) look(info fwk.NodeInfo, r *row, nanoseconds int64) (sight, error) {
	if c.facts.numaNode != anyNUMANode {
		r = nil
	}
	if r != nil && r.current(c, nanoseconds) {
		return r.sight, nil
	}
	generation, round := info.GetGeneration(), c.snapshot.round.Load()
	own := c.plugin.occupancyOf(info, c.snapshot)
	at, err := c.placeAt(info, own)
	if err != nil {
		return sight{}, err
	}
	seen := sight{at.load, at, own.machine}
	if r == nil || own.domain != "" {
		return seen, nil
	}
	*r = row{info: info, generation: generation, snapshot: c.snapshot, round: anyRound, until: math.MaxInt64, sight: seen}
	if own.waiting {
		r.round = round
	}
	if !at.expires.IsZero() {
		r.until = at.expires.UnixNano()
	}
	return seen, nil
}

// lookAtAll calls do for each of nodes that is still there.
func (c *cycle) lookAtAll(nodes []fwk.NodeInfo, do func(i int, s sight, err error)) {
	all, nanoseconds := &c.plugin.rows, c.now.UnixNano()
	var found []*row
	if all.open(c.plugin.handle.SnapshotSharedLister().NodeInfos()) {
		defer all.close()
		found = all.find(nodes)
		c.refresh(nodes, found, nanoseconds)
	}
	for i, info := range nodes {
		if info == nil || info.Node() == nil {
			continue
		}
		var r *row
		if found != nil {
			r = found[i]
		}
		s, err := c.look(info, r, nanoseconds)
		do(i, s, err)
	}
}

// fewStale is how many nodes one goroutine reads and prepares alone. More are there
// after the start, and when profiles have changed.
const fewStale = 32

// refresh reads and prepares the nodes of which rows are not current, in several
// goroutines where they are many.
func (c *cycle) refresh(nodes []fwk.NodeInfo, found []*row, nanoseconds int64) {
	var stale []fwk.NodeInfo
	for i, r := range found {
		if r != nil && !r.current(c, nanoseconds) {
			stale = append(stale, nodes[i])
		}
	}
	if len(stale) <= fewStale {
		return // look reads them
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(stale); i = next.Add(1) - 1 {
				_, _ = c.placeOn(stale[i]) // look returns the error
			}
		})
	}
	workers.Wait()
}

// nodesOf returns the nodes that are scored, in the order of scores; nil for one that
// is gone. It is the order of PreScore, unless the framework changes.
func (c *cycle) nodesOf(scores fwk.NodeScoreList) []fwk.NodeInfo {
	same := len(c.nodes) == len(scores)
	for i := 0; same && i < len(scores); i++ {
		n := c.nodes[i].Node()
		same = n != nil && n.Name == scores[i].Name
	}
	if same {
		return c.nodes
	}
	nodes := make([]fwk.NodeInfo, len(scores))
	for i := range scores {
		if info, err := c.plugin.handle.SnapshotSharedLister().NodeInfos().Get(scores[i].Name); err == nil {
			nodes[i] = info
		}
	}
	return nodes
}
