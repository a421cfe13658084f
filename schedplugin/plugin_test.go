package schedplugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
)

// Pods that name no application are left to the other plugins, and batched.
func TestUnlabeledPods(t *testing.T) {
	for policy, concerned := range map[config.UnlabeledPolicy]bool{config.UnlabeledIgnored: false, config.UnlabeledUnknown: true} {
		p, h := plugin(t, &advisor.Advisor{}, func(a *config.BandmateArgs) { a.UnlabeledPods = policy })
		h.node("n", "blade").add(pod("other", "", 1, ""))
		o := schedule(t, p, h, pod("p", "", 1, ""), []string{"n"})
		if o.skipped == concerned {
			t.Errorf("%s: skipped %v", policy, o.skipped)
		}
		if _, status := p.SignPod(t.Context(), pod("p", "", 1, "")); status.IsSuccess() == concerned {
			t.Errorf("%s: batched %v", policy, status.IsSuccess())
		}
	}
}

// The profile of a snapshot is not mixed with that of the next.
func TestProfilesChange(t *testing.T) {
	all := table(t)
	p, h := plugin(t, all.Advisor(), nil)
	h.node("busy", "blade").add(pod("r", "reader", 1, ""))
	h.node("idle", "blade")
	names := []string{"busy", "idle"}
	if o := schedule(t, p, h, pod("a", "plain", 1, ""), names); o.scores["idle"] <= o.scores["busy"] {
		t.Errorf("%v", o.scores)
	}
	p.watch.current.Store(newProfiles(&advisor.Advisor{}))
	if o := schedule(t, p, h, pod("a", "plain", 1, ""), names); o.scores["idle"] != o.scores["busy"] {
		t.Errorf("without profiles: %v", o.scores)
	}
	p.watch.current.Store(p.watch.profiles().next(all.Advisor()))
	if o := schedule(t, p, h, pod("a", "plain", 1, ""), names); o.scores["idle"] <= o.scores["busy"] {
		t.Errorf("again: %v", o.scores)
	}
}

// A pod that was assumed a moment ago is seen by the next.
func TestAssumedPodsCount(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	names := []string{"a", "b"}
	for _, name := range names {
		h.node(name, "blade")
	}
	if o := schedule(t, p, h, pod("one", "plain", 1, ""), names); o.scores["a"] != o.scores["b"] {
		t.Errorf("%v", o.scores)
	}
	h.nodes["a"].add(pod("reader", "reader", 1, ""))
	if o := schedule(t, p, h, pod("two", "plain", 1, ""), names); o.scores["a"] >= o.scores["b"] {
		t.Errorf("%v", o.scores)
	}
}

func TestNote(t *testing.T) {
	result := &score.Score{
		Newcomer:  score.Effect{Job: "web", Before: 1, After: 1.04, Known: true},
		Residents: []score.Effect{{Job: "quiet", Before: 1, After: 1, Known: true}, {Job: "db-0", Before: 1.02, After: 1.08, Known: true}, {Job: "x"}},
	}
	other := &alternative{"node-3", &score.Score{Newcomer: score.Effect{After: 1.12}, Cost: 0.08}}
	k := &profile{Entry: advisor.Entry{State: advisor.Known}}
	p, _ := plugin(t, &advisor.Advisor{}, nil)
	c := p.newCycle(nil, occupancy.Resident{Namespace: "shop"})
	c.chosen = &candidate{domain: &domainState{residents: []*occupancy.Resident{
		{Namespace: "secret", Name: "quiet"}, {Namespace: "shop", Name: "db-0"}, {Namespace: "shop", Name: "x"},
	}}}
	want := "predicted 1.04× for this pod, 1.08× for shop/db-0, 1.00× for a pod of another namespace, 1 beside it not fully known, runner-up node-3 1.12× (cost +0.080)"
	if got := c.note(k, result, other); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for cost, want := range map[float64]string{0.0001: "(cost the same)", -0.05: "(cost -0.050, but other plugins preferred this node)"} {
		other.score.Cost = cost
		if got := c.note(k, result, other); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q at the end", got, want)
		}
	}
	unknown := &profile{Entry: advisor.Entry{State: advisor.Unknown, Reason: "no profile of web: onboard it"}}
	if got, want := c.note(unknown, result, other), "no prediction for this pod: no profile of web: onboard it"; got != want {
		t.Errorf("%q, want %q, without numbers", got, want)
	}
	p.watch.down.Store(true)
	if got, want := c.note(unknown, result, other), "no prediction for this pod: the resource definitions of bandmate.dev are missing"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p.watch.down.Store(false)
	long := &profile{Entry: advisor.Entry{State: advisor.Unknown, Reason: strings.Repeat("é", 2000)}}
	if got := c.note(long, result, nil); len(got) > mostNote || !strings.HasSuffix(got, "…") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-10:])
	}
}

