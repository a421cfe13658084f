package schedplugin

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/schedplugin/config"
)

// A group goes where it breaks the limit of no pod, although preemption takes those of lower
// priority out of the snapshot, also those of other nodes of a memory domain.
func TestPreemptionForAGroup(t *testing.T) {
	for name, test := range map[string]struct {
		protect, group, shared bool
		resident               *v1.Pod
		want                   fwk.Code
	}{
		"protected":            {true, true, false, pod("protected", "plain", 1, "1.05"), fwk.UnschedulableAndUnresolvable},
		"in a shared domain":   {true, true, true, pod("protected", "plain", 1, "1.05"), fwk.UnschedulableAndUnresolvable},
		"not in the way":       {true, true, false, pod("protected", "plain", 1, "1.5"), fwk.Success},
		"without a limit":      {true, true, false, pod("free", "plain", 1, ""), fwk.Success},
		"not protected":        {false, true, false, pod("protected", "plain", 1, "1.05"), fwk.Success},
		"a pod without others": {true, false, false, pod("protected", "plain", 1, "1.05"), fwk.Success},
	} {
		p, h := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) { a.ProtectLimits = test.protect })
		nodes := []*fakeNode{h.node("a", "blade"), h.node("b", "blade")}
		for _, n := range nodes {
			if test.shared {
				n.node.Labels[v1alpha1.MemoryDomainLabel] = "pool"
			}
			p.members.handler().OnAdd(n.node, false)
		}
		test.resident.Spec.NodeName = "a"
		if test.shared {
			test.resident.Spec.NodeName = "b"
		}
		p.pods.handler().OnAdd(test.resident, false)
		pods := cache.NewSharedIndexInformer(&cache.ListWatch{}, &v1.Pod{}, 0, cache.Indexers{})
		for range 2 { // two scheduler profiles
			if err := p.indexByNode(pods); err != nil {
				t.Fatal(err)
			}
		}
		if err := pods.GetStore().Add(test.resident); err != nil {
			t.Fatal(err)
		}
		newcomer := pod("loud", "reader", 1, "")
		if test.group {
			newcomer.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("group")}
		}
		st := newState()
		p.PreFilter(t.Context(), st, newcomer, nil)
		if got := p.Filter(t.Context(), st, newcomer, nodes[0]).Code(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		// Put back, the pod is no victim where it does not mind the group.
		h.nodes[test.resident.Spec.NodeName].add(test.resident)
		if got := p.Filter(t.Context(), st, newcomer, nodes[0]).IsSuccess(); test.want == fwk.Success && test.group && test.protect && !got {
			t.Errorf("%s: put back: rejected", name)
		}
	}
}
