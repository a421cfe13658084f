package schedplugin

import (
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

const stateKey fwk.StateKey = Name

// cycle is what the plugin knows while it schedules one pod.
type cycle struct {
	plugin   *Plugin
	pod      *v1.Pod
	facts    podFacts
	snapshot *snapshot
	now      time.Time
	last     atomic.Pointer[machineKnown] // of the node asked about last: most have the same machine
	pools    sync.Map                     // of domain name to *place
	// nodes are those that PreScore heard of, in their order.
	nodes []fwk.NodeInfo
	// ranked is set by NormalizeScore: the domains of the best estimates, best first.
	ranked []candidate
	// chosen is set by Reserve.
	chosen *candidate
}

// candidate is a node that the pod may go to.
type candidate struct {
	node, machine string
	place         *place
	cost          int64
}

// Clone returns the cycle itself: it depends on the pod and the profiles, which
// preemption does not change, and what it remembers of domains is checked
// against the nodes at every use.
func (c *cycle) Clone() fwk.StateData { return c }

func (p *Plugin) newCycle(pod *v1.Pod, facts podFacts) *cycle {
	return &cycle{plugin: p, pod: pod, facts: facts, snapshot: p.watch.snapshot(), now: p.now()}
}

// cycleOf returns the cycle that PreFilter wrote; nil where the pod does not
// concern the plugin.
func cycleOf(state fwk.CycleState) *cycle {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	c, _ := data.(*cycle)
	return c
}

// knownOn returns what is known of the pod's application on a machine.
func (c *cycle) knownOn(machine string) *known {
	if last := c.last.Load(); last != nil && last.machine == machine {
		return last.known
	}
	k := c.snapshot.lookup(c.facts.application, machine)
	c.last.Store(&machineKnown{machine, k})
	return k
}

// machineKnown is what is known of a cycle's application on a machine.
type machineKnown struct {
	machine string
	known   *known
}
