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

// BasisOf returns the basis of the default method's predictions for pairs of entries:
// MemoryModel if all entries with curves are calibrated to one model, Curves if no two are,
// and MixedBasis otherwise.
func BasisOf(entries []Entry) predictor.Basis {
	alone, most := 0, 0
	var models [][]Entry
	for _, e := range entries {
		if !e.Application.Calibrated() {
			if sensitive, _ := e.Application.Known(); sensitive {
				alone++
			}
			continue
		}
		i := slices.IndexFunc(models, func(m []Entry) bool { return m[0].Application.SharesModel(e.Application) })
		if i < 0 {
			models, i = append(models, nil), len(models)
		}
		models[i] = append(models[i], e)
		most = max(most, len(models[i]))
	}
	switch {
	case alone == 0 && len(models) == 1:
		return predictor.MemoryModel
	case most < 2:
		return predictor.Curves
	}
	return MixedBasis
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
