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
// MemoryModel if all entries with curves are calibrated, Curves if no pair is, and
// MixedBasis otherwise.
func BasisOf(entries []Entry) predictor.Basis {
	calibrated, alone := 0, 0
	for _, e := range entries {
		switch sensitive, _ := e.Application.Known(); {
		case e.Application.Calibrated():
			calibrated++
		case sensitive:
			alone++
		}
	}
	switch {
	case alone == 0 && calibrated > 0:
		return predictor.MemoryModel
	case calibrated == 0 || calibrated == 1 && alone > 0:
		return predictor.Curves
	}
	return MixedBasis
}

// ExplainBasis explains the basis of the group's predictions in words: the model of the
// memory, or why curves alone are used. It is empty for methods other than the default.
func (g *Group) ExplainBasis() string {
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
