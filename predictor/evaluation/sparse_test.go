package evaluation_test

import (
	"slices"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// fourLevels are few points of each application.
var fourLevels = evaluation.Options{ReadShares: []units.ReadShare{0.5, 1}, Levels: []float64{0.25, 0.5, 0.75, 1}}

// byDefault evaluates the default method, and returns its errors by the number of
// co-runners.
func byDefault(t *testing.T, d *evaluation.Dataset, o evaluation.Options) map[int]evaluation.GroupErrors {
	t.Helper()
	o.Methods = []predictor.Method{predictor.Default}
	result, err := evaluation.Evaluate(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	pairs := result.Methods[0]
	all := map[int]evaluation.GroupErrors{1: {Mean: pairs.Mean, Max: pairs.Max, Rows: pairs.Rows, Coverage: pairs.Coverage}}
	for _, g := range result.Groups {
		all[g.Corunners] = g
	}
	return all
}

// An application without traffic changes nothing for the others: the memory, and the
// link that they share, are those of before.
func TestApplicationWithoutTraffic(t *testing.T) {
	d := dataset(t, "ddr4x4link")
	before := byDefault(t, d, fourLevels)
	silent := d.Apps[0]
	silent.Name, silent.Timeline = "silent", nil
	silent.Remote.Traffic = units.Traffic{}
	silent.Local = &evaluation.SoloRun{Seconds: silent.Remote.Seconds}
	silent.Curves = slices.Clone(silent.Curves)
	for i := range silent.Curves {
		points := slices.Clone(silent.Curves[i].Points)
		for j := range points {
			points[j].NormalizedPerformance, points[j].AchievedBytesPerSecond = 1, &points[j].InterfererBytesPerSecond
		}
		silent.Curves[i].Points = points
	}
	d.Apps = append(d.Apps, silent)
	for i := range d.Groups {
		d.Groups[i].Corunners = append(d.Groups[i].Corunners, silent.Name)
	}
	after := byDefault(t, d, fourLevels)
	for corunners := 2; corunners <= 3; corunners++ {
		if was, is := before[corunners].Mean, after[corunners+1].Mean; !(is < was+0.1) {
			t.Errorf("%d co-runners are predicted to %.2f points, beside a silent one to %.2f", corunners, was, is)
		}
	}
}

// A single level in each curve leaves nothing of a curve to check the fit with: other
// curves serve.
func TestIntervalsOfOneLevel(t *testing.T) {
	for _, platform := range platforms() {
		for corunners, s := range byDefault(t, dataset(t, platform), evaluation.Options{ReadShares: []units.ReadShare{0.5, 1}, Levels: []float64{0.75}}) {
			if s.Coverage < 0.85 {
				t.Errorf("%s, %d co-runners: the interval of 90%% covers %.0f%% of %d", platform, corunners, 100*s.Coverage, s.Rows)
			}
		}
	}
}

// Where the interferer was not driven to where the link is full, the applications tell
// what it carries.
func TestInterfererThatDoesNotFillTheLink(t *testing.T) {
	all := byDefault(t, dataset(t, "ddr4x4link"), evaluation.Options{ReadShares: []units.ReadShare{0.5, 1}, Levels: []float64{0.125, 0.25, 0.375, 0.5}})
	for corunners, most := range map[int]float64{1: 1.5, 2: 2, 3: 2.5} {
		if s := all[corunners]; s.Mean > most || s.Coverage < 0.75 {
			t.Errorf("%d co-runners: mean %.2f points, coverage %.0f%%", corunners, s.Mean, 100*s.Coverage)
		}
	}
}
