package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

// urgent is a class of pods that may preempt those without one.
const urgent = "urgent"

// A pod of higher priority preempts one whose limit is in its way, except where the limits of
// residents are protected.
func TestPreemptionOfAProtectedPod(t *testing.T) {
	e := newEnv(t)
	e.urgent()
	e.node(controlplane.Node{Name: "n", Labels: blade()})
	e.residents(pod{name: "resident", application: "plain", limit: "1.01", node: "n"})
	e.create(pod{name: "newcomer", application: "plain", priority: urgent, scheduler: protecting})
	e.pending("newcomer")
	time.Sleep(later)
	e.stays("resident")
	if node := e.get("newcomer").Spec.NodeName; node != "" {
		t.Errorf("the newcomer is on %s, beside a pod whose limit it breaks", node)
	}
	e.create(pod{name: "elsewhere", application: "plain", priority: urgent, scheduler: ours})
	e.placed("elsewhere")
	e.gone("resident")
}

// Preemption for a group, an alpha feature of Kubernetes 1.36, takes all pods of lower priority
// out of the scheduler's snapshot before it looks where the group fits, and then puts them
// back one by one.
func TestPreemptionForAGroup(t *testing.T) {
	const gates = "--feature-gates=GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true"
	bin := os.Getenv("BANDMATE_CLUSTER_BIN")
	e := cluster(t, controlplane.Options{
		APIServerFlags: []string{gates, "--runtime-config=scheduling.k8s.io/v1alpha2=true"},
		SchedulerFlags: []string{gates},
		CRDs:           crds, KwokStages: filepath.Join(bin, "stages"),
		SchedulerConfig: func(kubeconfig string) string { return schedulerConfig(kubeconfig, shared.table) },
	})
	e.profiles(e.table)
	e.urgent()
	e.node(controlplane.Node{Name: "n0", Labels: blade()})
	e.node(controlplane.Node{Name: "n1", Labels: blade()})
	e.residents(
		pod{name: "protected", application: "plain", limit: "1.01", node: "n0"},
		pod{name: "free", application: "plain", node: "n1"},
	)
	// The members have a limit, too: each needs a node without any other.
	const members = 2
	group := pod{name: "gang", application: "plain", limit: "1.01", priority: urgent, scheduler: protecting}
	e.gang(group, members)
	for i := range members {
		e.pending(member(group.name, i))
	}
	time.Sleep(later)
	e.stays("protected")
	e.stays("free")

	e.node(controlplane.Node{Name: "n2", Labels: blade()})
	on := map[string]bool{}
	for i := range members {
		on[e.placed(member(group.name, i))] = true
	}
	if !on["n1"] || !on["n2"] {
		t.Errorf("the group is on %v, want it on n1 and n2", on)
	}
	e.gone("free")
	e.stays("protected")

	// Another group takes what nobody protects from it.
	for i := range members {
		e.remove(member(group.name, i))
	}
	if err := e.client.CoreV1().Nodes().Delete(e.ctx, "n2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	group.name, group.scheduler = "another", ours
	e.gang(group, members)
	for i := range members {
		e.placed(member(group.name, i))
	}
	e.gone("protected")

	// A pod on another node of the memory domain is protected as well.
	e.clear()
	pool := blade(v1alpha1.MemoryDomainLabel, "pool")
	e.node(controlplane.Node{Name: "a", Labels: pool})
	e.node(controlplane.Node{Name: "b", Labels: pool})
	e.residents(pod{name: "protected", application: "plain", limit: "1.01", node: "b"})
	e.gang(pod{name: "single", application: "plain", priority: urgent, scheduler: protecting}, 1)
	e.pending(member("single", 0))
	time.Sleep(later)
	e.stays("protected")
	e.node(controlplane.Node{Name: "c", Labels: blade()})
	if node := e.placed(member("single", 0)); node != "c" {
		t.Errorf("the group is on %s, want it on c", node)
	}
	e.stays("protected")
}

// urgent creates the class.
func (e *env) urgent() {
	e.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: urgent}, Value: 1000}
	if _, err := e.client.SchedulingV1().PriorityClasses().Create(e.ctx, class, metav1.CreateOptions{}); err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() {
		if err := e.client.SchedulingV1().PriorityClasses().Delete(e.ctx, urgent, metav1.DeleteOptions{}); err != nil {
			e.Error(err)
		}
	})
}

// stays fails when a pod is being deleted.
func (e *env) stays(name string) {
	e.Helper()
	if p := e.get(name); p.DeletionTimestamp != nil {
		e.Errorf("%s was preempted", name)
	}
}

// gone waits until a pod is deleted.
func (e *env) gone(name string) {
	e.Helper()
	e.eventually("pod "+name+" preempted", func() error {
		_, err := e.client.CoreV1().Pods("default").Get(e.ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it is still there")
		}
		return err
	})
}
