package schedplugin

import (
	"slices"
	"sync"
	"sync/atomic"
	"unique"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/schedplugin/view"
)

// nodeState is what the plugin read of a node. It is immutable. What Score reads comes
// first: with thousands of nodes it is in no cache.
type nodeState struct {
	version
	// pending is true where a resident's profile waits for a model of the memory.
	pending bool
	// shared and machine are the node's, at hand for Score.
	shared   bool // whether the node has a memory domain of several
	profiles *profiles
	round    int64 // of the profiles, before they were asked
	machine  string
	node     *occupancy.Node
	pods     []podState
}

// version tells copies of a node apart. Between syncs with its cache the scheduler
// adds and removes assumed pods of groups without a new generation: those are behind
// all others, in any order.
type version struct {
	generation int64
	count      int32 // of pods
	assumed    bool  // whether the last may be such a pod
}

func versionOf(info fwk.NodeInfo) version {
	v := version{generation: info.GetGeneration()}
	if pods := info.GetPods(); len(pods) > 0 {
		v.count, v.assumed = int32(len(pods)), inGroup(pods[len(pods)-1].GetPod())
	}
	return v
}

// of reports whether info is this version of its node, but for the order and the
// identity of assumed pods. Score asks for every node: a look into a pod would be
// several cache misses.
func (v version) of(info fwk.NodeInfo) bool {
	return v.generation == info.GetGeneration() && int(v.count) == len(info.GetPods())
}

// current reports whether reading the node again would give the same.
func (s *nodeState) current(info fwk.NodeInfo, p *profiles) bool {
	return s != nil && s.profiles == p && s.of(info) && (!s.pending || s.round == p.round.Load()) &&
		(!s.assumed || s.has(info.GetPods()))
}

// has reports whether these are the pods that were read.
func (s *nodeState) has(pods []fwk.PodInfo) bool {
	return slices.EqualFunc(s.pods, pods, func(read podState, now fwk.PodInfo) bool { return read.pod == now.GetPod() })
}

// podState is what the plugin read of a pod on a node. Pod objects are immutable,
// and most are still there when the node has changed.
type podState struct {
	pod      *v1.Pod
	profile  *profile
	resident *occupancy.Resident // nil for a pod that does not count
}

// nodeCache holds the last state of every node.
type nodeCache struct {
	byName sync.Map // of name to *nodeSlot
	// byInfo finds the slots of the nodes in the scheduler's snapshot, which keeps
	// their addresses from cycle to cycle; for Score, where every node counts.
	byInfo   atomic.Pointer[map[fwk.NodeInfo]*nodeSlot]
	outdated atomic.Bool // whether byInfo misses a node, or has one too many
}

// nodeSlot holds the last state of a node. State and domain are found from here, and not
// one from the other, so that the processor can read both at once.
type nodeSlot struct {
	state atomic.Pointer[nodeState]
	// domains are the node's memory domain for pods by their NUMA node, as far as they
	// were needed; none where the node shares its domain with others.
	domains [1 + rememberedNUMANodes]atomic.Pointer[domainState]
}

const rememberedNUMANodes = 8

// slot returns the slot of a node.
func (c *nodeCache) slot(node string) *nodeSlot {
	value, ok := c.byName.Load(node)
	if !ok {
		value, _ = c.byName.LoadOrStore(node, &nodeSlot{})
	}
	return value.(*nodeSlot) //nolint:errcheck,forcetypeassert // nothing else is stored
}

// fastSlot returns the slot of a node of the scheduler's snapshot.
func (c *nodeCache) fastSlot(info fwk.NodeInfo) *nodeSlot {
	if index := c.byInfo.Load(); index != nil {
		if slot := (*index)[info]; slot != nil {
			return slot
		}
	}
	c.outdated.Store(true)
	return c.slot(info.Node().Name)
}

