package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bandmate.dev/bandmate/internal/stats"
)

// Throughput is how many pods a second a scheduler places without and with a
// plugin, in batches that alternate.
type Throughput struct {
	Conditions
	Nodes int `json:"nodes"`
	// Residents is how many pods each node has, Labeled how many of them, and of
	// the pods to place all, name an application.
	Residents int `json:"residents"`
	Labeled   int `json:"labeled"`
	Profiles  int `json:"profiles"`
	// Batch is how many pods are placed in one measurement.
	Batch int `json:"batch"`
	// ForeignLimit is the part of the machine's CPU time that programs which are
	// no part of the measurement, and the hypervisor, may take in a round that
	// counts, 0 to 1.
	ForeignLimit float64 `json:"foreignLimit"`
	Rounds       []Round `json:"rounds"`
}

// Round is one batch without a plugin and one with it, just after each other.
type Round struct {
	// Plugin is what is compared; Scheduler is the version of both.
	Plugin    string `json:"plugin"`
	Scheduler string `json:"scheduler"`
	Without   Batch  `json:"without"`
	With      Batch  `json:"with"`
}

// Batch is one measurement.
type Batch struct {
	PodsPerSecond float64 `json:"podsPerSecond"`
	// SchedulerSecondsPerPod is the CPU time of the scheduler's process.
	SchedulerSecondsPerPod float64 `json:"schedulerSecondsPerPod"`
	// SecondsPerPod is the CPU time of all that take part: clients, API server,
	// etcd and scheduler. It hardly depends on what else runs.
	SecondsPerPod float64 `json:"secondsPerPod"`
	// Foreign is the part of the machine's CPU time that programs took which are
	// no part of the measurement, and Steal the part that the hypervisor kept,
	// 0 to 1.
	Foreign float64 `json:"foreign"`
	Steal   float64 `json:"steal"`
}

func (b Batch) disturbed(limit float64) bool { return b.Foreign+b.Steal > limit }

// group is all rounds of one plugin in one cluster.
type group struct {
	t       *Throughput
	plugin  string
	version string
	all     []Round
	counted []Round // those that nothing disturbed
}

// ThroughputTable returns a row for each plugin in each cluster, in Markdown.
// Pods a second are medians over the rounds that nothing disturbed, their ratio
// the median of each round's own, with its interval. CPU times, and their ratio, are of
// all rounds: what else runs takes time from a round and hardly adds to its CPU time.
func ThroughputTable(records []Throughput) string {
	var b strings.Builder
	b.WriteString("| nodes | labeled pods a node | profiles | pods a batch | plugin (scheduler) | rounds (left out) | pods/s without, with | ratio (90% interval) |" +
		" CPU a pod, ms: without, with | ratio (90% interval), all rounds | of it the scheduler, ms |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(x, y Throughput) int {
		return cmp.Or(cmp.Compare(x.Nodes, y.Nodes), -cmp.Compare(x.Labeled, y.Labeled), -cmp.Compare(x.Profiles, y.Profiles))
	})
	for i := range records {
		for _, g := range records[i].groups() {
			b.WriteString(g.row())
		}
	}
	return b.String()
}

func (t *Throughput) groups() []*group {
	var groups []*group
	for _, r := range t.Rounds {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.plugin == r.Plugin && g.version == r.Scheduler })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{t: t, plugin: r.Plugin, version: r.Scheduler})
		}
		groups[i].all = append(groups[i].all, r)
		if !r.Without.disturbed(t.ForeignLimit) && !r.With.disturbed(t.ForeignLimit) {
			groups[i].counted = append(groups[i].counted, r)
		}
	}
	slices.SortFunc(groups, func(x, y *group) int { return cmp.Compare(x.plugin, y.plugin) })
	return groups
}

func (g *group) row() string {
	pods, ratio := "–", "not measured"
	if len(g.counted) > 0 {
		pods = fmt.Sprintf("%.0f, %.0f", stats.Median(column(g.counted, func(r Round) float64 { return r.Without.PodsPerSecond })),
			stats.Median(column(g.counted, func(r Round) float64 { return r.With.PodsPerSecond })))
		ratio = withInterval(column(g.counted, func(r Round) float64 { return r.With.PodsPerSecond / r.Without.PodsPerSecond }))
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %s (%s) | %d (%d) | %s | %s | %.1f, %.1f | %s | %.2f, %.2f |\n",
		thousands(g.t.Nodes), g.t.Labeled, thousands(g.t.Profiles), thousands(g.t.Batch), g.plugin, g.version,
		len(g.counted), len(g.all)-len(g.counted), pods, ratio,
		1000*stats.Median(column(g.all, func(r Round) float64 { return r.Without.SecondsPerPod })),
		1000*stats.Median(column(g.all, func(r Round) float64 { return r.With.SecondsPerPod })),
		withInterval(column(g.all, func(r Round) float64 { return r.Without.SecondsPerPod / r.With.SecondsPerPod })),
		1000*stats.Median(column(g.all, func(r Round) float64 { return r.Without.SchedulerSecondsPerPod })),
		1000*stats.Median(column(g.all, func(r Round) float64 { return r.With.SchedulerSecondsPerPod })))
}

func column(rounds []Round, value func(Round) float64) []float64 {
	var values []float64
	for _, r := range rounds {
		values = append(values, value(r))
	}
	return values
}

func withInterval(values []float64) string {
	low, high := medianInterval(values)
	return fmt.Sprintf("%.3f (%.3f–%.3f)", stats.Median(values), low, high)
}

// medianInterval returns the 90% interval of the median of what values are drawn from,
// whatever the distribution: from the k-th lowest value to the k-th highest, which the
// median is beyond if fewer than k of n values fall on one side of it (David and
// Nagaraja, Order Statistics, 2003, section 7.1). Fewer than five values do not make
// one: it is their range.
func medianInterval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n, k := len(sorted), 0
	// fewer is P(fewer than k+1 of n on one side), and each the term of it with k.
	each := math.Pow(0.5, float64(n))
	for fewer := each; 2*fewer <= 0.1; fewer += each {
		k++
		each *= float64(n-k+1) / float64(k)
	}
	k = max(k, 1)
	return sorted[k-1], sorted[n-k]
}

// thousands writes a number with a comma before every third digit.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
