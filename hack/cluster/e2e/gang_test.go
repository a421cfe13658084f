package e2e

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// Members of a native gang, an alpha feature of Kubernetes 1.36, keep their limits from
// each other, although the scheduler assumes and forgets all of them within one cycle.
// A gang that fits nowhere leaves nobody behind who would be in the way of others.
func TestGangKeepsItsLimits(t *testing.T) {
	e := cluster(t, controlplane.Options{
		APIServerFlags: []string{"--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"},
		SchedulerFlags: []string{"--feature-gates=GenericWorkload=true,GangScheduling=true"},
		CRDs:           crds,
	})
	e.profiles(e.table)
	const members = 4
	for i := range members - 1 {
		e.node(controlplane.Node{Name: fmt.Sprintf("n%d", i), Labels: blade()})
	}
	// Two beside each other are slowed down by 1.02.
	e.gang(pod{name: "gang", application: "plain", limit: "1.01", scheduler: ours}, members)
	for i := range members {
		e.pending(member("gang", i))
	}
	time.Sleep(later)
	for i := range members {
		if node := e.get(member("gang", i)).Spec.NodeName; node != "" {
			t.Errorf("member %d is on %s: two of four share one of three nodes", i, node)
		}
	}
	// Alone each of its nodes keeps the limit.
	for i := range members - 1 {
		e.create(pod{name: fmt.Sprintf("single-%d", i), application: "plain", limit: "1.01", scheduler: ours})
		e.placed(fmt.Sprintf("single-%d", i))
	}
	for i := range members - 1 {
		e.remove(fmt.Sprintf("single-%d", i))
	}
	e.node(controlplane.Node{Name: "another", Labels: blade()})
	on := map[string]int{}
	for i := range members {
		on[e.placed(member("gang", i))]++
	}
	if len(on) != members {
		t.Errorf("%v, want each on a node of its own", on)
	}
}

func member(gang string, i int) string { return fmt.Sprintf("%s-%d", gang, i) }

// gang creates a group of pods like p, which are named after it, of which all or none are
// placed.
func (e *env) gang(p pod, members int) {
	e.Helper()
	group := &schedulingv1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec: schedulingv1.PodGroupSpec{
			SchedulingPolicy: schedulingv1.PodGroupSchedulingPolicy{
				Gang: &schedulingv1.GangSchedulingPolicy{MinCount: int32(members)},
			},
			PriorityClassName: p.priority,
		},
	}
	if _, err := e.client.SchedulingV1alpha2().PodGroups("default").Create(e.ctx, group, metav1.CreateOptions{}); err != nil {
		e.Fatal(err)
	}
	p.group = p.name
	for i := range members {
		p.name = member(p.group, i)
		e.create(p)
	}
}

func (e *env) get(name string) *v1.Pod {
	e.Helper()
	p, err := e.client.CoreV1().Pods("default").Get(e.ctx, name, metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	return p
}
