package results

import (
	"fmt"
	"strings"
)

// Situations are the placements of the end-to-end tests.
type Situations struct {
	Conditions
	Rows []Situation `json:"rows"`
}

// Situation is where one pod went in a situation of
// predictor/score/testdata/situations.yaml, and where it should.
type Situation struct {
	Name string `json:"name"`
	// Want is the place that the score wants, empty where the pod is to wait.
	Want string `json:"want,omitempty"`
	// Bandmate is where the pod went with the plugin, empty where it waited.
	Bandmate string `json:"bandmate,omitempty"`
	// Default is where the same pod went without it, empty where nobody asked.
	Default string `json:"default,omitempty"`
	// Cost and DefaultCost are the predicted costs of both places in CPUs lost.
	Cost        float64 `json:"cost"`
	DefaultCost float64 `json:"defaultCost,omitempty"`
	// DefaultBeyond says that the other place breaks a limit or a policy.
	DefaultBeyond bool `json:"defaultBeyond,omitempty"`
}

// Table returns the rows in Markdown.
func (s *Situations) Table() string {
	var b strings.Builder
	b.WriteString("| situation | with Bandmate | CPUs lost there | default scheduler | CPUs lost there |\n|---|---|---|---|---|\n")
	for _, r := range s.Rows {
		place := "`" + r.Bandmate + "`"
		if r.Bandmate == "" {
			place = "waits"
		}
		cost, otherPlace, otherCost := fmt.Sprintf("%.2f", r.Cost), "–", "–"
		if r.Bandmate == "" {
			cost = "–"
		}
		if r.Default != "" {
			otherPlace, otherCost = "`"+r.Default+"`", fmt.Sprintf("%.2f", r.DefaultCost)
			if r.DefaultBeyond {
				otherCost += ", beyond a limit or policy"
			}
		}
		if r.Want != r.Bandmate {
			place += " (not where the score wants it: `" + r.Want + "`)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Name, place, cost, otherPlace, otherCost)
	}
	return b.String()
}
