package schedplugin

import (
	"cmp"
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/score"
)

// PreScore skips pods that do not count.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if cycleOf(state) == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	p.nodes.index(p.handle.SnapshotSharedLister().NodeInfos())
	return nil
}

// Score estimates the cost of placing the pod on the node: the work that it would
// lose there, and that it would cost the residents of the memory domain.
func (p *Plugin) Score(ctx context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	c := cycleOf(state)
	if c == nil || info.Node() == nil {
		return 0, nil
	}
	slot := p.nodes.fastSlot(info)
	node := p.nodeState(slot, info, c.profiles)
	domain, err := c.domain(slot, node)
	if err != nil {
		c.failed(ctx, node.node.Name, err)
		return int64(mostCost), nil
	}
	profile := c.profileOn(node.machine)
	estimate := domain.load.Estimate(p.fastModel(profile), c.newcomer.CPUs)
	return int64(costOf(estimate, p.avoids(profile, domain))), nil
}

// ScoreExtensions returns the plugin itself, for NormalizeScore.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore replaces the best of the estimated costs by exact ones, and turns
// all into what the framework wants: 0 to 100, more is better.
//
// With d the cost beyond the best one, for each CPU of the pod, the score is
// 100·exp(−d ÷ 10%): a hundredth of a CPU, which no prediction is good for, counts 10
// points, a tenth 63. An outlier does not make the others look alike, as stretching
// from the least to the most would. Domains to avoid come below all others.
func (p *Plugin) NormalizeScore(ctx context.Context, state fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	c := cycleOf(state)
	if c == nil || len(scores) == 0 {
		return nil
	}
	c.refine(ctx, scores)
	best, allAvoided := cost(math.MaxInt64), true
	for i := range scores {
		c := cost(scores[i].Score)
		best = min(best, c.beforeAvoiding())
		allAvoided = allAvoided && c.avoided()
	}
	unit := costUnits * decay
	if p.args.Objective != score.WorstSlowdown { // which does not grow with the CPUs
		unit *= c.newcomer.CPUs
	}
	for i := range scores {
		cost, s := cost(scores[i].Score), 0.0
		if x := float64(cost.beforeAvoiding()-best) / unit; x < farOff {
			s = math.Exp(-x)
		}
		switch {
		case allAvoided || p.args.UnknownApplications != score.Avoid:
		case cost.avoided():
			s *= avoidedTop
		default:
			s = avoidedTop + leastKept + (1-avoidedTop-leastKept)*s
		}
		scores[i].Score = int64(math.Round(s * float64(maxScore)))
	}
	return nil
}

const (
	decay      = 0.1  // CPUs lost for each CPU of the pod at which the score has fallen to 100/e
	avoidedTop = 0.25 // the best score of a domain to avoid, of 1
	leastKept  = 0.25 // how much higher the others are at least
	farOff     = 6    // where exp(−x) no longer shows in a score
)

// mostExact is how many residents a domain may have to be scored exactly although its
// estimate is reliable. An estimate takes the phases of applications at their mean, which
// matters among few. An exact score takes longer the more residents there are, and longest
// by curves, which solves their pairs as well: BenchmarkByCurves and BenchmarkCycle say how
// long.
const mostExact = 6

