package onboard

import (
	"math/rand/v2"
	"slices"
	"testing"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/topology"
)

// TestTrialWithGaps checks that an application that was not measured under pressure is
// left out, and that the others are reported.
func TestTrialWithGaps(t *testing.T) {
	session := &Session{Random: rand.New(rand.NewPCG(1, 1)), Machine: &topology.Machine{}}
	probe := MeasuredPressure{
		Pressure: Pressure{ReadShare: 1, Level: 1, Pattern: interferer.Sequential},
		Setting:  interferer.Setting{Mode: interferer.Stream, ReadShare: 1, Pattern: interferer.Sequential},
	}
	applications := []Application{{Name: "measured"}, {Name: "gap"}}
	taken := func(performance float64) []modulation.Reading { return readings(20, performance, 1e9) }
	run := &trial{
		Trial: &Trial{Session: session, Applications: applications},
		stage: &stage{Session: session},
		class: regime.SameComplex,
		experiment: &Experiment{
			Session: session, Pressures: []MeasuredPressure{probe},
			Traffic: map[string]*profiler.Summary{"measured": {}, "gap": {}},
		},
		outcome: &modulation.Outcome{
			RoundTrips: map[regime.Class][]float64{regime.SameComplex: {50}},
			Readings: map[regime.Class]map[string][]modulation.Reading{regime.SameComplex: {
				besideName("measured", probe.String()):              taken(0.8),
				besideName(probe.String(), "measured"):              taken(0.9),
				besideName("measured", corunLabel(applications[0])): taken(0.85),
				besideName("gap", corunLabel(applications[0])):      taken(0.7),
			}},
		},
	}
	tried, err := run.collect(&v1alpha1.MachineProfile{})
	if err != nil {
		t.Fatal(err)
	}
	if len(tried.Profiles) != 1 || tried.Profiles[0].Name != "measured" {
		t.Errorf("profiles %v", tried.Profiles)
	}
	if len(tried.Pairs) != 1 || tried.Pairs[0].Target != "measured" || tried.Pairs[0].Corunner != "measured" {
		t.Errorf("pairs %+v", tried.Pairs)
	}
	if want := []string{"gap under pressure"}; !slices.Equal(tried.Missing, want) {
		t.Errorf("missing %q, want %q", tried.Missing, want)
	}

	// One reading of an application has no spread.
	single := run.outcome.Readings[regime.SameComplex]
	single[besideName("gap", probe.String())] = readings(1, 0.8, 1e9)
	single[besideName(probe.String(), "gap")] = readings(1, 0.9, 1e9)
	if tried, err := run.collect(&v1alpha1.MachineProfile{}); err != nil || len(tried.Profiles) != 1 {
		t.Errorf("with a single reading of another application: %+v, %v", tried, err)
	}

	delete(run.outcome.Readings[regime.SameComplex], besideName("measured", corunLabel(applications[0])))
	if _, err := run.collect(&v1alpha1.MachineProfile{}); err == nil {
		t.Error("no error without a pair")
	}
}
