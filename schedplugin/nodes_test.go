package schedplugin

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
)

// A node that changed is read again, but its pods that are still there are not, in
// whatever order the scheduler then has them.
func TestReadNodeKeepsPods(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	n := h.node("n", "blade")
	n.add(pod("a", "plain", 1, ""), pod("b", "", 1, ""), pod("c", "reader", 2, "1.5"))
	s := p.watch.profiles()
	first := p.readNode(n, s, nil)
	if len(first.node.Residents) != 2 || len(first.pods) != 3 || first.pods[1].resident != nil {
		t.Fatalf("%+v", first.pods)
	}
	n.pods[0], n.pods[2] = n.pods[2], n.pods[0]
	n.add(pod("d", "plain", 1, ""))
	for name, now := range map[string]*profiles{"the same profiles": s, "no profiles": newProfiles(&advisor.Advisor{})} {
		again, fresh := p.readNode(n, now, first), p.readNode(n, now, nil)
		if !again.node.Equal(fresh.node) || again.node.Equal(first.node) || len(again.pods) != 4 {
			t.Errorf("%s: %+v, want %+v", name, again, fresh)
		}
	}
}

// A change of a node that makes no difference keeps its memory domain.
func TestUnchangedNodeKeepsDomain(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	n := h.node("n", "blade")
	n.add(pod("a", "plain", 1, ""))
	c := p.newCycle(nil, resident(pod("n", "reader", 1, "")))
	before, err := c.domain(c.stateOf(n))
	if err != nil {
		t.Fatal(err)
	}
	n.add(pod("unlabeled", "", 1, ""))
	if after, _ := c.domain(c.stateOf(n)); after != before {
		t.Error("prepared again")
	}
	n.add(pod("b", "plain", 1, ""))
	if after, _ := c.domain(c.stateOf(n)); after == before {
		t.Error("a resident is missed")
	}
}

// Between two syncs with its cache the scheduler assumes and forgets pods of a group
// without a new generation of the node.
func TestAssumedWithoutGeneration(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	n := h.node("n", "blade")
	n.add(pod("a", "plain", 1, ""))
	s := p.watch.profiles()
	residents := func() string {
		names := ""
		for _, r := range p.nodeState(p.nodes.slot("n"), n, s).node.Residents {
			names += r.Name
		}
		return names
	}
	assume := func(name string) {
		member := pod(name, "reader", 1, "")
		member.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("group")}
		n.pods = append(n.pods, &fakePod{pod: member})
	}
	forget := func() { n.pods = n.pods[:len(n.pods)-1] }
	var got []string
	for _, step := range []func(){func() {}, func() { assume("b") }, forget, func() { assume("c") }, func() { assume("d") }, func() {
		// Another pod of the group in the place of c, as when c was forgotten.
		n.pods = slices.Clone(n.pods)
		n.pods[1] = &fakePod{pod: pod("e", "reader", 1, "")}
	}} {
		step()
		got = append(got, residents())
	}
	if fmt.Sprint(got) != "[a ab a ac acd aed]" {
		t.Errorf("residents %v", got)
	}
}

// Verdicts on a domain of several nodes do not depend on which was asked for first.
func TestSharedDomainHasOneOrder(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	for i, name := range []string{"b", "c", "a"} {
		n := h.node(name, "blade")
		n.node.Labels[v1alpha1.MemoryDomainLabel] = "pool"
		n.add(pod(fmt.Sprint(i), "reader", float64(i+1), ""))
		p.members.handler().OnAdd(n.node, false)
	}
	for _, first := range []string{"a", "b", "c"} {
		c := p.newCycle(nil, resident(pod("n", "plain", 1, "")))
		d, err := c.domain(c.stateOf(h.nodes[first]))
		if err != nil {
			t.Fatal(err)
		}
		order := ""
		for _, r := range d.load.Residents() {
			order += r.Name
		}
		if order != "201" {
			t.Errorf("asked for %s first: residents in the order %s", first, order)
		}
	}
}

