package schedplugin

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// place is where a newcomer may go: its memory domain, prepared for the score.
// It is immutable but for the scores it remembers, and safe for concurrent use.
type place struct {
	load    *score.Load
	parts   []*occupancy // the nodes it was made of, the asked one first
	limited bool         // a resident has a limit
	// known and unknown count the residents that the policy avoid keeps apart.
	known, unknown int
	// expires is when a measurement in it is too old; zero for never.
	expires time.Time

	scores     sync.Map // of scoreKey to *score.Score
	remembered atomic.Int32
}

// placeCache holds the places of a node that is a domain of its own: for pods
// pinned to none of its NUMA nodes, and to each of the first ones.
type placeCache struct {
	whole  atomic.Pointer[place]
	pinned [8]atomic.Pointer[place]
}

// slot returns where to cache the place for a NUMA node; nil for one too many.
func (c *placeCache) slot(numaNode int) *atomic.Pointer[place] {
	switch {
	case numaNode == anyNUMANode:
		return &c.whole
	case numaNode < len(c.pinned):
		return &c.pinned[numaNode]
	}
	return nil
}

// cell holds the last reading of a node.
type cell struct{ last atomic.Pointer[seen] }

// seen is a reading of a node.
type seen struct {
	generation int64
	snapshot   *snapshot
	round      int64 // of the snapshot, before it was asked
	occupancy  *occupancy
	readings   []reading // of the node's pods, in their order
}

// current reports whether the node would be read as it was.
func (s *seen) current(generation int64, now *snapshot) bool {
	return s != nil && s.generation == generation && s.snapshot == now &&
		(!s.occupancy.waiting || s.round == now.round.Load())
}

// cellOf returns the cell of a node.
func (p *Plugin) cellOf(node string) *cell {
	value, ok := p.nodes.Load(node)
	if !ok {
		value, _ = p.nodes.LoadOrStore(node, &cell{})
	}
	return value.(*cell) //nolint:errcheck,forcetypeassert // nothing else is stored
}

// occupancyOf returns what a node brings to its domain, read anew when the
// scheduler's copy of the node or the profiles changed. Where that changed
// nothing, the former reading stays, and with it what was prepared of it.
func (p *Plugin) occupancyOf(info fwk.NodeInfo, s *snapshot) *occupancy {
	at := p.cellOf(info.Node().Name)
	last, generation := at.last.Load(), info.GetGeneration()
	if last.current(generation, s) {
		return last.occupancy
	}
	round := s.round.Load()
	o, readings := p.readNode(info, s, last)
	if last != nil && o.equal(last.occupancy) {
		o = last.occupancy
	}
	at.last.Store(&seen{generation, s, round, o, readings})
	return o
}

// placeOn returns the memory domain of a node for a pod of this cycle. The node
// may differ from the snapshot's: preemption tries nodes without some pods.
func (c *cycle) placeOn(info fwk.NodeInfo) (*place, error) {
	return c.placeAt(info, c.plugin.occupancyOf(info, c.snapshot))
}

// placeAt is placeOn for a node of which it is known what it brings.
func (c *cycle) placeAt(info fwk.NodeInfo, own *occupancy) (*place, error) {
	if own.domain == "" {
		slot := own.cache.slot(c.facts.numaNode)
		if slot != nil {
			if cached := slot.Load(); cached != nil && cached.current(c.now) {
				return cached, nil
			}
		}
		made, err := c.plugin.prepare(info.Node().Name, []*occupancy{own}, c.facts.numaNode, c.now)
		if err == nil && slot != nil {
			slot.Store(made)
		}
		return made, err
	}
	return c.pool(info, own)
}

func (p *place) current(now time.Time) bool { return p.expires.IsZero() || now.Before(p.expires) }

// pool returns the place of a domain that several nodes share.
func (c *cycle) pool(info fwk.NodeInfo, own *occupancy) (*place, error) {
	if value, ok := c.pools.Load(own.domain); ok && c.facts.numaNode == anyNUMANode {
		if made := value.(*place); slices.Contains(made.parts, own) { //nolint:errcheck,forcetypeassert // nothing else is stored
			return made, nil
		}
	}
	parts := []*occupancy{own}
	for _, member := range c.plugin.members.of(own.domain) {
		if member == info.Node().Name {
			continue
		}
		other, err := c.plugin.handle.SnapshotSharedLister().NodeInfos().Get(member)
		if err != nil || other.Node() == nil {
			continue // gone since the index was made
		}
		if o := c.plugin.occupancyOf(other, c.snapshot); o.domain == own.domain {
			parts = append(parts, o)
		}
	}
	made, err := c.plugin.preparePool(own.domain, parts, c.facts.numaNode, c.now)
	if err == nil && c.facts.numaNode == anyNUMANode {
		c.pools.Store(own.domain, made)
	}
	return made, err
}