// The whole of a placement: an event, once; the runner-up in it.
func TestPostBind(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) { a.DecisionLog = true })
	h.node("busy", "blade").add(pod("r", "reader", 1, ""))
	h.node("idle", "blade")
	newcomer := pod("web", "plain", 1, "")
	o := schedule(t, p, h, newcomer, []string{"busy", "idle"})
	if s := p.Reserve(t.Context(), o.state, newcomer, "idle"); !s.IsSuccess() {
		t.Fatal(s)
	}
	h.nodes["idle"].add(newcomer) // assumed
	p.PostBind(t.Context(), o.state, newcomer, "idle")
	p.announcer.announce(t.Context(), <-p.announcer.queue)
	want := "web Normal SlowdownPredicted: predicted 1.00× for this pod, runner-up busy 1.11× (cost +0.111)"
	if len(h.events.notes) != 1 || h.events.notes[0] != want {
		t.Errorf("%q, want %q", h.events.notes, want)
	}
}

func TestRejectedPodsAreActivated(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	h.node("n", "blade").add(pod("r", "reader", 1, ""))
	newcomer := pod("web", "plain", 1, "1.05")
	if o := schedule(t, p, h, newcomer, []string{"n"}); len(o.rejected) != 1 {
		t.Fatalf("%+v", o)
	}
	p.activate(t.Context())
	p.activate(t.Context())
	if fmt.Sprint(h.activated) != "[web]" {
		t.Errorf("%v, want web once", h.activated)
	}
	// Profiles that change during a cycle may have retried rejected pods before its Filter.
	p, h = plugin(t, advisor.New(measured(5), nil), nil)
	h.node("n", "blade").add(pod("r", "app-4", 1, ""))
	newcomer = pod("web", "app-3", 1, "1.001")
	for _, change := range []string{"none", "calibrated", "calibrated again", "replaced"} {
		retried := change == "calibrated" || change == "replaced"
		h.activated = nil
		o := schedule(t, p, h, newcomer, []string{"n"})
		switch change {
		case "calibrated", "calibrated again":
			p.watch.profiles().calibrate()
		case "replaced":
			p.watch.current.Store(p.watch.profiles().next(advisor.New(measured(5), nil)))
		}
		p.PostFilter(t.Context(), o.state, newcomer, nil)
		if len(h.activated) > 0 != retried {
			t.Errorf("%s: activated %v, want %v", change, h.activated, retried)
		}
	}
}

func TestQueueingHints(t *testing.T) {
	p, _ := plugin(t, &advisor.Advisor{}, nil)
	node := func(change func(*v1.Node)) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{
			v1alpha1.MeasuredTrafficAnnotation: `{"readBytesPerSecond":5,"writeBytesPerSecond":5,"time":"2026-11-20T12:00:00Z"}`,
		}}}
		if change != nil {
			change(n)
		}
		return n
	}
	done := pod("a", "web", 1, "")
	done.Status.Phase = v1.PodSucceeded
	for name, test := range map[string]struct {
		hint    fwk.QueueingHintFn
		was, is any
		want    fwk.QueueingHint
	}{
		"a labeled pod leaves":    {p.afterPodLeft, pod("a", "web", 1, ""), nil, fwk.Queue},
		"a pod that ended goes":   {p.afterPodLeft, done, nil, fwk.QueueSkip},
		"an unlabeled pod goes":   {p.afterPodLeft, pod("a", "", 1, ""), nil, fwk.QueueSkip},
		"a pod ends":              {p.afterPodUpdate, pod("a", "web", 1, ""), done, fwk.Queue},
		"a limit changes":         {p.afterPodUpdate, pod("a", "web", 1, "1.1"), pod("a", "web", 1, "1.2"), fwk.Queue},
		"a load changes":          {p.afterPodUpdate, demanding("a", "web", "5", ""), demanding("a", "web", "6", ""), fwk.Queue},
		"nothing of ours changes": {p.afterPodUpdate, pod("a", "web", 1, "1.1"), pod("b", "web", 1, "1.1"), fwk.QueueSkip},
		"a node changes its domain": {p.afterNodeUpdate, node(nil), node(func(n *v1.Node) {
			n.Labels[v1alpha1.MemoryDomainLabel] = "x"
		}), fwk.Queue},
		"a node is measured to carry more": {p.afterNodeUpdate, node(nil), node(func(n *v1.Node) {
			n.Annotations[v1alpha1.MeasuredTrafficAnnotation] = `{"readBytesPerSecond":9,"writeBytesPerSecond":5,"time":"2026-11-20T12:00:00Z"}`
		}), fwk.QueueSkip},
		"a node is measured to carry less": {p.afterNodeUpdate, node(nil), node(func(n *v1.Node) {
			n.Annotations[v1alpha1.MeasuredTrafficAnnotation] = `{"readBytesPerSecond":1,"writeBytesPerSecond":5,"time":"2026-11-20T12:00:00Z"}`
		}), fwk.Queue},
		"a node is measured again after its measurement expired": {p.afterNodeUpdate, node(func(n *v1.Node) {
			n.Annotations[v1alpha1.MeasuredTrafficAnnotation] = `{"readBytesPerSecond":5,"writeBytesPerSecond":5,"time":"2026-11-20T11:00:00Z"}`
		}), node(nil), fwk.Queue},
		"a node of a shared domain leaves": {afterNodeLeft, node(func(n *v1.Node) {
			n.Labels[v1alpha1.MemoryDomainLabel] = "x"
		}), nil, fwk.Queue},
		"a node with a domain of its own leaves": {afterNodeLeft, node(nil), nil, fwk.QueueSkip},
		"pods get other CPUs, without several caches": {p.afterNodeUpdate, node(nil), node(func(n *v1.Node) {
			n.Annotations[v1alpha1.ExclusiveCPUsAnnotation] = `{"a":"1"}`
		}), fwk.QueueSkip},
		"a node is as it was": {p.afterNodeUpdate, node(nil), node(nil), fwk.QueueSkip},
	} {
		if got, err := test.hint(klog.Background(), nil, test.was, test.is); err != nil || got != test.want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, test.want)
		}
	}
}

