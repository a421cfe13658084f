package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"bandmate.dev/bandmate/predictor/evaluation"
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
		if err := writeProfile(w, d, few); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Errorf("two runs differ:\n%s\n%s", first.String(), second.String())
	}
	for _, row := range []string{"### " + few.title, "| memgen | 2 | 4 |", "| linear-estimated | 2 | 4 |", "| default | 2 | 4 |"} {
		if !strings.Contains(first.String(), row) {
			t.Errorf("no %q in\n%s", row, first.String())
		}
	}
}
