package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// One table of the page, written twice, says the same, and has a row for every
// method. Whether the page is up to date shows in hack/generate.sh, which writes all
// of it.
func TestTablesAreRepeatable(t *testing.T) {
	d, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	d.Groups = d.Groups[:4]
	few := profiles()[2] // 2 × 4 points
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		r, err := evaluate(d, evaluation.Options{ReadShares: few.readShares, Levels: few.levels})
		if err != nil {
			t.Fatal(err)
		}
		writeProfile(w, few, r)
	}
	if first.String() != second.String() {
		t.Errorf("two runs differ:\n%s\n%s", first.String(), second.String())
	}
	for _, row := range []string{"### " + few.title, "| memgen | 2.00 |", "| linear-estimated | 2.00 |", "| default | 2.00 |"} {
		if !strings.Contains(first.String(), row) {
			t.Errorf("no %q in\n%s", row, first.String())
		}
	}
}

// Intervals that hold half of the errors of other platforms are scaled until they hold
// nine tenths.
func TestScaleForOtherPlatforms(t *testing.T) {
	var rows []evaluation.Row
	for i := range 100 {
		off := units.NormalizedPerformance(i+1) / 1000 // 0.001 to 0.1
		rows = append(rows, evaluation.Row{
			Method: predictor.Default, Corunners: 1, Predicted: 0.8, Measured: 0.8 - off,
			Interval: predictor.Interval{Low: 1.1, High: units.NormalizedPerformance(0.75).Slowdown()},
		})
	}
	results := []result{{&evaluation.Result{Rows: rows}}}
	if got := heldWith(results, 1, 1+1e-9); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("held %v, want half", got)
	}
	if got := scaleFor(results, 1); math.Abs(got-1.8) > 0.011 {
		t.Errorf("scale %v, want 1.8", got)
	}
}
