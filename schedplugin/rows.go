package schedplugin

import (
	"runtime"
	"sync"
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"
)

// rows find the cells of the nodes of a cycle quickly: a map of one goroutine takes
// half the time of one that many may use.
type rows struct {
	busy     sync.Mutex // of whoever uses what follows; nobody waits for it
	byName   map[string]*cell
	cells    []*cell
	outdated atomic.Bool // since a node was deleted
}

// cellsOf returns the cells of nodes, in their order; nil for one that is nil. Done
// has to be called when they are not used any more.
func (p *Plugin) cellsOf(nodes []fwk.NodeInfo) (cells []*cell, done func()) {
	r := &p.rows
	if !r.busy.TryLock() { // the scheduler places one pod after the other
		for _, info := range nodes {
			cells = append(cells, p.find(nil, info))
		}
		return cells, func() {}
	}
	if r.byName == nil || r.outdated.Swap(false) {
		r.byName = map[string]*cell{}
	}
	r.cells = r.cells[:0]
	for _, info := range nodes {
		r.cells = append(r.cells, p.find(r.byName, info))
	}
	return r.cells, r.busy.Unlock
}

// find returns the cell of a node, by way of a map that it completes where there is
// one.
func (p *Plugin) find(byName map[string]*cell, info fwk.NodeInfo) *cell {
	if info == nil || info.Node() == nil {
		return nil
	}
	name := info.Node().Name
	at := byName[name]
	if at == nil {
		if at = p.cellOf(name); byName != nil {
			byName[name] = at
		}
	}
	return at
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

// fewStale is how many nodes one goroutine reads and prepares alone. More are there
// after the start, and when profiles have changed.
const fewStale = 32

// refresh reads and prepares the nodes that changed, in several goroutines where they
// are many.
func (c *cycle) refresh(nodes []fwk.NodeInfo, cells []*cell) {
	var stale []int
	for i, at := range cells {
		if at != nil && !at.last.Load().current(nodes[i].GetGeneration(), c.snapshot) {
			stale = append(stale, i)
		}
	}
	if len(stale) <= fewStale {
		return // estimateAll reads them by the way
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(stale); i = next.Add(1) - 1 {
				at := stale[i]
				own := c.plugin.occupancyIn(cells[at], nodes[at], c.snapshot)
				_, _ = c.placeAt(nodes[at], own) // estimateAll reports errors
			}
		})
	}
	workers.Wait()
}
