// Package doctor reports what a machine can measure, what is missing, and the command
// or setting that would provide it.
package doctor

import "context"

// State is the Outcome of one finding.
type State string

const (
	// OK means that it works without loss.
	OK State = "ok"
	// Limited means that it works, with a loss that the finding describes.
	Limited State = "limited"
	// Missing means that it does not work here, for the reason the finding gives.
	Missing State = "missing"
	// Inconclusive means that it could not be determined, for the reason the finding
	// gives.
	Inconclusive State = "inconclusive"
)

// Finding is the outcome of one check.
type Finding struct {
	// Name is stable, for programs: "memory-counters".
	Name string `json:"name"`
	// Title is for people: "Memory-controller counters".
	Title string `json:"title"`
	Outcome
}

// Outcome is the result of a check.
type Outcome struct {
	State State `json:"state"`
	// Detail says what was found and what follows from it.
	Detail string `json:"detail"`
	// Remedy is the command or setting that would improve the state; empty when
	// none is needed or known.
	Remedy string `json:"remedy,omitempty"`
}

func ok(detail string) Outcome              { return Outcome{OK, detail, ""} }
func limited(detail, remedy string) Outcome { return Outcome{Limited, detail, remedy} }
func missing(detail, remedy string) Outcome { return Outcome{Missing, detail, remedy} }
func inconclusive(detail string) Outcome    { return Outcome{Inconclusive, detail, ""} }

// Report is everything found.
type Report struct {
	Findings []Finding `json:"findings"`
	// Verdict says in one sentence what can be measured here, and how well.
	Verdict string `json:"verdict"`
	// Measurable is false when nothing at all can be measured here: the
	// machine cannot be read, leaves one CPU or too little CPU time, or forbids
	// pinning to CPUs.
	Measurable bool `json:"measurable"`
}

// checks are the checks of Examine, in order. The last one compares CPU times before
// and after the two that take a while.
var checks = []struct {
	name, title string
	look        func(*examination) Outcome
}{
	{"cpus", "CPUs", (*examination).cpus},
	{"affinity", "Pinning to CPUs", (*examination).affinity},
	{"cpu-quota", "CPU quota", (*examination).cpuQuota},
	{"placement", "Placement of application and interferer", (*examination).placementFound},
	{"last-level-cache", "Separate last-level caches", (*examination).lastLevelCache},
	{"memory", "Memory for the interferer", (*examination).memory},
	{"memory-backing", "Memory stays backed", (*examination).memoryBacking},
	{"memory-counters", "Memory-controller counters", (*examination).counters},
	{"counter-permission", "Permission to count", (*examination).counterPermission},
	{"ticks", "Progress of programs", (*examination).ticks},
	{"resctrl", "Cache and bandwidth monitoring (resctrl)", (*examination).cacheMonitoring},
	{"huge-pages", "Transparent huge pages", (*examination).hugePages},
	{"real-time", "Real-time priority", (*examination).realTime},
	{"frequency", "Frequency scaling", (*examination).frequency},
	{"clock", "Clock source", (*examination).clock},
	{"noise", "Noise", (*examination).noise},
	{"regime", "Placement regime", (*examination).regimes},
	{"virtual-machine", "Bare metal", (*examination).virtualMachine},
}

// Examine runs every check once. It takes about one second for placement regimes and
// 0.2 s per CPU, of at most 16 CPUs, for noise. When ctx ends, the remaining
// measurements are Inconclusive.
func Examine(ctx context.Context, env Environment) Report {
	x := newExamination(ctx, env)
	report := Report{Measurable: true}
	for _, c := range checks {
		o := c.look(x)
		report.Findings = append(report.Findings, Finding{c.name, c.title, o})
		if o.State == Missing && (c.name == "cpus" || c.name == "affinity" || c.name == "cpu-quota") {
			report.Measurable = false
		}
	}
	return report
}
