package schedplugin

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/schedplugin/config"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
	"bandmate.dev/bandmate/schedplugin/view"
)

// fakeNode is as much of a NodeInfo as the plugin uses.
type fakeNode struct {
	fwk.NodeInfo
	node       *v1.Node
	pods       []fwk.PodInfo
	generation int64
}

func (n *fakeNode) Node() *v1.Node         { return n.node }
func (n *fakeNode) GetPods() []fwk.PodInfo { return n.pods }
func (n *fakeNode) GetGeneration() int64   { return n.generation }

type fakePod struct {
	fwk.PodInfo
	pod *v1.Pod
}

func (p *fakePod) GetPod() *v1.Pod { return p.pod }

// add puts a pod on the node, as the scheduler's cache does when it assumes one.
func (n *fakeNode) add(pods ...*v1.Pod) {
	for _, p := range pods {
		n.pods = append(n.pods, &fakePod{pod: p})
	}
	n.generation++
}

// fakeHandle is a scheduler's snapshot and what a plugin does to the scheduler.
type fakeHandle struct {
	fwk.Handle
	fwk.SharedLister
	fwk.NodeInfoLister
	nodes     map[string]*fakeNode
	names     []string // of nodes, some of which may be gone
	events    *fakeRecorder
	activated []string
}

func (h *fakeHandle) SnapshotSharedLister() fwk.SharedLister    { return h }
func (h *fakeHandle) NodeInfos() fwk.NodeInfoLister             { return h }
func (h *fakeHandle) EventRecorder() events.EventRecorderLogger { return h.events }
func (h *fakeHandle) Get(name string) (fwk.NodeInfo, error) {
	if n := h.nodes[name]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("no node %s", name)
}

// List returns the nodes in the order in which they came.
func (h *fakeHandle) List() ([]fwk.NodeInfo, error) {
	var list []fwk.NodeInfo
	for _, name := range h.names {
		if n := h.nodes[name]; n != nil {
			list = append(list, n)
		}
	}
	return list, nil
}

func (h *fakeHandle) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	for _, p := range pods {
		h.activated = append(h.activated, p.Name)
	}
}

type fakeRecorder struct {
	events.EventRecorderLogger
	mutex sync.Mutex
	notes []string
}

func (r *fakeRecorder) Eventf(o, _ runtime.Object, kind, reason, _, note string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	name := ""
	if p, ok := o.(*v1.Pod); ok {
		name = p.Name
	}
	r.notes = append(r.notes, fmt.Sprintf("%s %s %s: ", name, kind, reason)+fmt.Sprintf(note, args...))
}

type fakeState struct {
	fwk.CycleState
	data map[fwk.StateKey]fwk.StateData
}

func (s *fakeState) Read(k fwk.StateKey) (fwk.StateData, error) {
	if d, ok := s.data[k]; ok {
		return d, nil
	}
	return nil, fwk.ErrNotFound
}
func (s *fakeState) Write(k fwk.StateKey, d fwk.StateData) { s.data[k] = d }

func newState() *fakeState { return &fakeState{data: map[fwk.StateKey]fwk.StateData{}} }

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// plugin makes one that listens to nothing and knows the profiles of r.
func plugin(t testing.TB, r *advisor.Advisor, change func(*config.BandmateArgs)) (*Plugin, *fakeHandle) {
	t.Helper()
	args, err := configv1.Decode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(args)
	}
	h := &fakeHandle{nodes: map[string]*fakeNode{}, events: &fakeRecorder{}}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := newInstruments()
	metrics.NewKubeRegistry().MustRegister(m.all()...) // a metric counts once it is registered
	p, err := newPlugin(args, h, fake.NewSimpleDynamicClient(scheme), m)
	if err != nil {
		t.Fatal(err)
	}
	p.now = func() time.Time { return noon }
	p.watch.current.Store(newProfiles(r))
	return p, h
}

func table(t testing.TB) *scoretest.Table {
	t.Helper()
	text, err := os.ReadFile("../predictor/score/testdata/situations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := scoretest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func (h *fakeHandle) node(name, machine string) *fakeNode {
	n := &fakeNode{node: &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1alpha1.MachineLabel: machine}, Annotations: map[string]string{},
	}}}
	if h.nodes[name] == nil {
		h.names = append(h.names, name)
	}
	h.nodes[name] = n
	return n
}

func pod(name, application string, cpus float64, limit string) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
	}
	if application != "" {
		p.Labels[v1alpha1.ApplicationLabel] = application
	}
	if limit != "" {
		p.Annotations[v1alpha1.MaxSlowdownAnnotation] = limit
	}
	if cpus > 0 {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(cpus*1000), resource.DecimalSI)}
	}
	return p
}

// runs makes a pod one that has run since then.
func runs(p *v1.Pod, since time.Time) *v1.Pod {
	p.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: since}}
	return p
}

func resident(p *v1.Pod) occupancy.Resident {
	r, _ := view.ReadPod(p)
	return r
}

// outcome is what a cycle decided.
type outcome struct {
	state    *fakeState
	skipped  bool
	rejected map[string]string // by node
	scores   map[string]int64
}

// schedule runs a pod through the extension points as the framework does, over
// all nodes in the order of names.
func schedule(t testing.TB, p *Plugin, h *fakeHandle, newcomer *v1.Pod, names []string) outcome {
	t.Helper()
	ctx := context.Background()
	o := outcome{state: newState(), rejected: map[string]string{}, scores: map[string]int64{}}
	_, status := p.PreFilter(ctx, o.state, newcomer, nil)
	if status.IsRejected() {
		for _, name := range names {
			o.rejected[name] = status.Message()
		}
		return o
	}
	var feasible []fwk.NodeInfo
	for _, name := range names {
		if !status.IsSkip() {
			if s := p.Filter(ctx, o.state, newcomer, h.nodes[name]); !s.IsSuccess() {
				o.rejected[name] = s.Message()
				continue
			}
		}
		feasible = append(feasible, h.nodes[name])
	}
	if s := p.PreScore(ctx, o.state, newcomer, feasible); s.IsSkip() {
		o.skipped = true
		return o
	}
	var list fwk.NodeScoreList
	for _, n := range feasible {
		s, status := p.Score(ctx, o.state, newcomer, n)
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		list = append(list, fwk.NodeScore{Name: n.Node().Name, Score: s})
	}
	if s := p.NormalizeScore(ctx, o.state, newcomer, list); !s.IsSuccess() {
		t.Fatal(s)
	}
	for _, s := range list {
		if s.Score < fwk.MinScore || s.Score > fwk.MaxScore {
			t.Errorf("%s scores %d", s.Name, s.Score)
		}
		o.scores[s.Name] = s.Score
	}
	return o
}
