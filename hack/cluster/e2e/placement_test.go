package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// blade is the label of the table's first machine.
func blade(labels ...string) map[string]string {
	l := map[string]string{v1alpha1.MachineLabel: "blade"}
	for i := 0; i+1 < len(labels); i += 2 {
		l[labels[i]] = labels[i+1]
	}
	return l
}

// A pod that no node can take within its limit waits, and is placed when the
// neighbor leaves, by the event and not by the scheduler's next look round,
// which is minutes away.
func TestLimitWaitsForTheNeighborToLeave(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	e.residents(pod{name: "neighbor", application: "reader", node: "n"})
	e.create(pod{name: "tender", application: "plain", limit: "1.05", scheduler: ours})
	if reason := e.pending("tender"); !strings.Contains(reason, "would slow this pod beyond its bandmate.dev/max-slowdown") {
		t.Errorf("reason %q", reason)
	}
	e.remove("neighbor")
	e.placed("tender")
	e.eventuallyMetric(`bandmate_limit_rejections_total{role="newcomer"}`, 1)
}

// The same, when the limit is a resident's.
func TestLimitOfAResident(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	e.residents(pod{name: "protected", application: "plain", limit: "1.05", node: "n"})
	e.create(pod{name: "loud", application: "reader", scheduler: ours})
	if reason := e.pending("loud"); !strings.Contains(reason, "would slow another one there") {
		t.Errorf("reason %q", reason)
	}
	// Who causes no traffic is not kept out by it.
	e.create(pod{name: "bystander", scheduler: ours})
	e.placed("bystander")
	e.create(pod{name: "unknown", application: "nobody-knows", scheduler: ours})
	e.placed("unknown")
	e.remove("protected")
	e.placed("loud")
	e.eventuallyMetric(`bandmate_limit_rejections_total{role="resident"}`, 1)
}

// A profile that changes under a pending pod has it tried again.
func TestProfileChangesUnderAPendingPod(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	e.residents(pod{name: "neighbor", application: "reader", node: "n"})
	e.create(pod{name: "tender", application: "plain", limit: "1.05", scheduler: ours})
	e.pending("tender")
	for _, p := range e.table.Applications {
		if p.Name == "reader" {
			calmer := p.DeepCopy()
			calmer.Spec.Contentiousness.ReadBytesPerSecond /= 10
			e.apply("applicationprofiles", calmer)
		}
	}
	e.placed("tender")
}

// Two nodes of one memory domain press on each other: the second one is no place
// for a pod that suffers from who is on the first.
func TestMemoryDomainOfTwoNodes(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "pool-1", Labels: blade(v1alpha1.MemoryDomainLabel, "pool-a")})
	e.node(controlplane.Node{Name: "pool-2", Labels: blade(v1alpha1.MemoryDomainLabel, "pool-a")})
	e.node(controlplane.Node{Name: "alone", Labels: blade(v1alpha1.MemoryDomainLabel, "pool-b")})
	e.residents(
		pod{name: "writer", application: "writer", node: "pool-1"},
		pod{name: "filler", node: "alone", cpus: 20}, // the default scheduler prefers pool-2
	)
	e.create(pod{name: "tender", application: "tender", scheduler: ours, cpus: 1})
	if got := e.placed("tender"); got != "alone" {
		t.Errorf("placed on %s, want alone", got)
	}
	// A limit holds across the domain, too.
	e.remove("tender")
	e.create(pod{name: "bound", application: "tender", limit: "1.02", node: "pool-1"})
	e.residents()
	e.create(pod{name: "loud", application: "torrent", scheduler: ours, cpus: 20})
	reason := e.pending("loud")
	if !strings.Contains(reason, "would slow another one there") || !strings.Contains(reason, "2 ") {
		t.Errorf("reason %q, want both nodes of the pool refused", reason)
	}
}

// Pods pinned to different NUMA nodes of a server do not meet.
func TestNUMANodes(t *testing.T) {
	e := newEnv(t)
	e.node(controlplane.Node{Name: "pinned", Labels: blade()})
	e.node(controlplane.Node{Name: "unpinned", Labels: blade()})
	e.residents(
		pod{name: "a", application: "writer", node: "pinned", numaNode: "0"},
		pod{name: "filler", node: "pinned", cpus: 16},
		pod{name: "b", application: "writer", node: "unpinned"},
	)
	e.create(pod{name: "elsewhere", application: "tender", numaNode: "1", scheduler: ours})
	if got := e.placed("elsewhere"); got != "pinned" {
		t.Errorf("placed on %s, want pinned, on whose other NUMA node the writer is", got)
	}
	e.remove("elsewhere")
	e.create(pod{name: "same", application: "tender", numaNode: "0", limit: "1.1", scheduler: ours})
	e.pending("same")
}

