package slurm

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// warnUntold says of which jobs on the candidates Slurm does not tell the cache, where that
// matters to predictions.
func (a *Advice) warnUntold(o *Occupancy) {
	var jobs, nodes []string
	for _, c := range a.Candidates {
		for _, r := range o.untold[c.Node] {
			if app := r.Entry.Application; app == nil || !app.SharesCache() {
				continue
			}
			jobs, nodes = append(jobs, r.Name), append(nodes, c.Node)
		}
	}
	if len(jobs) == 0 {
		return
	}
	slices.Sort(jobs)
	slices.SortFunc(nodes, hostlist.Compare)
	jobs, nodes = slices.Compact(jobs), slices.Compact(nodes)
	a.Warnings = append(a.Warnings, fmt.Sprintf("Slurm does not report which cores %s on %s: the slowdowns there are means over the shared caches that may be used",
		has(jobs), hostlist.Compress(nodes)))
}

// mostNamed is how many jobs a warning names.
const mostNamed = 3

// has names jobs in a sentence.
func has(jobs []string) string {
	switch n := len(jobs); {
	case n == 1:
		return "job " + jobs[0] + " has"
	case n <= mostNamed:
		return "jobs " + strings.Join(jobs, ", ") + " have"
	default:
		return fmt.Sprintf("%d jobs have", n)
	}
}

// warnLeftOut says which nodes could not be scored, and how many jobs do not count.
func (a *Advice) warnLeftOut(unscored []string, unseated int) {
	if n := len(unscored); n > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("nodes on which the job cannot start now, and of which it is not known what it would suffer there, are not excluded: %d: %s",
			n, strings.Join(unscored[:min(n, mostNamed)], "; ")))
	}
	if unseated > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("jobs that may start before this one, but too many to count: %d", unseated))
	}
}

// warn adds warnings about the cluster, the request and the profiles.
func (a *Advice) warn(c *Cluster, by *Advisor, r *Request) {
	a.Warnings = append(a.Warnings, c.Warnings...)
	say := func(format string, args ...any) {
		if w := fmt.Sprintf(format, args...); !slices.Contains(a.Warnings, w) {
			a.Warnings = append(a.Warnings, w)
		}
	}
	if r.Job != nil {
		for _, fault := range ParseLabel(r.Job.Comment).Faults {
			say("comment of job %s: %s", a.Job, fault)
		}
		if asked := ParseLabel(r.Job.Comment).Limit; asked != 0 && asked < r.Limit {
			say("comment of job %s: %s=%v counts as %v, the least limit of the site file", a.Job, LimitWord, float64(asked), float64(r.Limit))
		}
		if r.Job.HetID != 0 {
			say("job %d is heterogeneous: this is component %d; name the others as %d+1 and so on", r.Job.HetID, r.Job.HetOffset, r.Job.HetID)
		}
	}
	if strings.ContainsAny(r.Features, complexMarks) {
		say("the constraint %q is left to Slurm: nodes without those features may be listed", r.Features)
	}
	site := by.site()
	for _, candidate := range a.Candidates {
		e := by.Advisor.Lookup(r.Application, candidate.Machine)
		if e.Reason != "" {
			say("%s: %s", r.Application, e.Reason)
		}
		for _, w := range e.Warnings {
			say("%s: %s", r.Application, w)
		}
		for _, w := range candidate.Score.Newcomer.Parts.Gaps.Remarks(r.Application, candidate.Machine) {
			say("%s", w)
		}
	}
	if hidden := hiddenCPUs(c); len(hidden) > 0 {
		say("CPUs on %s are held by jobs that cannot be seen (PrivateData=jobs?): they do not count", strings.Join(hidden, ","))
	}
	if unknown := site.unknownNodes(c); len(unknown) > 0 {
		slices.Sort(unknown)
		say("site file: the cluster has no node %s", strings.Join(unknown, ", "))
	}
}
