// Package doctor finds out what a machine can measure, what is missing, and the
// command or setting that would mend it.
package doctor

import (
	"context"
)

// State is the outcome of one finding.
type State string

const (
	// OK works without loss.
	OK State = "ok"
	// Limited works, with a loss that the finding describes.
	Limited State = "limited"
	// Missing does not work here, for the reason the finding gives.
	Missing State = "missing"
	// Inconclusive could not be found out, for the reason the finding gives.
	Inconclusive State = "inconclusive"
)

// Finding is one thing that was looked at.
type Finding struct {
	// Name is stable, for programs: "memory-counters".
	Name string `json:"name"`
	// Title is for people: "Memory-controller counters".
	Title string `json:"title"`
	State State  `json:"state"`
	// Detail says what was found and what follows from it.
	Detail string `json:"detail"`
	// Remedy is the command or setting that would improve the state; empty
	// when nothing needs or nothing can be improved.
	Remedy string `json:"remedy,omitempty"`
}

// Report is everything found.
type Report struct {
	Findings []Finding `json:"findings"`
	// Measurable is false when nothing at all can be measured here: the
	// machine cannot be read, leaves one CPU, or forbids pinning to CPUs.
	Measurable bool `json:"measurable"`
}

// Finding returns the finding of a name; false when there is none.
func (r Report) Finding(name string) (Finding, bool) {
	for _, f := range r.Findings {
		if f.Name == name {
			return f, true
		}
	}
	return Finding{}, false
}

// Examine looks at everything once. It takes some seconds: about one for
// placement regimes, and 0.2 per CPU, for at most 16 CPUs, for noise. When the
// context ends, what was not yet measured is Inconclusive.
func Examine(ctx context.Context, env Environment) Report {
	x := newExamination(ctx, env)
	findings := []Finding{
		x.cpus(),
		x.affinity(),
		x.placementFound(),
		x.lastLevelCache(),
		x.memory(),
		x.memoryBacking(),
		x.counters(),
		x.counterPermission(),
		x.cacheMonitoring(),
		x.hugePages(),
		x.realTime(),
		x.frequency(),
		x.clock(),
	}
	before := x.processorTime()
	findings = append(findings, x.noise(), x.regimes())
	findings = append(findings, x.virtualMachine(before, x.processorTime()))

	report := Report{Findings: findings, Measurable: true}
	for _, name := range []string{"cpus", "affinity"} {
		if f, _ := report.Finding(name); f.State == Missing {
			report.Measurable = false
		}
	}
	return report
}
