package scoretest

import (
	"fmt"
	"math"
	"strings"

	"bandmate.dev/bandmate/predictor/score"
)

// Check compares ranked scores, best first, with what the situation wants; empty
// where they agree.
func (s *Situation) Check(got []score.Score) string {
	var b strings.Builder
	if len(got) != len(s.Want) {
		fmt.Fprintf(&b, "%d domains ranked, want %d\n", len(got), len(s.Want))
		return b.String()
	}
	cpus := s.Newcomer.CPUs
	for _, d := range s.Domains {
		for _, r := range d.Residents {
			cpus = max(cpus, r.CPUs)
		}
	}
	for i, w := range s.Want {
		g := got[i]
		at := fmt.Sprintf("place %d, %s", i+1, w.Domain)
		if g.Domain != w.Domain {
			fmt.Fprintf(&b, "%s: is %s\n", at, g.Domain)
			continue
		}
		if tolerance := Tolerance * max(cpus, 1); !(math.Abs(g.Cost-w.Cost) <= tolerance) {
			fmt.Fprintf(&b, "%s: cost %.3f, want %.3f\n", at, g.Cost, w.Cost)
		}
		if g.OverLimit != w.OverLimit || g.Avoided != w.Avoided {
			fmt.Fprintf(&b, "%s: %d over the limit, avoided %v; want %d, %v\n", at, g.OverLimit, g.Avoided, w.OverLimit, w.Avoided)
		}
		if fmt.Sprint(g.Unknown()) != fmt.Sprint(w.Unknown) {
			fmt.Fprintf(&b, "%s: unknown %v, want %v\n", at, g.Unknown(), w.Unknown)
		}
		checkSlowdowns(&b, at, w, g)
	}
	return b.String()
}

func checkSlowdowns(b *strings.Builder, at string, w Want, g score.Score) {
	if len(g.Residents) != len(w.Residents) {
		fmt.Fprintf(b, "%s: %d residents, want %d\n", at, len(g.Residents), len(w.Residents))
		return
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= Tolerance }
	if !near(float64(g.Newcomer.After), float64(w.Newcomer)) {
		fmt.Fprintf(b, "%s: newcomer %.4f, want %.3f\n", at, float64(g.Newcomer.After), float64(w.Newcomer))
	}
	for i, want := range w.Residents {
		if !near(float64(g.Residents[i].After), float64(want)) {
			fmt.Fprintf(b, "%s: resident %s %.4f, want %.3f\n", at, g.Residents[i].Job, float64(g.Residents[i].After), float64(want))
		}
	}
}
