package predictor

import (
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/units"
)

// compileCommunication reads the communication of the profile. Its traffic is added if
// the application was measured without it.
func (a *Application) compileCommunication(c *v1alpha1.Communication) error {
	if c == nil {
		return nil
	}
	traffic := communication.Traffic(c)
	if !traffic.Read.Valid() || !traffic.Write.Valid() {
		return fmt.Errorf("spec.communication: sent %v and received %v: want finite rates of 0 or more", float64(traffic.Read), float64(traffic.Write))
	}
	a.communication = c
	a.load = (*communication.Machine)(nil).Load(c)
	if c.Apart {
		a.corunner, a.target = a.corunner.Add(traffic), a.target.Add(traffic)
	}
	return nil
}

// apart reports whether the application was measured without its communication.
func (a *Application) apart() bool { return a.communication != nil && a.communication.Apart }

// WithMachine returns the application with its communication on machine m; a itself if
// its profile has no communication. A nil machine means an unknown network, so that
// slowdowns are those of memory.
func (a *Application) WithMachine(m *communication.Machine) *Application {
	if a.communication == nil {
		return a
	}
	placed := *a
	placed.load = m.Load(a.communication)
	return &placed
}

// Communication returns the application's load on the network; nil when unknown.
func (a *Application) Communication() *communication.Load { return a.load }

// Communicates reports whether the communication of any of apps is known.
func Communicates(apps []*Application) bool {
	return slices.ContainsFunc(apps, func(a *Application) bool { return a.load != nil })
}

// Member returns the application as package communication combines it, with its
// slowdown by memory alone.
func (a *Application) Member(memory units.Slowdown, card string) communication.Member {
	return communication.Member{Load: a.load, Memory: max(memory, 1), Traffic: a.corunner.Total(), Card: card}
}

// communicate adds the mutual slowdown of the applications' communication on one card.
func (p *Prediction) communicate(target *Application, corunners []*Application) {
	apps := append([]*Application{target}, corunners...)
	if !Communicates(apps) {
		return
	}
	members := []communication.Member{target.Member(p.Slowdown, "")}
	for _, c := range corunners {
		memory, known := p.CorunnerSlowdowns[c.name]
		if !known {
			memory = 1
		}
		members = append(members, c.Member(memory, ""))
	}
	var combiner communication.Combiner
	parts := combiner.Combine(nil, members)
	for i, c := range corunners {
		if _, known := p.CorunnerSlowdowns[c.name]; known {
			p.CorunnerSlowdowns[c.name] = parts[i+1].Slowdown
		}
	}
	for i, a := range apps {
		if a.load != nil {
			p.warn(parts[i].Gaps.Remarks(a.name, a.load.MachineName())...)
		}
	}
	if target.load == nil {
		return
	}
	p.Parts = parts[0].Show()
	bound := func(memory units.Slowdown) units.Slowdown {
		members[0].Memory = max(memory, 1)
		return combiner.Combine(nil, members)[0].Slowdown
	}
	low, high := bound(p.Interval.Low), bound(p.Interval.High)
	p.Interval = communicationDoubt(parts[0], low, high)
	p.NormalizedPerformance, p.Slowdown = parts[0].Slowdown.NormalizedPerformance(), parts[0].Slowdown
}

// penaltyDoubt is the half width of the 90% interval of what a card's penalty
// adds, relative to it: judged by docs/results/models.md.
const penaltyDoubt = 0.25

// communicationDoubt widens the interval by the uncertainty of the penalty.
func communicationDoubt(p communication.Parts, low, high units.Slowdown) Interval {
	added := penaltyDoubt * float64(p.Slowdown-p.Memory)
	down, up := float64(p.Slowdown-low), float64(high-p.Slowdown)
	return Interval{
		Low:  max(p.Slowdown-units.Slowdown(math.Hypot(max(down, 0), added)), 1),
		High: p.Slowdown + units.Slowdown(math.Hypot(max(up, 0), added)),
	}
}
