package predictor

import (
	"math"
	"slices"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// company is applications that share a memory of which there is a model.
type company struct {
	apps  []*Application
	model *memory.Model
	// targetFirst is as in equilibrium.
	targetFirst bool
	performance []units.NormalizedPerformance
	// steady is true for an application that is taken at its mean traffic.
	steady      []bool
	combination []int // phases
	members     []memory.Member
	// known are the performances in every combination of phases; NaN where not
	// settled yet.
	known []float64
	means []phaseMeans
	// lasts is how long the phase of an application lasts in the current
	// combination, reference how long those of its co-runners lasted together in
	// the first; both as natural logarithms.
	lasts, reference []float64
	rates            []float64 // performance as the model says it
}

// mostTogether bounds how many combinations of the phases of a company are
// settled: four applications of three phases. Beyond, those with the least traffic
// are taken at their mean.
const mostTogether = maxPhases * maxPhases * maxPhases * maxPhases

// reset makes c a company of apps; what it allocated before serves again.
func (c *company) reset(apps []*Application, model *memory.Model, targetFirst bool) {
	n := len(apps)
	c.apps, c.model, c.targetFirst = apps, model, targetFirst
	c.performance = slices.Grow(c.performance[:0], n)[:n]
	c.steady = slices.Grow(c.steady[:0], n)[:n]
	c.combination = slices.Grow(c.combination[:0], n)[:n]
	c.members = slices.Grow(c.members[:0], n)[:n]
	c.means = slices.Grow(c.means[:0], n)[:n]
	c.rates = slices.Grow(c.rates[:0], n)[:n]
	c.lasts = slices.Grow(c.lasts[:0], n)[:n]
	c.reference = slices.Grow(c.reference[:0], n)[:n]
	combinations := c.choosePhases()
	c.known = slices.Grow(c.known[:0], n*combinations)[:n*combinations]
	for i := range c.known {
		c.known[i] = math.NaN()
	}
}

// choosePhases takes the phases of the target, then of the co-runners with most
// traffic, until there are mostTogether combinations. It returns how many.
func (c *company) choosePhases() int {
	for i := range c.apps {
		c.steady[i], c.combination[i] = len(c.apps[i].phases) > 1, 0
	}
	combinations := 1
	for next := 0; next >= 0 && combinations*len(c.apps[next].phases) <= mostTogether; next = c.heaviestSteady() {
		combinations *= len(c.apps[next].phases)
		c.steady[next] = false
	}
	return combinations
}

// heaviestSteady returns the steady co-runner with most traffic, or −1.
func (c *company) heaviestSteady() int {
	heaviest := -1
	for i, steady := range c.steady {
		if steady && (heaviest < 0 || c.apps[i].corunner.Total() > c.apps[heaviest].corunner.Total()) {
			heaviest = i
		}
	}
	return heaviest
}

func (c *company) atHome(i int) bool { return i == 0 && c.targetFirst }

// settle returns the performances in the current combination of phases.
func (c *company) settle() []float64 {
	place := 0
	for i, a := range c.apps {
		if !c.steady[i] {
			place = place*len(a.phases) + c.combination[i]
		}
	}
	n := len(c.apps)
	settled := c.known[place*n : (place+1)*n]
	if !math.IsNaN(settled[0]) {
		return settled
	}
	for i, a := range c.apps {
		phase := c.combination[i]
		if c.steady[i] {
			phase = -1
		}
		c.members[i] = a.memberIn(c.model, phase, c.atHome(i))
	}
	c.model.Settle(c.members, settled)
	return settled
}

// share returns the share of its time alone that application i spends in the
// phase it is in.
func (c *company) share(i int) float64 {
	if c.steady[i] {
		return 1
	}
	return c.apps[i].timeShare(c.combination[i], c.atHome(i))
}

// longest bounds the natural logarithm of how much longer a combination lasts than
// the first one. Products over thousands of co-runners do not fit a float; beyond
// the bound one combination is nearly all the time there is.
const longest = 300

// meet sets the performance of everyone to the mean over co-run time when their
// phases meet at random: a phase of one meets those of the others for as long as
// they then last.
func (c *company) meet() {
	clear(c.means)
	clear(c.combination)
	for first := true; first || c.nextCombination(); first = false {
		settled := c.settle()
		var all float64
		for i := range c.apps {
			c.lasts[i] = math.Log(c.share(i) / settled[i])
			all += c.lasts[i]
		}
		for i := range c.apps {
			others := all - c.lasts[i]
			if first {
				c.reference[i] = others
			}
			lasts := math.Exp(min(max(others-c.reference[i], -longest), longest))
			mean := &c.means[i][c.combination[i]]
			mean.progress += lasts * settled[i]
			mean.duration += lasts
		}
	}
	for i, a := range c.apps {
		var time float64 // of the co-run, in units of the solo run
		phases := len(a.phases)
		if c.steady[i] {
			phases = 1
		}
		for j := range phases {
			share := 1.0
			if !c.steady[i] {
				share = a.timeShare(j, c.atHome(i))
			}
			time += share * c.means[i][j].duration / c.means[i][j].progress
		}
		c.rates[i] = 1 / time
	}
	c.finish()
}

// nextCombination counts up; false after the last.
func (c *company) nextCombination() bool {
	for i, a := range c.apps {
		if c.steady[i] {
			continue
		}
		if c.combination[i]++; c.combination[i] < len(a.phases) {
			return true
		}
		c.combination[i] = 0
	}
	return false
}

// finish turns rates into performances, corrected by what was measured.
func (c *company) finish() {
	for i, a := range c.apps {
		p := a.corrected(c.rates[i], c.others(i))
		c.performance[i] = min(max(p, curves.Floor), 1)
	}
}

// others returns what the others transfer beside application i.
func (c *company) others(i int) units.Traffic {
	var sum units.Traffic
	for j, a := range c.apps {
		if j == i {
			continue
		}
		alone := a.corunner
		if c.atHome(j) {
			alone = a.target
		}
		sum = sum.Add(alone.Scale(c.rates[j]))
	}
	return sum
}
