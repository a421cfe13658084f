package predictor

import (
	"testing"

	"bandmate.dev/bandmate/units"
)

// A model that says what the curves exclude is held to them.
func TestModelIsHeldToTheCurves(t *testing.T) {
	apps := calibratedApps(t, 6)
	var s modelSolver
	for i := range apps {
		for j := range apps {
			pair := []*Application{apps[i], apps[j]}
			s.reset(pair, sharedModel(pair), true)
			s.solve()
			right := s.performance[0]
			s.rates[0], s.rates[1] = 1, 1
			most := apps[i].respond(apps[j].corunner.Scale(apps[j].peak()), capacityOf(pair))
			if low := s.held(0, 0.02); most.beyond == 0 && low < most.performance-evidenceMargin {
				t.Errorf("%s beside %s: %.3f, and the curves say %.3f", pair[0].name, pair[1].name, low, most.performance)
			}
			least := apps[i].respond(apps[j].corunner.Scale(apps[j].lowest()), capacityOf(pair))
			if high := s.held(0, 1); high > least.measured+evidenceMargin {
				t.Errorf("%s beside %s: %.3f, and the curves say %.3f", pair[0].name, pair[1].name, high, least.measured)
			}
			if again := s.held(0, right); max(again-right, right-again) > units.NormalizedPerformance(evidenceMargin) {
				t.Errorf("%s beside %s: %.3f became %.3f", pair[0].name, pair[1].name, right, again)
			}
		}
	}
}
