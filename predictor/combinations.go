package predictor

import (
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// phaseMeans collects, for each phase of an application, what it gets done in
// it and how long the others take meanwhile.
type phaseMeans [maxPhases]struct{ progress, duration float64 }

// mostCombinations bounds how many combinations of phases are settled one by
// one, to what a pair can have: larger groups of many phases are taken at mean
// traffic, which their pairs then correct.
const mostCombinations = maxPhases * maxPhases

// combinations returns how many combinations of phases are settled; 1 where mean
// traffic is used.
func (e *equilibrium) combinations() int {
	n := 1
	for _, a := range e.apps {
		if n *= len(a.phases); n > mostCombinations {
			return 1
		}
	}
	return n
}

// settleInPhases settles everyone at mean traffic, then in every combination of
// phases, and holds a group to its pairs. It returns where the target's curves
// are read at mean traffic.
func (e *equilibrium) settleInPhases(record bool) outcome {
	e.settle(record)
	mean := e.respondTarget()
	if e.combinations() > 1 {
		e.settlePhases()
	}
	if n := len(e.apps); n > 2 && n <= mostCompounded {
		e.compoundPairs()
	}
	return mean
}

// settlePhases settles every combination of phases and sets the performance of
// each application to its mean over co-run time: a phase of one meets those of
// the others for as long as they then last.
func (e *equilibrium) settlePhases() {
	clear(e.means)
	clear(e.combination)
	allSettled := true
	for {
		for i, a := range e.apps {
			e.phases[i] = &a.phases[e.combination[i]]
		}
		e.settle(false)
		allSettled = allSettled && e.settled
		e.addToMeans()
		if !e.nextCombination() {
			break
		}
	}
	e.settled = allSettled
	for i, a := range e.apps {
		var time float64 // of the co-run, in units of the solo run
		for j := range a.phases {
			mean := &e.means[i][j]
			time += a.phases[j].timeShare * mean.duration / mean.progress
		}
		// The phases add up to 1 but for rounding.
		e.performance[i] = min(max(units.NormalizedPerformance(1/time), curves.Floor), 1)
		e.phases[i] = &steady[0]
	}
}

// addToMeans adds the settled state of one combination of phases.
func (e *equilibrium) addToMeans() {
	for i := range e.apps {
		lasts := 1.0 // of the others' phases together, in units of their solo runs
		for j, other := range e.apps {
			if j == i {
				continue
			}
			p := e.performance[j]
			if !e.atHome(j) {
				p = other.away(p)
			}
			lasts *= e.phases[j].timeShare / float64(p)
		}
		mean := &e.means[i][e.combination[i]]
		mean.progress += lasts * float64(e.performance[i])
		mean.duration += lasts
	}
}

// nextCombination counts up; false after the last.
func (e *equilibrium) nextCombination() bool {
	for i, a := range e.apps {
		if e.combination[i]++; e.combination[i] < len(a.phases) {
			return true
		}
		e.combination[i] = 0
	}
	return false
}

// mostCompounded is up to how many applications every two of them are settled
// alone, because the effort grows with the square. Larger groups rest on the
// settled state of all.
const mostCompounded = 16

// compoundPairs holds each application of a group to at most the product of its
// performances beside each other member alone. A queue
// grows faster than its load, so that delays by several neighbors at least
// compound; and every pair meets in its phases, where a large group is settled at
// mean traffic. The product in turn does not know that the memory carries no more
// than it can. Both err towards too little contention: the lower one counts.
func (e *equilibrium) compoundPairs() {
	if e.pair == nil {
		e.pair = &equilibrium{}
	}
	e.compounded = e.compounded[:0]
	for range e.apps {
		e.compounded = append(e.compounded, 1)
	}
	for i := range e.apps {
		for j := i + 1; j < len(e.apps); j++ {
			e.twoOf = [2]*Application{e.apps[i], e.apps[j]}
			e.pair.reset(e.twoOf[:], e.atHome(i))
			e.pair.settleInPhases(false)
			e.compounded[i] *= e.pair.performance[0]
			e.compounded[j] *= e.pair.performance[1]
		}
	}
	for i, product := range e.compounded {
		e.performance[i] = max(min(e.performance[i], product), curves.Floor)
	}
}