// preparePool reuses what was prepared of the same readings in an earlier cycle.
func (p *Plugin) preparePool(domain string, parts []*occupancy, numaNode int, now time.Time) (*place, error) {
	if numaNode != anyNUMANode {
		return p.prepare(domain, parts, numaNode, now)
	}
	if value, ok := p.pools.Load(domain); ok {
		old := value.(*place) //nolint:errcheck,forcetypeassert // nothing else is stored
		same := len(old.parts) == len(parts) && old.current(now)
		for _, o := range parts {
			same = same && slices.Contains(old.parts, o)
		}
		if same {
			return old, nil
		}
	}
	made, err := p.prepare(domain, parts, numaNode, now)
	if err == nil {
		p.pools.Store(domain, made)
	}
	return made, err
}

// prepare makes a place of readings of nodes, the first being the node that was
// asked about.
//
// A pod pinned to a NUMA node meets the node's other pods unless they are pinned
// to another one; pods of other nodes of the domain it meets all, because what
// nodes share lies beyond their NUMA nodes.
func (p *Plugin) prepare(name string, parts []*occupancy, numaNode int, now time.Time) (*place, error) {
	made := &place{parts: parts}
	most := 0
	for _, o := range parts {
		most += len(o.residents)
	}
	domain := score.Domain{Name: name, Residents: make([]score.Job, 0, most)}
	sketches := make([]*fast.Model, 0, most)
	for i, o := range parts {
		for _, r := range o.residents {
			if i == 0 && numaNode != anyNUMANode && r.numaNode != anyNUMANode && r.numaNode != numaNode {
				continue
			}
			domain.Residents = append(domain.Residents, r.job)
			sketches = append(sketches, r.known.sketch)
			made.limited = made.limited || r.job.Limit != 0
			if r.job.Known() {
				made.known++
			} else {
				made.unknown++
			}
		}
		p.addBackground(made, &domain, o, now)
	}
	scorer := p.scorer()
	defer p.scorers.Put(scorer)
	load, err := scorer.Prepare(domain)
	if err != nil {
		return nil, err
	}
	scorer.Tabulate(load, sketches)
	made.load = load
	return made, nil
}

// addBackground adds what is measured on a node beyond its known residents.
func (p *Plugin) addBackground(made *place, domain *score.Domain, o *occupancy, now time.Time) {
	switch m, maxAge := o.measured, p.args.MeasuredTrafficMaxAge.Duration; {
	case !m.present:
	case !m.usable(now, maxAge):
		p.metrics.measured.WithLabelValues(resultStale).Inc()
	default:
		p.metrics.measured.WithLabelValues(resultUsed).Inc()
		if domain.Background == nil {
			domain.Background = &units.Traffic{}
		}
		here := make([]score.Job, len(o.residents))
		for i, r := range o.residents {
			here[i] = r.job
		}
		*domain.Background = domain.Background.Add(score.Background(m.traffic, here))
		if expires := m.time.Add(maxAge); made.expires.IsZero() || expires.Before(made.expires) {
			made.expires = expires
		}
	}
}

func (p *Plugin) scorer() *score.Scorer {
	return p.scorers.Get().(*score.Scorer) //nolint:errcheck,forcetypeassert // nothing else is put
}

// scoreKey tells newcomers apart that a place scores differently.
type scoreKey struct {
	known *known
	cpus  float64
	limit units.Slowdown
	card  string // where the application communicates
}

// mostRemembered bounds the scores a place remembers: a few kilobytes each.
const mostRemembered = 32

// score scores the newcomer exactly. Replicas of one application ask the same
// of a place that nothing else changed.
func (p *Plugin) score(c *cycle, at *place, node, machine string) (*score.Score, error) {
	k := c.knownOn(machine)
	key := scoreKey{known: k, cpus: c.facts.cpus, limit: c.facts.limit}
	if k.Application != nil && k.Application.Communication() != nil {
		key.card = node
	}
	if value, ok := at.scores.Load(key); ok {
		return value.(*score.Score), nil //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	scorer := p.scorer()
	defer p.scorers.Put(scorer)
	result, err := scorer.ScoreLoad(score.Job{
		Name: c.pod.Name, Application: k.Application, CPUs: c.facts.cpus, Limit: c.facts.limit, Card: node,
	}, at.load)
	if err != nil {
		return nil, err
	}
	if k.Application != nil && at.remembered.Add(1) <= mostRemembered {
		at.scores.Store(key, &result)
	}
	return &result, nil
}
