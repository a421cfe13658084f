package doctor

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/profiler"
)

// sourcePrefix begins the names of findings about sources of traffic.
const sourcePrefix = "source-"

// SourceName returns the name of a finding about a source of traffic.
func SourceName(source string) string { return sourcePrefix + source }

// IsSource reports whether f is about a source of traffic.
func (f Finding) IsSource() bool { return strings.HasPrefix(f.Name, sourcePrefix) }

// Conclude sets the verdict from the findings.
func (r *Report) Conclude() {
	if !r.Measurable {
		r.Verdict = "Nothing can be measured here"
		if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.State == Missing }); i >= 0 {
			r.Verdict += ": " + r.Findings[i].Detail
		}
		return
	}
	traffic := "traffic is inferred by probes"
	limited := 0
	for _, f := range slices.Backward(r.Findings) {
		switch {
		case f.IsSource():
			if name := strings.TrimPrefix(f.Name, sourcePrefix); f.State == OK && name != profiler.ProbeName {
				traffic = "traffic is counted by " + name
			}
		case f.State == Limited:
			limited++
		}
	}
	r.Verdict = "Applications can be measured here; " + traffic
	switch limited {
	case 0:
	case 1:
		r.Verdict += "; 1 limit"
	default:
		r.Verdict += fmt.Sprintf("; %d limits", limited)
	}
}