func TestDeletedNodesAreRegistered(t *testing.T) {
	p, _ := plugin(t, &advisor.Advisor{}, nil)
	events, err := p.EventsToRegister(t.Context())
	deleted := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete}
	if err != nil || !slices.ContainsFunc(events, func(e fwk.ClusterEventWithHint) bool { return e.Event == deleted && e.QueueingHintFn != nil }) {
		t.Errorf("%v, %v", events, err)
	}
}

func TestMembers(t *testing.T) {
	var deleted []string
	note := func(n string) { deleted = append(deleted, n) }
	m := &members{deleted: note, emptied: note}
	h := m.handler()
	node := func(name, domain string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.MemoryDomainLabel: domain}}}
	}
	h.OnAdd(node("a", "x"), false)
	h.OnAdd(node("b", "x"), false)
	h.OnAdd(node("c", ""), false)
	before := m.of("x")
	h.OnUpdate(node("a", "x"), node("a", "y"))
	h.OnDelete(cache.DeletedFinalStateUnknown{Obj: node("b", "x")})
	if fmt.Sprint(before, m.of("x"), m.of("y"), m.of(""), deleted) != "[a b] [] [a] [] [x b]" {
		t.Error(before, m.of("x"), m.of("y"), m.of(""), deleted)
	}
}

func TestLimitedPodsAreCounted(t *testing.T) {
	var p pods
	h := p.handler()
	limited, free := pod("a", "web", 1, "1.1"), pod("a", "web", 1, "")
	h.OnAdd(limited, false)
	if !p.anyLimit() {
		t.Error("a limit is not seen")
	}
	h.OnUpdate(limited, free)
	if p.anyLimit() {
		t.Error("a limit is still seen")
	}
	h.OnUpdate(free, limited)
	h.OnDelete(cache.DeletedFinalStateUnknown{Obj: limited})
	if p.anyLimit() {
		t.Error("the limit of a deleted pod is seen")
	}
	var deleted []types.UID
	p.deleted = func(uid types.UID) { deleted = append(deleted, uid) }
	again := pod("a", "web", 1, "")
	again.UID = "uid-again"
	h.OnAdd(limited, false)
	p.reject(limited, roleNewcomer)
	h.OnUpdate(limited, again)
	if p.anyLimit() || len(p.takeRejected()) > 0 || !slices.Equal(deleted, []types.UID{limited.UID}) {
		t.Errorf("a pod that was replaced by one of its name is remembered; deleted: %v", deleted)
	}
	h.OnUpdate(again, limited)
	if !p.anyLimit() {
		t.Error("the limit of a pod that replaced one of its name is not seen")
	}
}

// Before the pods of the first list were seen, any may have a limit; a pod that the
// handler has yet to see is seen by PreFilter.
func TestLimitsBeforeTheFirstSync(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	h.node("n", "blade").add(pod("protected", "plain", 1, "1.05"))
	synced := false
	p.pods.synced = func() bool { return synced }
	if o := schedule(t, p, h, pod("loud", "reader", 1, ""), []string{"n"}); len(o.rejected) != 1 {
		t.Error("a limit is not held before the first list")
	}
	synced = true
	schedule(t, p, h, pod("limited", "plain", 1, "1.5"), nil)
	if o := schedule(t, p, h, pod("loud", "reader", 1, ""), []string{"n"}); len(o.rejected) != 1 {
		t.Error("the limit of a pod that was scheduled is not seen")
	}
}

