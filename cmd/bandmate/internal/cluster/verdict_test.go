package cluster

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/advisor"
)

// A script that reads the numbers takes no unknown slowdown for the best one.
func TestUnknownSlowdownIsNoNumber(t *testing.T) {
	known, unknown := Verdict{Node: "a", Slowdown: 1.25}, Verdict{Node: "b", Slowdown: 1}
	known.Profile.State, unknown.Profile.State = advisor.Known, advisor.Unknown
	var b strings.Builder
	if err := verdictTable([]Verdict{known, unknown}).WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "a,1.25,") || !strings.Contains(got, "b,,") {
		t.Errorf("%s", got)
	}
}