// Two hundred pods at once spread: each sees those placed just before it.
func TestNoHerd(t *testing.T) {
	e := newEnv(t)
	const nodes, pods = 20, 200
	for i := range nodes {
		e.node(controlplane.Node{Name: fmt.Sprintf("n%d", i), Labels: blade(), Pods: 250, CPUs: 1000})
	}
	for i := range pods {
		e.create(pod{name: fmt.Sprintf("p%d", i), application: []string{"plain", "tender"}[i%2], scheduler: ours})
	}
	count := map[string]int{}
	for i := range pods {
		count[e.placed(fmt.Sprintf("p%d", i))]++
	}
	most, least := 0, pods
	for i := range nodes {
		n := count[fmt.Sprintf("n%d", i)]
		most, least = max(most, n), min(least, n)
	}
	t.Logf("%d to %d pods a node", least, most)
	if most > 2*pods/nodes || least == 0 {
		t.Errorf("%d to %d pods a node, want about %d: %v", least, most, pods/nodes, count)
	}
}

// The event says what was predicted, for whom, and what else there was.
func TestEventAndMetrics(t *testing.T) {
	e := newEnv(t)
	for _, name := range []string{"with-plain", "with-writer"} {
		e.node(controlplane.Node{Name: name, Labels: blade()})
	}
	e.residents(pod{name: "db-0", application: "plain", node: "with-plain"}, pod{name: "log-0", application: "torrent", node: "with-writer"})
	e.create(pod{name: "web", application: "tender", scheduler: ours})
	if got := e.placed("web"); got != "with-plain" {
		t.Errorf("placed on %s", got)
	}
	note := e.event("web", "SlowdownPredicted")
	t.Log(note)
	for _, want := range []string{"predicted 1.0", "× for this pod", "× for default/db-0", "runner-up with-writer 1."} {
		if !strings.Contains(note, want) {
			t.Errorf("event %q, want %q in it", note, want)
		}
	}
	e.create(pod{name: "stranger", application: "nobody-knows", scheduler: ours})
	e.placed("stranger")
	if note := e.event("stranger", "SlowdownPredicted"); !strings.Contains(note, "no profile of nobody-knows") {
		t.Errorf("event %q", note)
	}
	e.eventuallyMetric(`bandmate_profile_lookups_total{result="known"}`, 1)
	e.eventuallyMetric(`bandmate_profile_lookups_total{result="unknown"}`, 1)
	e.eventuallyMetric(`bandmate_unknown_pods_total`, 1)
	e.eventuallyMetric(`bandmate_predicted_slowdown_count{role="newcomer"}`, 1)
	e.eventuallyMetric(`bandmate_profiles_synced{resource="applicationprofiles"}`, 1)
}

// Measured traffic of pods that nobody labeled counts while it is fresh, and
// not when it is old, from the future, or unreadable.
func TestMeasuredTraffic(t *testing.T) {
	for _, test := range []struct {
		name, annotation string
		counts           bool
	}{
		{"fresh", measured(15e9, 0), true},
		{"stale", measured(15e9, -time.Hour), false},
		{"from the future", measured(15e9, time.Hour), false},
		{"unreadable", `{"readBytesPerSecond":"lots"}`, false},
		{"huge", `{"x":"` + strings.Repeat("y", 200_000) + `"}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEnv(t)
			e.node(controlplane.Node{Name: "measured", Labels: blade(), Annotations: map[string]string{v1alpha1.MeasuredTrafficAnnotation: test.annotation}})
			e.node(controlplane.Node{Name: "silent", Labels: blade()})
			e.residents(pod{name: "filler", node: "silent", cpus: 16}) // makes "measured" the default choice
			e.create(pod{name: "tender", application: "plain", scheduler: ours})
			want := map[bool]string{true: "silent", false: "measured"}[test.counts]
			if got := e.placed("tender"); got != want {
				t.Errorf("placed on %s, want %s", got, want)
			}
		})
	}
}

func measured(read float64, ago time.Duration) string {
	return fmt.Sprintf(`{"readBytesPerSecond":%.0f,"writeBytesPerSecond":0,"time":%q}`, read, metav1.NewTime(time.Now().Add(ago)).UTC().Format(time.RFC3339))
}
