package evaluation_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// The page of the real co-runs says what the method of today is off by: a change that is
// good on simulated platforms may not be on these.
func TestRealCoruns(t *testing.T) {
	const results = "../../docs/results/"
	page, err := os.ReadFile(results + "real.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"real-shared-cache", "real", "real-contending", "real-whole-runs"} {
		of := evaluated(t, results+set).Methods[0]
		row := fmt.Sprintf("| **default** | **%.2f** | **%.2f** | **%.1f** |", of.Mean, of.SD, of.Max)
		if !strings.Contains(string(page), row) {
			t.Errorf("%s: no row %s in %sreal.md", set, row, results)
		}
	}
	groups := evaluated(t, results+"real-groups")
	row := fmt.Sprintf("| default | %.2f / %.1f |", groups.Methods[0].Mean, groups.Methods[0].Max)
	for _, of := range groups.Groups {
		row += fmt.Sprintf(" %.2f / %.1f |", of.Mean, of.Max)
	}
	if !strings.Contains(string(page), row) {
		t.Errorf("real-groups: no row %s in %sreal.md", row, results)
	}
}

// evaluated returns the errors of the default on a data set.
func evaluated(t *testing.T, folder string) *evaluation.Result {
	t.Helper()
	d, err := evaluation.Read(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	result, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{Methods: []predictor.Method{predictor.Default}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
