package schedplugin

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// domainState is a memory domain as a pod finds it, prepared for the score. It is
// immutable but for the scores that it remembers. What Score reads comes first: with
// thousands of nodes it is in no cache.
type domainState struct {
	at      *occupancy.Node // where it was prepared
	expires int64           // when a measurement is too old, in nanoseconds of Unix time; 0 for never
	// known and unknown count the residents with and without a complete profile, and
	// limited is true where one has a limit.
	known, unknown int32
	load           score.Load
	limited        bool

	caches predictor.Caches  // in which a newcomer may come to run
	nodes  []*occupancy.Node // that it was made of
	// residents are those of load, in its order.
	residents []*occupancy.Resident

	scores     sync.Map // of scoreKey to *score.Score
	remembered atomic.Int32
}

func (d *domainState) current(now time.Time) bool {
	return d != nil && (d.expires == 0 || now.UnixNano() < d.expires)
}

// domain returns the memory domain of a node for the pod of this cycle.
func (c *cycle) domain(slot *nodeSlot, state *nodeState) (*domainState, error) {
	numaNode := c.newcomer.NUMANode
	switch {
	case state.shared && numaNode == occupancy.AnyNUMANode:
		return c.sharedDomain(state.node)
	case state.shared:
		return c.prepare(c.sharing(state.node), state.node)
	case int(numaNode) >= len(slot.domains):
		return c.prepare([]*occupancy.Node{state.node}, state.node)
	}
	remembered := &slot.domains[numaNode]
	if d := remembered.Load(); d.current(c.now) && d.at == state.node {
		return d, nil
	}
	d, err := c.prepare([]*occupancy.Node{state.node}, state.node)
	if err == nil {
		remembered.Store(d)
	}
	return d, err
}

// sharedDomain returns the memory domain that a node shares with others, from this
// cycle or an earlier one where its nodes are still the same. It is remembered only
// where own is as in the scheduler's snapshot: with other pods, such as nominated ones,
// it is not what the other nodes of the domain find.
func (c *cycle) sharedDomain(own *occupancy.Node) (*domainState, error) {
	if !c.inSnapshot(own) {
		return c.prepare(c.sharing(own), own)
	}
	if value, ok := c.shared.Load(own.Domain); ok {
		if d := value.(*domainState); slices.Contains(d.nodes, own) { //nolint:errcheck,forcetypeassert // nothing else is stored
			return d, nil
		}
	}
	nodes := c.sharing(own)
	value, ok := c.plugin.shared.Load(own.Domain)
	d, _ := value.(*domainState)
	if !ok || !slices.Equal(d.nodes, nodes) || !d.current(c.now) {
		var err error
		if d, err = c.prepare(nodes, own); err != nil {
			return nil, err
		}
		c.plugin.shared.Store(own.Domain, d)
		if len(c.plugin.members.of(own.Domain)) == 0 { // its last node left during the cycle
			c.plugin.shared.Delete(own.Domain)
		}
	}
	c.shared.Store(own.Domain, d)
	return d, nil
}

// inSnapshot reports whether a node is as in the scheduler's snapshot.
func (c *cycle) inSnapshot(own *occupancy.Node) bool {
	info, err := c.plugin.handle.SnapshotSharedLister().NodeInfos().Get(own.Name)
	if err != nil || info.Node() == nil {
		return false
	}
	_, now := c.stateOf(info)
	return now.node == own
}

// sharing returns the nodes that share a memory domain, sorted by name, so that it
// does not matter which of them was asked for. The scheduler may ask for a node with
// other pods than in its snapshot: own stands for that one.
func (c *cycle) sharing(own *occupancy.Node) []*occupancy.Node {
	nodes := []*occupancy.Node{own}
	all := c.plugin.handle.SnapshotSharedLister().NodeInfos()
	for _, member := range c.plugin.members.of(own.Domain) {
		if member == own.Name {
			continue
		}
		info, err := all.Get(member)
		if err != nil || info.Node() == nil {
			continue // deleted since the index was made
		}
		if other := c.plugin.nodeState(c.plugin.nodes.slot(member), info, c.profiles).node; other.Domain == own.Domain {
			nodes = append(nodes, other)
		}
	}
	slices.SortFunc(nodes, func(a, b *occupancy.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// prepare makes the state of the memory domain of nodes for the pod of this cycle at
// one of them.
func (c *cycle) prepare(nodes []*occupancy.Node, at *occupancy.Node) (*domainState, error) {
	p, maxAge := c.plugin, c.plugin.args.MeasuredTrafficMaxAge.Duration
	domain := occupancy.Domain{Name: at.Domain, Nodes: nodes}
	if domain.Name == "" {
		domain.Name = at.Name
	}
	neighbors := domain.Neighbors(&occupancy.Resident{ID: c.newcomer.ID, NUMANode: c.newcomer.NUMANode}, at, c.now, maxAge)
	for _, n := range nodes {
		if n.Measured.Fresh(c.now, maxAge) {
			p.metrics.measured.WithLabelValues(resultUsed).Inc()
		} else if n.Measured != nil {
			p.metrics.measured.WithLabelValues(resultStale).Inc()
		}
	}
	scorer := p.scorer()
	defer p.scorers.Put(scorer)
	d := &domainState{
		at: at, caches: at.Caches, nodes: nodes, residents: neighbors.Residents,
	}
	if !neighbors.Expires.IsZero() {
		d.expires = neighbors.Expires.UnixNano()
	}
	if err := neighbors.Load(scorer, &d.load); err != nil {
		return nil, err
	}
	for i, job := range d.load.Residents() {
		d.limited = d.limited || d.residents[i].Limited()
		if job.Known() {
			d.known++
		} else {
			d.unknown++
		}
	}
	return d, nil
}

func (p *Plugin) scorer() *score.Scorer {
	return p.scorers.Get().(*score.Scorer) //nolint:errcheck,forcetypeassert // nothing else is put
}

// scoreKey tells newcomers apart to which a domain gives different scores.
type scoreKey struct {
	application *predictor.Application
	cpus        float64
	limit       units.Slowdown
	card        string // of a newcomer that communicates
}

// mostRemembered bounds the scores that a domain remembers, of a few kilobytes each.
const mostRemembered = 32

// score returns the exact score of the pod on a node of a domain. Replicas of an
// application ask for the same until the domain changes.
func (c *cycle) score(d *domainState, node, machine string) (*score.Score, error) {
	job := c.newcomerOn(node, machine).Job()
	job.Caches = d.caches
	key := scoreKey{application: job.Application, cpus: job.CPUs, limit: job.Limit}
	if job.Application != nil && job.Application.Communication() != nil {
		key.card = node
	}
	if value, ok := d.scores.Load(key); ok {
		return value.(*score.Score), nil //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	scorer := c.plugin.scorer()
	defer c.plugin.scorers.Put(scorer)
	result, err := scorer.ScoreLoad(job, &d.load)
	if err != nil {
		return nil, err
	}
	if job.Application != nil && d.remembered.Add(1) <= mostRemembered {
		d.scores.Store(key, &result)
	}
	return &result, nil
}

// stateOf returns the state of a node, which may have other pods than in the
// scheduler's snapshot: preemption tries nodes without some of theirs.
func (c *cycle) stateOf(info fwk.NodeInfo) (*nodeSlot, *nodeState) {
	slot := c.plugin.nodes.slot(info.Node().Name)
	return slot, c.plugin.nodeState(slot, info, c.profiles)
}
