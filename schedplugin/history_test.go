package schedplugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/units"
)

// history is a cluster that changes at random, and a plugin that has followed it.
type history struct {
	*rand.Rand
	t            *testing.T
	change       func(*config.BandmateArgs)
	p            *Plugin
	h            *fakeHandle
	now          time.Time
	count        int64 // of generations and of names of pods
	applications map[string]*v1alpha1.ApplicationProfile
	machines     map[string]*v1alpha1.MachineProfile
	known        *advisor.Advisor // of these profiles; nil after they changed
	// all are the profiles that the cluster may have. names has the labels of its pods, some
	// of which no profile belongs to.
	all   profileSet
	names []string
}

// profileSet is of applications and machines.
type profileSet struct {
	// steady profiles seldom change, because fitting the model of a cache takes long.
	steady       bool
	applications []*v1alpha1.ApplicationProfile
	machines     []*v1alpha1.MachineProfile
}

// The plugin answers by the present state of the cluster alone, however that came about, and
// as the advisor does.
func TestHistoryDoesNotMatter(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 5 // the race detector makes fits slow
	}
	services := profileSet{applications: append(measured(4), serviceProfile("redis")), machines: table(t).Machines}
	for seed, test := range []struct {
		profiles profileSet
		change   func(*config.BandmateArgs)
	}{
		{services, func(*config.BandmateArgs) {}},
		{services, func(a *config.BandmateArgs) { a.UnknownApplications, a.ExactDomains = score.Avoid, 2 }},
		{services, func(a *config.BandmateArgs) {
			a.UnknownApplications, a.AssumedBandwidth, a.AssumedReadShare = score.Assume, 3e9, 0.7
			a.Objective, a.UnlabeledPods = score.WorstSlowdown, config.UnlabeledUnknown
		}},
		{services, func(a *config.BandmateArgs) {
			a.UnverifiableLimits, a.ProtectLimits = config.UnverifiableRejected, true
		}},
		{sharedCaches(t), func(a *config.BandmateArgs) {
			a.UnknownApplications, a.ExactDomains, a.ProtectLimits = score.Avoid, 6, true
		}},
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if test.profiles.steady && testing.Short() {
				t.Skip("the race detector makes the fits of caches ten times slower, 200 s; go test without -short runs this")
			}
			change := test.change
			w := &history{
				Rand: rand.New(rand.NewPCG(uint64(seed), 0)), t: t, change: change, now: noon, all: test.profiles,
				applications: map[string]*v1alpha1.ApplicationProfile{}, machines: map[string]*v1alpha1.MachineProfile{},
				names: []string{"nobody", ""},
			}
			w.p, w.h = plugin(t, &advisor.Advisor{}, change)
			w.p.now = func() time.Time { return w.now }
			for _, m := range w.all.machines {
				w.machine(m)
			}
			for _, p := range w.all.applications {
				w.application(p)
				w.names = append(w.names, p.Name, p.Name)
			}
			for range 4 {
				w.addNode()
			}
			rounds := rounds
			if w.all.steady {
				rounds = 12 // exact scores with caches take longer, too
			}
			for range rounds {
				for range 1 + w.IntN(4) {
					w.step()
				}
				if w.all.steady {
					for range 3 {
						_, n := w.anyNode()
						w.giveCPUs(n)
					}
				}
				w.p.watch.rebuild()
				w.check()
			}
		})
	}
}

