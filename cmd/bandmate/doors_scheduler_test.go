package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/schedplugin"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

// wantScheduler has the plugin of the Kubernetes scheduler score a pod of every target
// on the nodes of all questions. The scores have to follow from what the server
// predicts.
func (d *doors) wantScheduler(t *testing.T, l live, table []doorAnswer) {
	server := clustertest.New(t, clustertest.Applications, clustertest.Machines)
	d.ask(t, new([]any), "apply", "--kubeconfig", server.Kubeconfig)
	h := newSchedulerHandle(t, server.Kubeconfig)
	for i, a := range table {
		h.add(node(i), a.Machine, a.Corunners)
	}
	args, err := configv1.Decode([]byte(fmt.Sprintf("exactDomains: %d", len(table))))
	if err != nil {
		t.Fatal(err)
	}
	made, err := schedplugin.New(t.Context(), args, h)
	if err != nil {
		t.Fatal(err)
	}
	plugin, ok := made.(*schedplugin.Plugin)
	if !ok {
		t.Fatalf("the plugin is a %T", made)
	}
	// Any pod may have a limit until the plugin knows all pods.
	h.informers.Start(t.Context().Done())
	for deadline := time.Now().Add(processtest.Patience); !h.skipsFilter(t, plugin) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	before := d.residentsBefore(table)
	seen := map[string]bool{}
	for _, a := range table {
		if seen[a.Target] {
			continue
		}
		seen[a.Target] = true
		want := wantedScores(t, l, table, before, a.Target)
		// The models of the memory are fitted after they are first asked for.
		var wrong string
		for deadline := time.Now().Add(processtest.Patience); ; time.Sleep(20 * time.Millisecond) {
			if wrong = wrongScores(h.scores(t, plugin, a.Target), want); wrong == "" || time.Now().After(deadline) {
				break
			}
		}
		if wrong != "" {
			t.Errorf("scheduler: %s: %s", a.Target, wrong)
		}
	}
}

// residentsBefore returns the slowdowns of the residents of every node, in their order,
// as they are without a newcomer, by each basis of a prediction with one: all of them as
// co-runners, which they stay with one.
func (d *doors) residentsBefore(table []doorAnswer) map[string][][]float64 {
	known := advisor.New(d.applications, slices.Collect(maps.Values(d.machines)))
	var workspace predictor.Workspace
	all := map[string][][]float64{}
	for _, basis := range []predictor.Basis{predictor.MemoryModel, predictor.Curves} {
		slowdowns := make([][]float64, len(table))
		for i, a := range table {
			var residents []*predictor.Application
			for _, name := range a.Corunners {
				residents = append(residents, known.Lookup(name, a.Machine).Application)
			}
			performances := workspace.MemoryCorunners(nil, residents, basis == predictor.Curves)
			workspace.Communicate(performances, residents, func(int) string { return "" })
			for _, p := range performances {
				slowdowns[i] = append(slowdowns[i], float64(p.Slowdown()))
			}
		}
		all[string(basis)] = slowdowns
	}
	return all
}

// wantedScores computes the scores of all nodes, before rounding: 100·exp(−d ÷ 10%),
// where d is the slowdown that the pod would suffer and add beyond that of the best
// node. Every pod has one CPU.
func wantedScores(t *testing.T, l live, table []doorAnswer, before map[string][][]float64, target string) []float64 {
	t.Helper()
	costs := make([]float64, len(table))
	for i, a := range table {
		answer := askServer(t, l, doorQuestion{a.Machine, target, a.Corunners})
		costs[i] = answer.Slowdown - 1
		for j, resident := range a.Corunners {
			costs[i] += answer.Neighbors[resident] - before[answer.Basis][i][j]
		}
	}
	scores := make([]float64, len(table))
	best := slices.Min(costs)
	for i, cost := range costs {
		scores[i] = 100 * math.Exp(-(cost-best)/0.1)
	}
	return scores
}

// wrongScores compares scores up to rounding and scoreAccuracy, which counts at most
// half a point: one thousandth of a slowdown is one point.
func wrongScores(got []int64, want []float64) string {
	var wrong []string
	for i := range want {
		if math.Abs(float64(got[i])-want[i]) > 1 {
			wrong = append(wrong, fmt.Sprintf("%s scores %d, predictions say %.2f", node(i), got[i], want[i]))
		}
	}
	return strings.Join(wrong, "; ")
}

