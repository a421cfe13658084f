package score

import (
	"fmt"
	"strings"
)

// Explain says in words, one line a job, how the score came about.
func (s Score) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %.3f", s.Domain, s.Objective, s.Cost)
	if s.OverLimit > 0 {
		fmt.Fprintf(&b, ", %d over the limit", s.OverLimit)
	}
	if s.Avoided {
		b.WriteString(", avoided because it would mix known and unknown jobs")
	}
	b.WriteString("\n")
	for i, e := range s.effects() {
		role := "resident"
		if i == 0 {
			role = "newcomer"
		}
		fmt.Fprintf(&b, "  %s %s: %s → %s, adds %.3f", role, e.Job, e.Before, e.After, e.Cost)
		if e.OverLimit() {
			fmt.Fprintf(&b, ", above its limit of %s", e.Limit.Exact())
		}
		if !e.Known {
			b.WriteString(", not fully known")
		}
		b.WriteString("\n")
		if equation := e.Parts.Equation(); equation != "" {
			fmt.Fprintf(&b, "    memory %s, network %.2f of the time, penalty %.2f: %s\n", e.Parts.Memory, e.Parts.Share, e.Parts.Penalty, equation)
		}
	}
	return b.String()
}