// step changes something. Half of the time a pod is scheduled afterward.
func (w *history) step() {
	name, n := w.anyNode()
	switch w.IntN(16) {
	case 0:
		w.addNode()
	case 1:
		if len(w.h.nodes) > 2 {
			w.removeNode(name)
		}
	case 2, 3, 4:
		w.relabel(n)
	case 5, 6, 7, 8:
		w.addPod(n)
	case 9:
		if len(n.pods) > 0 {
			w.removePod(n, w.IntN(len(n.pods)))
			n.generation = w.next()
		}
	case 10, 11:
		w.changePod(n)
	case 12: // two members of a group are assumed between two syncs, and one is forgotten
		for range 2 {
			member := w.pod()
			member.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("group")}
			w.p.pods.handler().OnAdd(member, false)
			n.pods = append(n.pods, &fakePod{pod: member})
			w.schedule()
		}
		w.removePod(n, len(n.pods)-1-w.IntN(2))
	case 13:
		if !w.all.steady || w.IntN(5) == 0 {
			w.changeProfile()
		}
	case 14, 15:
		w.now = w.now.Add(time.Duration(w.IntN(90)) * time.Second)
	}
	if w.IntN(2) == 0 {
		w.schedule()
	}
}

func (w *history) addPod(n *fakeNode) {
	p := w.pod()
	w.p.pods.handler().OnAdd(p, false)
	n.add(p)
	n.generation = w.next()
}

func (w *history) next() int64 {
	w.count++
	return w.count
}

// schedule runs a pod through the plugin, which is then deleted.
func (w *history) schedule() {
	newcomer := w.pod()
	schedule(w.t, w.p, w.h, newcomer, slices.Sorted(maps.Keys(w.h.nodes)))
	w.p.pods.handler().OnDelete(newcomer)
}

func (w *history) anyNode() (string, *fakeNode) {
	names := slices.Sorted(maps.Keys(w.h.nodes))
	name := names[w.IntN(len(names))]
	return name, w.h.nodes[name]
}

// addNode adds a node, perhaps in the place of one of the same name.
func (w *history) addNode() {
	name := fmt.Sprint("node-", w.IntN(6))
	w.removeNode(name)
	n := w.h.node(name, "blade")
	n.generation = w.next()
	w.p.members.handler().OnAdd(n.node, false)
	w.relabel(n)
}

func (w *history) removeNode(name string) {
	n := w.h.nodes[name]
	if n == nil {
		return
	}
	delete(w.h.nodes, name)
	for _, pod := range n.pods {
		w.p.pods.handler().OnDelete(pod.GetPod())
	}
	w.p.members.handler().OnDelete(n.node)
}