// The verdict on a node of a shared domain does not depend on whether another one, which
// the scheduler asks for with a nominated pod, was asked for before.
func TestNominatedPodInSharedDomain(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	for _, name := range []string{"a", "b"} {
		n := h.node(name, "blade")
		n.node.Labels[v1alpha1.MemoryDomainLabel] = "pool"
		p.members.handler().OnAdd(n.node, false)
	}
	residents := func(c *cycle, n *fakeNode) int {
		d, err := c.domain(c.stateOf(n))
		if err != nil {
			t.Fatal(err)
		}
		return len(d.residents)
	}
	c := p.newCycle(nil, resident(pod("n", "plain", 1, "")))
	nominated := &fakeNode{node: h.nodes["a"].node, generation: h.nodes["a"].generation}
	nominated.add(pod("nominated", "reader", 1, ""))
	for range 2 {
		if got := residents(c, nominated); got != 1 {
			t.Errorf("a with the nominated pod: %d residents, want 1", got)
		}
		if got := residents(c, h.nodes["b"]); got != 0 {
			t.Errorf("b: %d residents, want none, as nominated pods of a are not on it", got)
		}
	}
	if _, ok := p.shared.Load("pool"); !ok {
		t.Error("the domain is not remembered")
	}
	for _, name := range []string{"a", "b"} {
		p.members.handler().OnDelete(h.nodes[name].node)
	}
	if _, ok := p.shared.Load("pool"); ok {
		t.Error("a domain without nodes is remembered")
	}
	// The snapshot of a cycle that goes on still has the nodes.
	residents(p.newCycle(nil, resident(pod("n", "plain", 1, ""))), h.nodes["a"])
	if _, ok := p.shared.Load("pool"); ok {
		t.Error("a domain without nodes is remembered again")
	}
}

// Nodes of one memory domain score the same, also those beyond the ones scored exactly.
func TestNodesOfADomainScoreTheSame(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	var names []string
	for i := range 12 {
		name := fmt.Sprintf("node-%02d", i)
		n := h.node(name, "blade")
		n.node.Labels[v1alpha1.MemoryDomainLabel] = []string{"pool-a", "pool-b"}[i/10]
		n.add(pod("r-"+name, "reader", 0.5, ""))
		p.members.handler().OnAdd(n.node, false)
		names = append(names, name)
	}
	o := schedule(t, p, h, pod("p", "plain", 1, ""), names)
	for _, name := range names[:10] {
		if o.scores[name] != o.scores[names[0]] {
			t.Errorf("nodes of a domain score differently: %v", o.scores)
			break
		}
	}
}

// A node is found by its address once PreScore has indexed it, and a node that was
// deleted and comes back is another one.
func TestNodeIndex(t *testing.T) {
	p, h := plugin(t, &advisor.Advisor{}, nil)
	c := &p.nodes
	first := h.node("a", "blade")
	slot := c.fastSlot(first)
	if slot != c.slot("a") || !c.outdated.Load() {
		t.Error("a node that is not indexed is not found by name")
	}
	c.index(h)
	if c.outdated.Load() || c.fastSlot(first) != slot || c.outdated.Load() {
		t.Error("an indexed node is not found")
	}
	p.members.deleted("a")
	second := h.node("a", "blade")
	c.index(h)
	if c.fastSlot(second) == slot || c.outdated.Load() {
		t.Error("a deleted node is found")
	}
	if n := len(*c.byInfo.Load()); n != 1 {
		t.Errorf("%d nodes are indexed", n)
	}
}

// Cycles that score the same nodes at once do not disturb each other.
func TestConcurrentCycles(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	var names []string
	for i := range 96 {
		names = append(names, fmt.Sprintf("node-%d", i))
		n := h.node(names[i], "blade")
		for j := range i % 3 {
			n.add(pod(fmt.Sprintf("r-%d-%d", i, j), "reader", 1, ""))
		}
	}
	var cycles sync.WaitGroup
	for i := range 4 {
		cycles.Go(func() {
			o := schedule(t, p, h, pod(fmt.Sprintf("n-%d", i), "plain", 1, ""), names)
			for at, name := range names {
				if like := names[at%3]; o.scores[name] != o.scores[like] {
					t.Errorf("%s scores %d, %s %d", name, o.scores[name], like, o.scores[like])
				}
			}
			if o.scores[names[0]] <= o.scores[names[2]] {
				t.Errorf("%v", o.scores)
			}
		})
	}
	cycles.Wait()
}

// A cycle that still runs does not bring a deleted node back for good.
func TestDeletedNodesAreForgotten(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	for i := range 20 {
		name := fmt.Sprint("n", i)
		n := h.node(name, "blade")
		n.add(pod("r"+name, "reader", 1, ""))
		newcomer, st := pod("p", "plain", 1, "1.5"), newState()
		p.PreFilter(t.Context(), st, newcomer, nil)
		p.members.handler().OnDelete(n.node) // during the cycle, whose snapshot still has it
		p.Filter(t.Context(), st, newcomer, n)
		delete(h.nodes, name)
	}
	h.node("last", "blade")
	schedule(t, p, h, pod("p", "plain", 1, "1.5"), []string{"last"})
	count := 0
	p.nodes.byName.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d nodes are remembered, want 1", count)
	}
}
