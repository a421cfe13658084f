package schedplugin

import (
	"fmt"
	"sync"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
)

// Every node gets the score that is its own, in whatever order the framework asks,
// also for nodes that PreScore did not name or that are gone.
func TestNormalizeScoreByNode(t *testing.T) {
	p, h := plugin(t, table(t).Roster(), nil)
	h.node("busy", "blade").add(pod("r", "reader", 1, ""))
	h.node("idle", "blade")
	for name, test := range map[string]struct{ before, asked []string }{
		"as before":   {[]string{"idle", "busy"}, []string{"idle", "busy"}},
		"reversed":    {[]string{"idle", "busy"}, []string{"busy", "idle"}},
		"fewer":       {[]string{"idle", "busy"}, []string{"busy"}},
		"more":        {[]string{"idle"}, []string{"busy", "idle"}},
		"one is gone": {[]string{"idle", "busy"}, []string{"busy", "gone", "idle"}},
	} {
		state, newcomer := newState(), pod("n", "plain", 1, "")
		p.PreFilter(t.Context(), state, newcomer, nil)
		var nodes []fwk.NodeInfo
		for _, n := range test.before {
			nodes = append(nodes, h.nodes[n])
		}
		p.PreScore(t.Context(), state, newcomer, nodes)
		got := map[string]int64{}
		var scores fwk.NodeScoreList
		for _, n := range test.asked {
			scores = append(scores, fwk.NodeScore{Name: n})
		}
		if s := p.NormalizeScore(t.Context(), state, newcomer, scores); !s.IsSuccess() {
			t.Fatal(s)
		}
		for _, s := range scores {
			got[s.Name] = s.Score
		}
		if _, asked := got["idle"]; asked && got["idle"] <= got["busy"] {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Nodes are found in whatever order they come, new ones from the next time on, and a
// node that was deleted and came back is another one.
func TestRowsFollowNodes(t *testing.T) {
	p, h := plugin(t, &advisor.Advisor{}, nil)
	for i := range 6 {
		h.node(fmt.Sprintf("node-%d", i), "blade")
	}
	find := func(names ...string) []*row {
		t.Helper()
		var nodes []fwk.NodeInfo
		for _, name := range names {
			if n := h.nodes[name]; n != nil {
				nodes = append(nodes, n)
			} else {
				nodes = append(nodes, nil)
			}
		}
		if !p.rows.open(h) {
			t.Fatal("somebody has the rows")
		}
		defer p.rows.close()
		found := append([]*row(nil), p.rows.find(nodes)...)
		for i, r := range found {
			if r != nil && r.info != nodes[i] {
				t.Errorf("%s: row of %s", names[i], r.info.Node().Name)
			}
		}
		return found
	}
	for _, names := range [][]string{
		{"node-0", "node-1", "node-2", "node-3", "node-4", "node-5"},
		{"node-3", "node-0", "node-4", "node-1", "node-5", "node-2"},
		{"node-5", "node-4", "nobody", "node-5"},
	} {
		for i, r := range find(names...) {
			if (r != nil) != (h.nodes[names[i]] != nil) {
				t.Errorf("%v: %s: %v", names, names[i], r)
			}
		}
	}
	h.node("node-00", "blade")
	if first := find("node-0", "node-00"); first[0] == nil || first[1] != nil {
		t.Errorf("a new node at once: %v", first)
	}
	if second := find("node-0", "node-00"); second[0] == nil || second[1] == nil {
		t.Errorf("a new node the next time: %v", second)
	}
	h.node("node-3", "blade") // another one of the name
	find("node-2", "node-3", "node-4")
	delete(h.nodes, "node-3")
	p.members.gone("node-3")
	find("node-2", "node-4")
	if len(p.rows.all) != len(h.nodes) {
		t.Errorf("%d rows of %d nodes", len(p.rows.all), len(h.nodes))
	}
}

// Nodes that changed together are read by several goroutines, and two cycles at once
// do not disturb each other.
func TestManyNodesAtOnce(t *testing.T) {
	p, h := plugin(t, table(t).Roster(), nil)
	var names []string
	for i := range 3 * fewStale {
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
