package advisor

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
)

// MixedBasis means that some pairs are predicted by the model of the memory and others
// from curves.
const MixedBasis predictor.Basis = "mixed"

// BasisOf returns the basis of the default method's predictions of every target beside
// every co-runner: MemoryModel or Curves if it is the same for all, and MixedBasis
// otherwise. Targets without curves cannot be predicted, and do not count.
func BasisOf(targets, corunners []Entry) predictor.Basis {
	var seen bases
	for _, target := range targets {
		for _, corunner := range corunners {
			if seen.add(target, corunner); seen.mixed() {
				return MixedBasis
			}
		}
	}
	return seen.basis()
}

// BasisOfPairs is BasisOf for every entry beside every other.
func BasisOfPairs(entries []Entry) predictor.Basis {
	var seen bases
	for i, target := range entries {
		for j, corunner := range entries {
			if i == j {
				continue
			}
			if seen.add(target, corunner); seen.mixed() {
				return MixedBasis
			}
		}
	}
	return seen.basis()
}

// bases are those of pairs.
type bases struct{ model, curves bool }

func (b *bases) add(target, corunner Entry) {
	if sensitive, _ := target.Application.Known(); !sensitive {
		return
	}
	if predictor.ByCurves([]*predictor.Application{target.Application, corunner.Application}) {
		b.curves = true
	} else {
		b.model = true
	}
}

func (b bases) mixed() bool { return b.model && b.curves }

func (b bases) basis() predictor.Basis {
	switch {
	case b.mixed():
		return MixedBasis
	case b.model:
		return predictor.MemoryModel
	}
	return predictor.Curves
}

// ExplainBasis explains the basis of a prediction of the group in words: the model of the
// memory, or why curves alone are used. It is empty for methods other than the default.
func (g *Group) ExplainBasis(basis predictor.Basis) string {
	if g.Method != predictor.Default || len(g.Entries) == 0 {
		return ""
	}
	var reasons []string
	for _, e := range g.Entries {
		if err := e.Uncalibrated; err != nil && !slices.Contains(reasons, err.Error()) {
			reasons = append(reasons, err.Error())
		}
	}
	if len(reasons) > 0 {
		return fmt.Sprintf("%s: %s", predictor.Curves, strings.Join(reasons, "; "))
	}
	if basis == predictor.Curves {
		return fmt.Sprintf("%s: no one model of the memory describes all of these applications", basis)
	}
	fitted, of := g.advisor.calibrations.fitted(g.Entries[0].Profile)
	place := g.advisor.explainLink(g.Entries[0].Profile.Spec.Machine.Name)
	if bytes, shared := g.advisor.calibrations.lastLevelCache(g.Entries[0].Profile); shared {
		const mebi = 1 << 20
		place += fmt.Sprintf(", and shares a cache of %.3g MiB", bytes/mebi)
	}
	return fmt.Sprintf("%s: fitted to %d of %d profiles of this machine; %s", predictor.MemoryModel, fitted, of, place)
}

// explainLink says how co-runners are taken to reach the memory of a machine.
func (a *Advisor) explainLink(machine string) string {
	switch a.linkOf(machine) {
	case memory.LinkNone:
		return "everyone is equally near the memory"
	case memory.LinkOwn:
		return "each co-runner has a link to the memory of its own"
	case memory.LinkShared:
		return "co-runners share one link to the memory"
	case memory.LinkUnknown:
	}
	return "no machine profile says how co-runners reach the memory"
}
