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
	// SchedulerSecondsPerPod is the CPU time of the scheduler's process. It includes, of
	// the collection of garbage that is due next, the part for what was allocated since
	// the last one, GarbageSecondsPerPod.
	SchedulerSecondsPerPod float64 `json:"schedulerSecondsPerPod"`
	GarbageSecondsPerPod   float64 `json:"garbageSecondsPerPod"`
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
// Ratios are the center of each round's own, with its interval, all others are medians.
// CPU times, and their ratio, are of all rounds: what else runs takes time from a round
// and hardly adds to its CPU time. Pods a second are of the rounds that nothing
// disturbed.
func ThroughputTable(records []Throughput) string {
	var b strings.Builder
	b.WriteString("| nodes | plugin (scheduler) | rounds | CPU of the scheduler a pod, ms: without, with | ratio (90% interval) |" +
		" CPU of the cluster a pod, ms: without, with | ratio (90% interval) | rounds undisturbed | pods/s without, with | ratio (90% interval) |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
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
	cost := func(rounds []Round, cost func(b Batch) float64) string {
		return fmt.Sprintf("%.2f, %.2f | %s",
			1000*stats.Median(column(rounds, func(r Round) float64 { return cost(r.Without) })),
			1000*stats.Median(column(rounds, func(r Round) float64 { return cost(r.With) })),
			withInterval(column(rounds, func(r Round) float64 { return cost(r.Without) / cost(r.With) })))
	}
	pods := "– | not measured"
	if len(g.counted) > 0 {
		pods = fmt.Sprintf("%.0f, %.0f | %s",
			stats.Median(column(g.counted, func(r Round) float64 { return r.Without.PodsPerSecond })),
			stats.Median(column(g.counted, func(r Round) float64 { return r.With.PodsPerSecond })),
			withInterval(column(g.counted, func(r Round) float64 { return r.With.PodsPerSecond / r.Without.PodsPerSecond })))
	}
	return fmt.Sprintf("| %s | %s (%s) | %d of %s pods | %s | %s | %d | %s |\n",
		thousands(g.t.Nodes), g.plugin, g.version, len(g.all), thousands(g.t.Batch),
		cost(g.all, func(b Batch) float64 { return b.SchedulerSecondsPerPod }),
		cost(g.all, func(b Batch) float64 { return b.SecondsPerPod }), len(g.counted), pods)
}

func column(rounds []Round, value func(Round) float64) []float64 {
	var values []float64
	for _, r := range rounds {
		values = append(values, value(r))
	}
	return values
}

func withInterval(values []float64) string {
	middle, low, high := center(values)
	return fmt.Sprintf("%.3f (%.3f–%.3f)", middle, low, high)
}

// center returns the median of all means of two values, a value with itself included,
// and the 90% interval that the signed-rank test gives it, where values lie about as far
// above as below (Hodges and Lehmann 1963; Hollander and Wolfe, Nonparametric Statistical
// Methods, 1999, section 3.2). It is nearly as precise as the mean, and one disturbed
// value hardly moves it. Fewer than five values do not make an interval: it is their
// range.
func center(values []float64) (middle, low, high float64) {
	var means []float64
	for i, v := range values {
		for _, w := range values[i:] {
			means = append(means, (v+w)/2)
		}
	}
	slices.Sort(means)
	k := max(mostOutside(len(values)), 1)
	return stats.Median(means), means[k-1], means[len(means)-k]
}

// mostOutside returns the largest k for which the sum of the ranks of the values on one
// side of the center is below k with a probability of 5% at most.
func mostOutside(n int) int {
	ways := make([]float64, n*(n+1)/2+1) // by the sum, how often each is drawn
	ways[0] = math.Pow(0.5, float64(n))
	for rank := 1; rank <= n; rank++ {
		for sum := len(ways) - 1; sum >= rank; sum-- {
			ways[sum] += ways[sum-rank]
		}
	}
	k := 0
	for below := ways[0]; below <= 0.05; below += ways[k] {
		k++
	}
	return k
}

// thousands writes a number with a comma before every third digit.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