// schedulerHandle is as much of a scheduler as the plugin asks for.
type schedulerHandle struct {
	fwk.Handle
	fwk.SharedLister
	fwk.NodeInfoLister
	config    *rest.Config
	informers informers.SharedInformerFactory
	nodes     []fwk.NodeInfo
}

func newSchedulerHandle(t *testing.T, kubeconfig string) *schedulerHandle {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return &schedulerHandle{config: config, informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}
}

func (h *schedulerHandle) KubeConfig() *rest.Config { return h.config }

func (h *schedulerHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }

func (h *schedulerHandle) ProfileName() string                    { return "bandmate-scheduler" }
func (h *schedulerHandle) SnapshotSharedLister() fwk.SharedLister { return h }
func (h *schedulerHandle) NodeInfos() fwk.NodeInfoLister          { return h }
func (h *schedulerHandle) List() ([]fwk.NodeInfo, error)          { return h.nodes, nil }

func (h *schedulerHandle) Get(name string) (fwk.NodeInfo, error) {
	for _, n := range h.nodes {
		if n.Node().Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %s", name)
}

// schedulerNode and schedulerPod are what a scheduler knows of a node and a pod on it.
type schedulerNode struct {
	fwk.NodeInfo
	node *v1.Node
	pods []fwk.PodInfo
}

func (n *schedulerNode) Node() *v1.Node         { return n.node }
func (n *schedulerNode) GetPods() []fwk.PodInfo { return n.pods }
func (n *schedulerNode) GetGeneration() int64   { return 1 }

type schedulerPod struct {
	fwk.PodInfo
	pod *v1.Pod
}

func (p *schedulerPod) GetPod() *v1.Pod { return p.pod }

func (h *schedulerHandle) add(name, machine string, applications []string) {
	n := &schedulerNode{node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.MachineLabel: machine}}}}
	for i, application := range applications {
		n.pods = append(n.pods, &schedulerPod{pod: podOf(fmt.Sprintf("%s-%d", name, i), application)})
	}
	h.nodes = append(h.nodes, n)
}

func podOf(name, application string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1alpha1.ApplicationLabel: application}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
	}
}

// schedulerState is the state of a cycle.
type schedulerState struct {
	fwk.CycleState
	data map[fwk.StateKey]fwk.StateData
}

func (s *schedulerState) Write(k fwk.StateKey, d fwk.StateData) { s.data[k] = d }
func (s *schedulerState) Read(k fwk.StateKey) (fwk.StateData, error) {
	if d, ok := s.data[k]; ok {
		return d, nil
	}
	return nil, fwk.ErrNotFound
}

// skipsFilter reports whether the plugin has nothing to filter for a pod.
func (h *schedulerHandle) skipsFilter(t *testing.T, p *schedplugin.Plugin) bool {
	t.Helper()
	state := &schedulerState{data: map[fwk.StateKey]fwk.StateData{}}
	_, status := p.PreFilter(t.Context(), state, podOf("newcomer", "any"), h.nodes)
	return status.IsSkip()
}

// scores takes a pod through the extension points that score, as the framework does.
func (h *schedulerHandle) scores(t *testing.T, p *schedplugin.Plugin, application string) []int64 {
	t.Helper()
	ctx, pod := t.Context(), podOf("newcomer", application)
	state := &schedulerState{data: map[fwk.StateKey]fwk.StateData{}}
	// Filter has nothing to do: no pod has a limit.
	if _, status := p.PreFilter(ctx, state, pod, h.nodes); !status.IsSkip() {
		t.Fatalf("PreFilter: %v", status)
	}
	if status := p.PreScore(ctx, state, pod, h.nodes); !status.IsSuccess() {
		t.Fatalf("PreScore: %v", status)
	}
	var list fwk.NodeScoreList
	for _, n := range h.nodes {
		s, status := p.Score(ctx, state, pod, n)
		if !status.IsSuccess() {
			t.Fatalf("Score: %v", status)
		}
		list = append(list, fwk.NodeScore{Name: n.Node().Name, Score: s})
	}
	if status := p.ScoreExtensions().NormalizeScore(ctx, state, pod, list); !status.IsSuccess() {
		t.Fatalf("NormalizeScore: %v", status)
	}
	scores := make([]int64, len(list))
	for i, s := range list {
		scores[i] = s.Score
	}
	return scores
}
