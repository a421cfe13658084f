package schedplugin

import (
	"fmt"
	"sync"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/predictor/roster"
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

// A node that was deleted and came back is another one.
func TestCellsFollowNodes(t *testing.T) {
	p, h := plugin(t, &roster.Roster{}, nil)
	nodes := []fwk.NodeInfo{h.node("a", "blade"), nil, h.node("b", "blade")}
	cells := func() []*cell {
		found, done := p.cellsOf(nodes)
		defer done()
		return append([]*cell(nil), found...)
	}
	first := cells()
	if first[0] == nil || first[1] != nil || first[2] == nil || first[0] == first[2] {
		t.Fatalf("%v", first)
	}
	p.members.gone("a")
	again := cells()
	if again[0] == first[0] || again[2] != first[2] {
		t.Errorf("%v, before %v", again, first)
	}
	if again[0] != p.cellOf("a") {
		t.Error("Filter finds another cell")
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
