package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page says what the code does.
func TestPageIsUpToDate(t *testing.T) {
	var page bytes.Buffer
	if err := write(&page, "../../predictor/testdata/simulated"); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/results/onboarding.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page.String()); diff != "" {
		t.Errorf("docs/results/onboarding.md differs from what the code gives (-page +code); regenerate it with go generate ./hack/replay-onboarding:\n%s", diff)
	}
}