// A cycle that runs while the only limited pod is updated sees its limit.
func TestLimitStaysDuringUpdates(t *testing.T) {
	var p pods
	h := p.handler()
	limited := pod("a", "web", 1, "1.1")
	h.OnAdd(limited, false)
	updated := make(chan struct{})
	go func() {
		defer close(updated)
		for range 100_000 {
			h.OnUpdate(limited, limited)
		}
	}()
	for {
		if !p.anyLimit() {
			t.Fatal("no limit is seen")
		}
		select {
		case <-updated:
			return
		default:
		}
	}
}

// Whatever the API server sends becomes a profile, if need be an invalid one.
func TestTyped(t *testing.T) {
	odd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "odd", "labels": map[string]any{v1alpha1.ApplicationLabel: "web"}},
		"spec":     map[string]any{"machine": map[string]any{"name": "blade"}, "solo": "a string"},
	}}
	got, ok := typed(odd, &v1alpha1.ApplicationProfile{}).(*v1alpha1.ApplicationProfile)
	if !ok || got.Name != "odd" || got.Labels[v1alpha1.ApplicationLabel] != "web" || len(got.Validate()) == 0 {
		t.Errorf("%+v", got)
	}
	r := advisor.New([]*v1alpha1.ApplicationProfile{got}, nil)
	if e := r.Lookup("web", "blade"); e.State != advisor.Invalid {
		t.Errorf("%+v", e)
	}
}

// Without profiles the watch comes back empty-handed.
func TestWatchWithoutProfiles(t *testing.T) {
	p, _ := plugin(t, &advisor.Advisor{}, nil)
	p.watch.run(t.Context())
	if !p.watch.tried() || p.watch.profiles().advisor.Len() != 0 {
		t.Errorf("tried %v, %d profiles", p.watch.tried(), p.watch.profiles().advisor.Len())
	}
}

func TestArgsOf(t *testing.T) {
	if _, err := argsOf(pod("p", "", 0, "")); err == nil {
		t.Error("a pod is taken for arguments")
	}
	if args, err := argsOf(nil); err != nil || args.Objective != score.AddedCost {
		t.Errorf("%+v, %v", args, err)
	}
}

// The worst slowdown of a placement does not depend on the CPUs of the pod, and neither do
// the scores by it.
func TestWorstSlowdownIsThatOfAnySize(t *testing.T) {
	var first map[string]int64
	for _, cpus := range []float64{0.1, 1, 64} {
		p, h := plugin(t, table(t).Advisor(), func(a *config.BandmateArgs) { a.Objective = score.WorstSlowdown })
		h.node("busy", "blade").add(pod("r", "reader", 1, ""))
		h.node("idle", "blade")
		o := schedule(t, p, h, pod("p", "plain", cpus, ""), []string{"busy", "idle"})
		if first == nil {
			first = o.scores
		} else if fmt.Sprint(first) != fmt.Sprint(o.scores) {
			t.Errorf("%v CPUs: %v, want %v", cpus, o.scores, first)
		}
	}
}

// The event of a member of a gang knows the members that were placed before it.
func TestEventOfAGangMember(t *testing.T) {
	p, h := plugin(t, table(t).Advisor(), nil)
	n := h.node("n", "blade")
	member := func(name, app string) *v1.Pod {
		m := pod(name, app, 1, "")
		m.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("group")}
		return m
	}
	one, two := member("one", "reader"), member("two", "plain")
	assume := func(m *v1.Pod) { n.pods = append(n.pods, &fakePod{pod: m}) } // the generation stays
	o1 := schedule(t, p, h, one, []string{"n"})
	assume(one)
	p.Reserve(t.Context(), o1.state, one, "n")
	o2 := schedule(t, p, h, two, []string{"n"})
	assume(two)
	p.Reserve(t.Context(), o2.state, two, "n")
	n.pods = nil                               // all are forgotten, the last first
	p.Reserve(t.Context(), o1.state, one, "n") // and placed
	p.Reserve(t.Context(), o2.state, two, "n")
	p.PostBind(t.Context(), o2.state, two, "n")
	p.announcer.announce(t.Context(), <-p.announcer.queue)
	if !strings.Contains(h.events.notes[0], "predicted 1.11×") || !strings.Contains(h.events.notes[0], "for /one") {
		t.Error("the first member is missed")
	}
}
