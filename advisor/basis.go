package advisor

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/predictor"
)

// MixedBasis is the basis of pairs of which some are predicted by the model of the
// memory and others from their curves.
const MixedBasis predictor.Basis = "mixed"

// BasisOf returns what predictions of pairs among entries by the default method rest
// on: the model of the memory where it describes all that have curves, the curves where
// it describes no pair, and MixedBasis where it depends on the pair.
func BasisOf(entries []Entry) predictor.Basis {
	described, alone := 0, 0
	for _, e := range entries {
		switch sensitive, _ := e.Application.Known(); {
		case e.Application.Calibrated():
			described++
		case sensitive:
			alone++
		}
	}
	switch {
	case alone == 0 && described > 0:
		return predictor.MemoryModel
	case described == 0 || described == 1 && alone > 0:
		return predictor.Curves
	}
	return MixedBasis
}

// ExplainBasis says for people what the predictions of the group rest on: the model
// of the memory, or why the curves alone. It is empty for methods other than the
// default one.
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
	return fmt.Sprintf("%s: fitted to %d of %d profiles of this machine", predictor.MemoryModel, fitted, of)
}
