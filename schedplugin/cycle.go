package schedplugin

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor/occupancy"
)

const stateKey fwk.StateKey = Name

// cycle is what the plugin knows while it schedules one pod.
type cycle struct {
	plugin   *Plugin
	pod      *v1.Pod
	newcomer occupancy.Resident // the pod, without a profile
	profiles *profiles
	round    int64 // of the profiles, when the cycle began
	now      time.Time
	last     atomic.Pointer[profileAt] // most nodes are of the same machine
	shared   sync.Map                  // of the name of a shared memory domain to *domainState
	refused  refusals
	// ranked are the nodes of the best estimates, the best first. NormalizeScore sets it.
	ranked []candidate
	// scored is how many nodes were ranked, once only the runner-up is left of them.
	scored int
	// chosen is where the pod goes. Reserve sets it.
	chosen *candidate
}

// candidate is a node that the pod may go to.
type candidate struct {
	node, machine string
	domain        *domainState
	cost          cost
}

// profileAt is the profile of a cycle's pod on a machine.
type profileAt struct {
	machine string
	*profile
}

func (p *Plugin) newCycle(pod *v1.Pod, newcomer occupancy.Resident) *cycle {
	current := p.watch.profiles()
	return &cycle{plugin: p, pod: pod, newcomer: newcomer, profiles: current, round: current.round.Load(), now: p.now()}
}

// outdated reports whether profiles changed, or were calibrated, since the cycle began.
func (c *cycle) outdated() bool {
	return c.profiles != c.plugin.watch.profiles() || c.round != c.profiles.round.Load()
}

// cycleOf returns the cycle that PreFilter began; nil for a pod that does not count.
func cycleOf(state fwk.CycleState) *cycle {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	c, _ := data.(*cycle)
	return c
}

// Clone returns the cycle itself. Preemption changes neither the pod nor the
// profiles, and what a cycle remembers of domains is checked at every use.
func (c *cycle) Clone() fwk.StateData { return c }

// profileOn returns the profile of the pod on a machine.
func (c *cycle) profileOn(machine string) *profile {
	if last := c.last.Load(); last != nil && last.machine == machine {
		return last.profile
	}
	found := c.profiles.serve(c.newcomer.Application, machine, c.newcomer.Demand)
	c.last.Store(&profileAt{machine, found})
	return found
}

// newcomerOn returns the pod with its profile at a node of a machine.
func (c *cycle) newcomerOn(node, machine string) *occupancy.Resident {
	newcomer := c.newcomer
	newcomer.Entry, newcomer.Node = &c.profileOn(machine).Entry, node
	return &newcomer
}

// failed reports a domain that cannot be scored. The pod may go there: what the plugin
// does not know must not keep a cluster from working.
func (c *cycle) failed(ctx context.Context, node string, err error) {
	c.plugin.metrics.failures.Inc()
	klog.FromContext(ctx).Error(err, "Memory domain cannot be scored", "pod", klog.KObj(c.pod), "node", node)
}