// sharedCaches are profiles of applications that fill caches, and of machines with two of them.
func sharedCaches(t *testing.T) profileSet {
	t.Helper()
	d, err := evaluation.Read(os.DirFS("../predictor/testdata/simulated/llc-ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	few := evaluation.Options{ReadShares: []units.ReadShare{0.5, 1}, Levels: []float64{0.25, 0.5, 0.75, 1}} // so that fits are fast
	applications, m, err := scoretest.CacheProfiles(d, few, "blade", "0-3", "4-7")
	if err != nil {
		t.Fatal(err)
	}
	return profileSet{steady: true, applications: applications, machines: []*v1alpha1.MachineProfile{m, table(t).Machines[1]}}
}

// relabel changes the memory domain, the machine or the measured traffic of a node.
func (w *history) relabel(n *fakeNode) {
	before := n.node
	n.node = before.DeepCopy()
	domains, machines := []string{"", "pool", "lake"}, []string{"", "blade", "blade", "twin", "unheard-of"}
	if w.all.steady { // only blades that share no memory have caches that are known
		domains, machines = []string{"", "", "", "pool"}, []string{"", "blade", "blade", "blade", "blade", "blade", "twin"}
	}
	switch w.IntN(3) {
	case 0:
		n.node.Labels[v1alpha1.MemoryDomainLabel] = domains[w.IntN(len(domains))]
	case 1:
		n.node.Labels[v1alpha1.MachineLabel] = machines[w.IntN(len(machines))]
	case 2:
		delete(n.node.Annotations, v1alpha1.MeasuredTrafficAnnotation)
		if w.IntN(2) == 0 {
			at := w.now.Add(time.Duration(w.IntN(300)-120) * time.Second)
			n.node.Annotations[v1alpha1.MeasuredTrafficAnnotation] = fmt.Sprintf(
				`{"readBytesPerSecond":%d,"writeBytesPerSecond":0,"time":%q}`, w.IntN(9)*1e9, at.Format(time.RFC3339))
		}
	}
	n.generation = w.next()
	w.p.members.handler().OnUpdate(before, n.node)
}

// giveCPUs changes the CPUs that pods of a node have for themselves. It adds pods to a node
// with less than three.
func (w *history) giveCPUs(n *fakeNode) {
	for len(n.pods) < 3 {
		w.addPod(n)
	}
	before := n.node
	n.node = before.DeepCopy()
	delete(n.node.Annotations, v1alpha1.ExclusiveCPUsAnnotation)
	if w.IntN(4) > 0 {
		n.node.Annotations[v1alpha1.ExclusiveCPUsAnnotation] = w.exclusive(n)
	}
	n.generation = w.next()
	w.p.members.handler().OnUpdate(before, n.node)
}

// exclusive returns an annotation that gives some pods of a node CPUs of one cache or of both,
// and sometimes a pod that has left.
func (w *history) exclusive(n *fakeNode) string {
	lists := map[string]string{}
	for _, pod := range n.pods {
		if w.IntN(3) > 0 {
			lists[string(pod.GetPod().UID)] = []string{"0-3", "4-7", "4-5", "3-4", "99"}[w.IntN(5)]
		}
	}
	if w.IntN(4) == 0 {
		lists["uid-gone"] = "0-3"
	}
	text, err := json.Marshal(lists)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *history) pod() *v1.Pod { return w.podNamed(fmt.Sprint("pod-", w.next())) }

// podNamed makes a pod of any kind.
func (w *history) podNamed(name string) *v1.Pod {
	limit := ""
	if w.IntN(3) == 0 {
		limit = fmt.Sprintf("%.2f", 1+0.2*w.Float64())
	}
	p := pod(name, w.names[w.IntN(len(w.names))], float64(w.IntN(4)), limit)
	for _, annotation := range [][2]string{
		{v1alpha1.LoadAnnotation, fmt.Sprint(200 + 300*w.IntN(3))},
		{v1alpha1.MaxP99Annotation, fmt.Sprint(10+w.IntN(20), "ms")},
		{v1alpha1.NUMANodeAnnotation, fmt.Sprint(w.IntN(2))},
	} {
		if w.IntN(8) == 0 {
			p.Annotations[annotation[0]] = annotation[1]
		}
	}
	if w.IntN(2) == 0 {
		runs(p, w.now.Add(-time.Duration(w.IntN(200))*time.Second))
	}
	return p
}

// removePod puts the last pod in the place of the removed one, as the scheduler does.
func (w *history) removePod(n *fakeNode, i int) {
	w.p.pods.handler().OnDelete(n.pods[i].GetPod())
	last := len(n.pods) - 1
	n.pods = slices.Clone(n.pods)
	n.pods[i] = n.pods[last]
	n.pods = n.pods[:last]
}

func (w *history) changePod(n *fakeNode) {
	if len(n.pods) == 0 {
		return
	}
	i := w.IntN(len(n.pods))
	before := n.pods[i].GetPod()
	after := w.podNamed(before.Name)
	if w.IntN(5) == 0 {
		after.Status.Phase = v1.PodSucceeded
	}
	w.p.pods.handler().OnUpdate(before, after)
	n.pods = slices.Clone(n.pods)
	n.pods[i] = &fakePod{pod: after}
	n.generation = w.next()
}

// changeProfile replaces, adds or deletes the profile of an application or a machine.
func (w *history) changeProfile() {
	p := w.all.applications[w.IntN(len(w.all.applications))].DeepCopy()
	m := w.all.machines[w.IntN(len(w.all.machines))].DeepCopy()
	p.Spec.Contentiousness.ReadBytesPerSecond *= 1 + w.Float64()
	m.Spec.Sustained[0].BytesPerSecond *= 1 + w.Float64()
	switch w.IntN(6) {
	case 0, 1, 2:
		w.application(p)
	case 3:
		w.machine(m)
	case 4:
		delete(w.applications, p.Name)
		w.changed(w.p.watch.informers[applicationResource].GetStore().Delete(p))
	case 5:
		delete(w.machines, m.Name)
		w.changed(w.p.watch.informers[machineResource].GetStore().Delete(m))
	}
}

func (w *history) application(p *v1alpha1.ApplicationProfile) {
	w.applications[p.Name] = p
	w.changed(w.p.watch.informers[applicationResource].GetStore().Add(p))
}

func (w *history) machine(m *v1alpha1.MachineProfile) {
	w.machines[m.Name] = m
	w.changed(w.p.watch.informers[machineResource].GetStore().Add(m))
}

func (w *history) changed(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
	w.known = nil
	w.p.watch.changed.Store(true)
}

// fresh returns a plugin that was given the present state alone.
func (w *history) fresh() (*Plugin, *fakeHandle) {
	if w.known == nil {
		w.known = advisor.New(slices.Collect(maps.Values(w.applications)), slices.Collect(maps.Values(w.machines)))
	}
	p, h := plugin(w.t, w.known, w.change)
	p.now = func() time.Time { return w.now }
	for name, n := range w.h.nodes {
		h.names = append(h.names, name)
		h.nodes[name] = &fakeNode{node: n.node, pods: slices.Clone(n.pods)}
		p.members.handler().OnAdd(n.node, false)
		for _, resident := range n.pods {
			p.pods.handler().OnAdd(resident.GetPod(), false)
		}
	}
	return p, h
}

// check compares the plugin with a fresh one, and its answers with the advisor's.
func (w *history) check() {
	fresh, h := w.fresh()
	names := slices.Sorted(maps.Keys(w.h.nodes))
	for range 3 {
		newcomer := w.pod()
		_, n := w.anyNode()
		// Preemption tries the node without a pod, and with one that is nominated.
		tried := &fakeNode{node: n.node, pods: slices.Clone(n.pods[min(len(n.pods), w.IntN(2)):]), generation: w.next()}
		if w.IntN(2) == 0 {
			tried.pods = append(tried.pods, &fakePod{pod: w.pod()})
		}
		now, nowTried := answer(w.t, w.p, w.h, newcomer, names, tried)
		want, wantTried := answer(w.t, fresh, h, newcomer, names, tried)
		if now.skipped != want.skipped || !reflect.DeepEqual(now.rejected, want.rejected) || !reflect.DeepEqual(now.scores, want.scores) || nowTried != wantTried {
			w.t.Fatalf("%v %v: %v %v %v %s, a plugin without a history says %v %v %v %s", newcomer.Labels, newcomer.Annotations,
				now.skipped, now.rejected, now.scores, nowTried, want.skipped, want.rejected, want.scores, wantTried)
		}
		if a, b := cycleOf(now.state), cycleOf(want.state); a != nil && a.refused.note() != b.refused.note() {
			w.t.Fatalf("%q, a plugin without a history says %q", a.refused.note(), b.refused.note())
		}
		if !now.skipped {
			w.ask(newcomer, &now)
		}
	}
}

// answer schedules a pod and deletes it. It says what Filter said of a node as it is tried.
// The first time it only learns which profiles to calibrate.
func answer(t *testing.T, p *Plugin, h *fakeHandle, newcomer *v1.Pod, names []string, tried fwk.NodeInfo) (o outcome, said string) {
	t.Helper()
	for range 2 {
		st := newState()
		p.PreFilter(t.Context(), st, newcomer, nil)
		said = fmt.Sprint(p.Filter(t.Context(), st, newcomer, tried))
		o = schedule(t, p, h, newcomer, names)
		for range 2 { // services are made of what the first time calibrates
			p.watch.profiles().calibrate()
		}
	}
	p.pods.handler().OnDelete(newcomer)
	return o, said
}