// index makes fastSlot find all nodes of the scheduler's snapshot.
func (c *nodeCache) index(nodes fwk.NodeInfoLister) {
	if !c.outdated.Swap(false) && c.byInfo.Load() != nil {
		return
	}
	all, err := nodes.List()
	if err != nil {
		return // the scheduler's snapshot has no error
	}
	index, present := make(map[fwk.NodeInfo]*nodeSlot, len(all)), make(map[string]bool, len(all))
	for _, info := range all {
		if info.Node() != nil {
			present[info.Node().Name] = true
			index[info] = c.slot(info.Node().Name)
		}
	}
	c.byName.Range(func(name, _ any) bool { // a cycle may have brought a deleted node back
		if !present[name.(string)] { //nolint:errcheck,forcetypeassert // nothing else is stored
			c.byName.Delete(name)
		}
		return true
	})
	c.byInfo.Store(&index)
}

// forget drops the state of a node that was deleted.
func (c *nodeCache) forget(node string) {
	c.byName.Delete(node)
	c.outdated.Store(true)
}

// nodeState returns the state of a node, read again where the node or the profiles
// changed. A change that makes no difference keeps the node and its memory domain.
func (p *Plugin) nodeState(slot *nodeSlot, info fwk.NodeInfo, profiles *profiles) *nodeState {
	last := slot.state.Load()
	if last.current(info, profiles) {
		return last
	}
	state := p.readNode(info, profiles, last)
	if last != nil && last.pending == state.pending && last.node.Equal(state.node) {
		state.node = last.node
	}
	slot.state.Store(state)
	return state
}

// readNode reads a node of the scheduler's snapshot. Pods that last, which may be nil,
// has read are not read again.
func (p *Plugin) readNode(info fwk.NodeInfo, profiles *profiles, last *nodeState) *nodeState {
	pods := info.GetPods()
	s := &nodeState{version: versionOf(info), profiles: profiles, round: profiles.round.Load(), pods: make([]podState, len(pods))}
	node, err := view.ReadNode(info.Node())
	if err != nil {
		p.metrics.measured.WithLabelValues(resultInvalid).Inc()
	}
	// Of equal machines the text is the same, so that to compare it is to compare addresses.
	node.Machine = unique.Make(node.Machine).Value()
	s.node, s.shared, s.machine = node, node.Domain != "", node.Machine
	// bandmate what-if tells of an annotation that cannot be read.
	seats, _ := view.ReadSeats(info.Node(), profiles.advisor.SharedCaches(node.Machine))
	node.Caches = seats.Of("")
	node.Residents = make([]*occupancy.Resident, 0, len(pods))
	sameProfiles := last != nil && last.profiles == profiles && last.node.Machine == node.Machine
	for i, podInfo := range pods {
		read := p.readPod(podInfo.GetPod(), node.Name, last, i)
		if read.resident != nil {
			if read.profile == nil || read.profile.pending || !sameProfiles {
				read.lookUp(profiles, node.Machine)
			}
			read.seat(&seats)
			node.Residents = append(node.Residents, read.resident)
			s.pending = s.pending || read.profile.pending
		}
		s.pods[i] = read
	}
	return s
}

// readPod returns what last has read of a pod, most likely at index i, or else reads
// the pod without its profile.
func (p *Plugin) readPod(pod *v1.Pod, node string, last *nodeState, i int) podState {
	if last != nil {
		if i < len(last.pods) && last.pods[i].pod == pod {
			return last.pods[i]
		}
		if at := slices.IndexFunc(last.pods, func(s podState) bool { return s.pod == pod }); at >= 0 {
			return last.pods[at]
		}
	}
	// An annotation that cannot be read was reported when the pod was scheduled.
	resident, _ := view.ReadPod(pod)
	if view.Finished(pod) || !p.args.Counts(resident.Application) {
		return podState{pod: pod}
	}
	resident.Node = node
	return podState{pod: pod, resident: &resident}
}

// lookUp sets the profile of the resident.
func (s *podState) lookUp(profiles *profiles, machine string) {
	profile := profiles.serve(s.resident.Application, machine, s.resident.Demand)
	if profile == s.profile {
		return
	}
	resident := *s.resident
	resident.Entry, resident.Fast = &profile.Entry, profile.fast
	s.profile, s.resident = profile, &resident
}

// seat sets the caches in which the resident may run.
func (s *podState) seat(seats *view.Seats) {
	caches := seats.Of(s.resident.ID)
	if caches == s.resident.Caches {
		return
	}
	resident := *s.resident
	resident.Caches, s.resident = caches, &resident
}
