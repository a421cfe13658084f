package schedplugin

import (
	"cmp"
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/score"
)

// Costs are carried in costUnits per CPU lost, in place of the scores that they
// become.
const (
	costUnits = 1e6
	// mostCost keeps the cost of whatever domain apart from avoidedBy.
	mostCost = 1 << 40
	// avoidedBy places domains that the policy avoids after all others.
	avoidedBy = 1 << 41
)

// PreScore skips pods that do not concern the plugin.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	c.nodes = nodes
	return nil
}

// Score leaves everything to NormalizeScore. One loop over all nodes takes less time
// than the calls for each, and than handing them out to goroutines.
func (p *Plugin) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, nil
}

// estimateAll puts in place of each score an estimate of what placing the pod on the
// node would cost its memory domain.
func (p *Plugin) estimateAll(ctx context.Context, c *cycle, pod *v1.Pod, scores fwk.NodeScoreList) {
	var k *known
	machine := ""
	c.lookAtAll(c.nodesOf(scores), func(i int, s sight, err error) {
		if err != nil {
			p.open(ctx, pod, scores[i].Name, err)
			scores[i].Score = mostCost
			return
		}
		if k == nil || s.machine != machine {
			k, machine = c.knownOn(s.machine), s.machine
		}
		cost := s.load.Estimate(p.sketchOf(k), c.facts.cpus)
		scores[i].Score = scaled(cost, p.avoids(k, s.at))
	})
}

// scaled turns a cost into what the framework carries: whole numbers of 0 or more.
func scaled(cost float64, avoided bool) int64 {
	n := int64(mostCost)
	if whole := cost * costUnits; whole < mostCost {
		n = int64(max(whole, 0))
	}
	if avoided {
		n += avoidedBy
	}
	return n
}

// avoids tells from counts what a Score calls Avoided.
func (p *Plugin) avoids(k *known, at *place) bool {
	if p.args.UnknownApplications != score.Avoid {
		return false
	}
	knownJobs, unknownJobs := at.known, at.unknown
	if job := (score.Job{Application: k.Application}); job.Known() {
		knownJobs++
	} else {
		unknownJobs++
	}
	return knownJobs > 0 && unknownJobs > 0
}

// sketchOf is what the policy takes for an application.
func (p *Plugin) sketchOf(k *known) *fast.Model {
	if k.sketch == nil {
		return p.standIn
	}
	return k.sketch
}

func (p *Plugin) machineOf(info fwk.NodeInfo) string {
	return info.Node().Labels[v1alpha1.MachineLabel]
}

// ScoreExtensions returns the plugin itself, for NormalizeScore.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore estimates the cost of every node, scores the domains of the best
// estimates exactly where estimates are not to be relied on, and turns all costs into
// what the framework wants: 0 to 100, more is better.
//
// With d the cost beyond the best one, for each CPU of the pod, the score is
// 100·exp(−d ÷ 10%): a hundredth of a CPU, which no prediction is good for,
// counts 10 points, a tenth 63, and no outlier makes the rest look alike, as
// stretching from the least to the most would. Domains that are avoided come
// below all others.
func (p *Plugin) NormalizeScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	c := cycleOf(state)
	if c == nil || len(scores) == 0 {
		return nil
	}
	p.estimateAll(ctx, c, pod, scores)
	p.shortlist(ctx, c, pod, scores)
	best, anyKept := int64(math.MaxInt64), false
	for i := range scores {
		best = min(best, scores[i].Score%avoidedBy)
		anyKept = anyKept || scores[i].Score < avoidedBy
	}
	unit := costUnits * c.facts.cpus * decay
	for i := range scores {
		cost := scores[i].Score % avoidedBy
		s := 0.0
		if x := float64(cost-best) / unit; x < farOff {
			s = math.Exp(-x)
		}
		switch avoided := scores[i].Score >= avoidedBy; {
		case avoided && anyKept:
			s *= avoidedTop
		case anyKept && p.args.UnknownApplications == score.Avoid:
			s = avoidedTop + leastKept + (1-avoidedTop-leastKept)*s
		}
		scores[i].Score = int64(math.Round(s * float64(fwk.MaxScore)))
	}
	return nil
}

const (
	decay      = 0.1  // CPUs lost for each CPU of the pod at which the score has fallen to 100/e
	avoidedTop = 0.25 // the best score of a domain that is avoided, of 1
	leastKept  = 0.25 // how much more any other has at least
	farOff     = 6    // where exp(−x) is too little to be seen in a score
)

// mostExact is how many residents a domain may have to be scored exactly although
// its estimate is fine. Where few meet, their phases matter, which an estimate takes
// at their mean, and to look is quick; it takes some microseconds for six and some
// hundred for thirty.
const mostExact = 6

// shortlist notes the domains of the best estimates, and replaces estimates by exact
// costs where these may differ: where few meet, and where no model of the memory
// describes everyone. The other domains are not better than the best on the list.
func (p *Plugin) shortlist(ctx context.Context, c *cycle, pod *v1.Pod, scores fwk.NodeScoreList) {
	list := lowest(scores, int(p.args.ExactDomains))
	least := int64(math.MaxInt64)
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	for _, i := range list {
		info, err := nodes.Get(scores[i].Name)
		if err != nil || info.Node() == nil {
			continue
		}
		own := p.occupancyOf(info, c.snapshot)
		at, err := c.placeAt(info, own)
		if err != nil {
			continue // estimateAll has reported it
		}
		if k := c.knownOn(own.machine); len(at.load.Residents()) <= mostExact || !at.load.Reliable(p.sketchOf(k)) {
			result, err := p.score(c, at, scores[i].Name, own.machine)
			if err != nil {
				p.open(ctx, pod, scores[i].Name, err)
				continue
			}
			scores[i].Score = scaled(result.Cost, result.Avoided)
			klog.FromContext(ctx).V(5).Info("Scored", "pod", klog.KObj(pod), "node", scores[i].Name, "explanation", explanation{result})
		}
		least = min(least, scores[i].Score)
		c.ranked = append(c.ranked, candidate{node: scores[i].Name, machine: own.machine, place: at, cost: scores[i].Score})
	}
	slices.SortStableFunc(c.ranked, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	if least == math.MaxInt64 {
		return
	}
	for i := range scores {
		if !slices.Contains(list, i) {
			scores[i].Score = max(scores[i].Score, least)
		}
	}
}

// lowest returns the indices of the n lowest scores, in no particular order.
func lowest(scores fwk.NodeScoreList, n int) []int {
	chosen := make([]int, 0, min(n, len(scores)))
	worst := 0 // position in chosen
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