// refine replaces the lowest of the estimates by exact costs where these may differ:
// among few residents, and where no model of the memory describes them all. No other
// node then costs less than the best of these.
func (c *cycle) refine(ctx context.Context, scores fwk.NodeScoreList) {
	lowest := lowestScores(scores, int(c.plugin.args.ExactDomains))
	least := cost(math.MaxInt64)
	var shared map[sharedPlace]cost
	nodes := c.plugin.handle.SnapshotSharedLister().NodeInfos()
	for _, i := range lowest {
		info, err := nodes.Get(scores[i].Name)
		if err != nil || info.Node() == nil {
			continue
		}
		slot, node := c.stateOf(info)
		domain, err := c.domain(slot, node)
		if err != nil {
			continue // Score has reported it
		}
		name, machine := node.node.Name, node.machine
		if len(domain.load.Residents()) <= mostExact || !domain.load.Reliable(c.plugin.fastModel(c.profileOn(machine))) {
			result, err := c.score(domain, name, machine)
			if err != nil {
				c.failed(ctx, name, err)
				continue
			}
			scores[i].Score = int64(costOf(result.Cost, result.Avoided))
			klog.FromContext(ctx).V(5).Info("Scored", "pod", klog.KObj(c.pod), "node", name, "explanation", explanation{result})
		}
		exact := cost(scores[i].Score)
		if node.shared && c.newcomer.NUMANode == occupancy.AnyNUMANode && !communicates(c.profileOn(machine)) {
			if shared == nil {
				shared = map[sharedPlace]cost{}
			}
			shared[sharedPlace{node.node.Domain, machine}] = exact
		}
		least = min(least, exact)
		c.ranked = append(c.ranked, candidate{node: name, machine: machine, domain: domain, cost: exact})
	}
	slices.SortStableFunc(c.ranked, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	if len(c.ranked) == 0 {
		return
	}
	for i := range scores {
		if slices.Contains(lowest, i) {
			continue
		}
		scores[i].Score = max(scores[i].Score, int64(least))
		if shared == nil {
			continue
		}
		if node := c.plugin.nodes.slot(scores[i].Name).state.Load(); node != nil && node.shared {
			if exact, ok := shared[sharedPlace{node.node.Domain, node.machine}]; ok {
				scores[i].Score = int64(exact)
			}
		}
	}
}

// sharedPlace is the nodes of a machine in a memory domain, which cost a pod the same,
// unless it communicates by their network cards or is pinned to a NUMA node.
type sharedPlace struct{ domain, machine string }

func communicates(p *profile) bool {
	return p.Application != nil && p.Application.Communication() != nil
}

// lowestScores returns the indices of the n lowest scores, in no particular order.
func lowestScores(scores fwk.NodeScoreList, n int) []int {
	chosen := make([]int, 0, min(n, len(scores)))
	worst := 0 // index in chosen
	for i := range scores {
		if len(chosen) < cap(chosen) {
			chosen = append(chosen, i)
		} else if scores[i].Score < scores[chosen[worst]].Score {
			chosen[worst] = i
		} else {
			continue
		}
		for j := range chosen {
			if scores[chosen[j]].Score > scores[chosen[worst]].Score {
				worst = j
			}
		}
	}
	return chosen
}

// cost is the cost of a placement as the framework carries it, in whole costUnits for
// each CPU lost. Costs of domains to avoid are higher than all others by avoiding.
type cost int64

const (
	costUnits      = 1e6
	mostCost  cost = 1 << 40 // of a domain that is not to be avoided
	avoiding  cost = 1 << 41
)

func costOf(cpus float64, avoided bool) cost {
	c := mostCost
	if units := cpus * costUnits; units < float64(mostCost) {
		c = cost(max(units, 0))
	}
	if avoided {
		c += avoiding
	}
	return c
}

func (c cost) avoided() bool        { return c >= avoiding }
func (c cost) beforeAvoiding() cost { return c % avoiding }

// avoids reports whether the policy avoids the domain: the pod would mix known and
// unknown applications there. An exact score says so in Avoided.
func (p *Plugin) avoids(profile *profile, d *domainState) bool {
	if p.args.UnknownApplications != score.Avoid {
		return false
	}
	if (score.Job{Application: profile.Application}).Known() {
		return d.unknown > 0
	}
	return d.known > 0
}

// fastModel returns what the policy takes for a pod with this profile.
func (p *Plugin) fastModel(profile *profile) *fast.Model {
	if profile.fast == nil {
		return p.standIn
	}
	return profile.fast
}
