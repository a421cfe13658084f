package view_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/schedplugin/config"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/service"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func table(t *testing.T) *scoretest.Table {
	t.Helper()
	text, err := os.ReadFile("../../predictor/score/testdata/situations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := scoretest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func arguments(t *testing.T, change func(*config.BandmateArgs)) *config.BandmateArgs {
	t.Helper()
	args, err := configv1.Decode(nil)
	if err != nil {
		t.Fatal(err)
	}
	change(args)
	return args
}

func pod(name, node, application string, cpus float64, annotations ...string) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(node + "/" + name), Annotations: map[string]string{}},
		Spec:       v1.PodSpec{NodeName: node, Containers: []v1.Container{{}}},
	}
	if application != "" {
		p.Labels = map[string]string{v1alpha1.ApplicationLabel: application}
	}
	if cpus > 0 {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(cpus*1000), resource.DecimalSI)}
	}
	for i := 0; i < len(annotations); i += 2 {
		p.Annotations[annotations[i]] = annotations[i+1]
	}
	return p
}

func nodeWith(name string, pairs ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == v1alpha1.MeasuredTrafficAnnotation {
			n.Annotations[pairs[i]] = pairs[i+1]
		} else {
			n.Labels[pairs[i]] = pairs[i+1]
		}
	}
	return n
}

// The verdicts are those that every other door gives.
func TestSituations(t *testing.T) {
	table := table(t)
	known := table.Advisor()
	for _, s := range table.Situations {
		t.Run(s.Name, func(t *testing.T) {
			args := arguments(t, func(a *config.BandmateArgs) {
				a.UnlabeledPods = config.UnlabeledUnknown
				if s.Objective != "" {
					a.Objective = s.Objective
				}
				if s.Unknown != "" {
					a.UnknownApplications = s.Unknown
				}
				if s.Assumed != nil {
					traffic, err := s.Assumed.Units()
					if err != nil {
						t.Fatal(err)
					}
					share, _ := traffic.ReadShare()
					a.AssumedBandwidth, a.AssumedReadShare = traffic.Total(), share
				}
			})
			cluster, err := view.New(args, known, noon)
			if err != nil {
				t.Fatal(err)
			}
			fill(t, cluster, s.Domains)
			newcomer, faults := view.ReadPod(jobPod("newcomer", "", s.Newcomer))
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			verdicts, err := cluster.Rank(newcomer)
			if err != nil {
				t.Fatal(err)
			}
			var got []score.Score
			for _, v := range verdicts {
				got = append(got, v.Score)
			}
			// The table's order of equals is its own.
			slices.SortStableFunc(got, func(a, b score.Score) int {
				if c := score.Compare(a, b); c != 0 {
					return c
				}
				return place(s.Domains, a.Domain) - place(s.Domains, b.Domain)
			})
			if faults := s.Check(got); faults != "" {
				t.Error(faults)
			}
		})
	}
}

func place(domains []scoretest.Domain, name string) int {
	return slices.IndexFunc(domains, func(d scoretest.Domain) bool { return d.Name == name })
}

func jobPod(name, node string, j scoretest.Job) *v1.Pod {
	p := pod(name, node, j.Application, j.CPUs)
	if j.Limit != 0 {
		p.Annotations[v1alpha1.MaxSlowdownAnnotation] = strconv.FormatFloat(float64(j.Limit), 'f', -1, 64)
	}
	return p
}

func fill(t *testing.T, cluster *view.Cluster, domains []scoretest.Domain) {
	t.Helper()
	for _, d := range domains {
		n := nodeWith(d.Name, v1alpha1.MachineLabel, d.Machine)
		if d.Measured != nil {
			traffic, err := d.Measured.Units()
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(v1alpha1.MeasuredTraffic{
				ReadBytesPerSecond: float64(traffic.Read), WriteBytesPerSecond: float64(traffic.Write), Time: metav1.NewTime(noon),
			})
			if err != nil {
				t.Fatal(err)
			}
			n.Annotations[v1alpha1.MeasuredTrafficAnnotation] = string(text)
		}
		cluster.AddNode(n)
		for _, r := range d.Residents {
			p := jobPod(r.Application, d.Name, r)
			p.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: noon.Add(-time.Hour)}}
			cluster.AddPod(p)
		}
	}
	if len(cluster.Warnings) > 0 {
		t.Error(cluster.Warnings)
	}
}

func names(v view.Verdict) string {
	var all []string
	for _, r := range v.Residents {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

// Whom a pod would meet.
func TestWhoMeetsWhom(t *testing.T) {
	cluster, err := view.New(arguments(t, func(*config.BandmateArgs) {}), table(t).Advisor(), noon)
	if err != nil {
		t.Fatal(err)
	}
	cluster.AddNode(nodeWith("alone"))
	cluster.AddNode(nodeWith("left", v1alpha1.MemoryDomainLabel, "pool"))
	cluster.AddNode(nodeWith("right", v1alpha1.MemoryDomainLabel, "pool"))
	cluster.AddNode(nodeWith("pool"))
	numa := v1alpha1.NUMANodeAnnotation
	done := pod("done", "alone", "plain", 1)
	done.Status.Phase = v1.PodSucceeded
	for _, p := range []*v1.Pod{
		pod("zero", "alone", "plain", 1, numa, "0"), pod("one", "alone", "plain", 1, numa, "1"), pod("any", "alone", "plain", 1),
		pod("unlabeled", "alone", "", 1), done, pod("elsewhere", "gone", "plain", 1),
		pod("l", "left", "plain", 1, numa, "0"), pod("r", "right", "plain", 1, numa, "1"), pod("p", "pool", "plain", 1),
	} {
		cluster.AddPod(p)
	}
	tests := []struct {
		name, node string
		newcomer   *v1.Pod
		want       string
	}{
		{"anywhere on a node", "alone", pod("n", "", "plain", 1), "zero one any"},
		{"a NUMA node", "alone", pod("n", "", "plain", 1, numa, "0"), "zero any"},
		{"a NUMA node by label", "alone", func() *v1.Pod {
			p := pod("n", "", "plain", 1)
			p.Labels[numa] = "1"
			return p
		}(), "one any"},
		{"a pool", "left", pod("n", "", "plain", 1), "l r"},
		{"a NUMA node of a pool", "left", pod("n", "", "plain", 1, numa, "1"), "r"},
		{"a node named as a pool", "pool", pod("n", "", "plain", 1), "p"},
		{"itself", "alone", pod("one", "alone", "plain", 1), "zero any"},
	}
	for _, tt := range tests {
		newcomer, faults := view.ReadPod(tt.newcomer)
		v, ok, err := cluster.Judge(newcomer, tt.node)
		if err != nil || !ok || len(faults) > 0 {
			t.Fatal(faults, ok, err)
		}
		if got := names(v); got != tt.want {
			t.Errorf("%s: meets %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, ok, _ := cluster.Judge(occupancy.Resident{}, "gone"); ok {
		t.Error("a verdict on a node that is none")
	}
}

// A limit that cannot be checked keeps a pod from a node where the scheduler is told so.
func TestUnverifiableLimit(t *testing.T) {
	known := table(t).Advisor()
	node := func(name string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.MachineLabel: "blade"}}}
	}
	for policy, want := range map[config.UnverifiablePolicy]string{config.UnverifiableIgnored: "", config.UnverifiableRejected: "the traffic of default/stranger is not known"} {
		cluster, err := view.New(arguments(t, func(a *config.BandmateArgs) { a.UnverifiableLimits = policy }), known, noon)
		if err != nil {
			t.Fatal(err)
		}
		cluster.AddNode(node("a"))
		cluster.AddNode(node("b"))
		cluster.AddPod(pod("stranger", "a", "nobody-knows", 1))
		newcomer := occupancy.Resident{Name: "tender", Application: "tender", CPUs: 1, Limit: 1.1}
		ranked, err := cluster.Rank(newcomer)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range ranked {
			expected := ""
			if v.Node == "a" {
				expected = want
			}
			if v.Unverifiable != expected || v.Rejected() != (expected != "") {
				t.Errorf("%s, node %s: rejected %v, %q; want %q", policy, v.Node, v.Rejected(), v.Unverifiable, expected)
			}
		}
		if want != "" && ranked[0].Node != "b" {
			t.Errorf("%s is the best node", ranked[0].Node)
		}
		serving := occupancy.Resident{Name: "tender", Application: "tender", CPUs: 1, Demand: service.Demand{Load: 5}}
		if _, err := cluster.Rank(serving); err != nil {
			t.Fatal(err)
		}
		unchecked := []string{"limits of this pod cannot be checked on a, and perhaps others: the profile of this pod has no load sweep: onboard it with --service"}
		if want != "" { // the verdicts say so
			unchecked = nil
		}
		if diff := cmp.Diff(unchecked, cluster.Warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", policy, diff)
		}
		newcomer.Limit = 0
		if v, _, err := cluster.Judge(newcomer, "a"); err != nil || v.Rejected() {
			t.Errorf("without a limit: rejected %v, %v", v.Rejected(), err)
		}
	}
}

func TestWarnings(t *testing.T) {
	cluster, err := view.New(arguments(t, func(*config.BandmateArgs) {}), advisor.New(nil, nil), noon)
	if err != nil {
		t.Fatal(err)
	}
	measured := func(at time.Time) string {
		return fmt.Sprintf(`{"readBytesPerSecond":1,"writeBytesPerSecond":1,"time":%q}`, at.Format(time.RFC3339))
	}
	cluster.AddNode(nodeWith("fresh", v1alpha1.MeasuredTrafficAnnotation, measured(noon.Add(-time.Minute))))
	cluster.AddNode(nodeWith("stale", v1alpha1.MeasuredTrafficAnnotation, measured(noon.Add(-time.Hour))))
	cluster.AddNode(nodeWith("future", v1alpha1.MeasuredTrafficAnnotation, measured(noon.Add(time.Hour))))
	cluster.AddNode(nodeWith("odd", v1alpha1.MeasuredTrafficAnnotation, "lots"))
	cluster.AddPod(pod("p", "fresh", "plain", 1, v1alpha1.MaxSlowdownAnnotation, "fast", v1alpha1.NUMANodeAnnotation, "first"))
	var got []string
	for _, w := range cluster.Warnings {
		got = append(got, strings.Join(strings.Fields(w)[:3], " "))
	}
	want := []string{"node stale: the", "node future: the", "node odd: bandmate.dev/measured-traffic", "pod default/p: bandmate.dev/max-slowdown", "pod default/p: bandmate.dev/numa-node"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	v, _, err := cluster.Judge(occupancy.Resident{Application: "plain", CPUs: 1}, "fresh")
	if err != nil || v.Background == nil || v.Newcomer.State != advisor.Unknown {
		t.Errorf("%+v, %v", v, err)
	}
}

// A pod that waits for its images does not run yet.
func TestRunningSince(t *testing.T) {
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(after)} }
	started := func(after time.Duration) v1.ContainerStatus {
		return v1.ContainerStatus{State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: *at(after)}}}
	}
	again := started(time.Hour)
	again.RestartCount = 1
	for name, test := range map[string]struct {
		status v1.PodStatus
		want   time.Time
	}{
		"assumed":               {v1.PodStatus{}, time.Time{}},
		"waiting for its image": {v1.PodStatus{Phase: v1.PodPending, StartTime: at(0)}, time.Time{}},
		"running":               {v1.PodStatus{Phase: v1.PodRunning, StartTime: at(0)}, noon},
		"its last container": {v1.PodStatus{
			Phase: v1.PodRunning, StartTime: at(0),
			ContainerStatuses: []v1.ContainerStatus{started(2 * time.Minute), started(time.Minute), {}},
		}, noon.Add(2 * time.Minute)},
		"a container that was started again": {v1.PodStatus{
			Phase: v1.PodRunning, StartTime: at(0), ContainerStatuses: []v1.ContainerStatus{started(time.Minute), again},
		}, noon.Add(time.Minute)},
	} {
		if got, _ := view.ReadPod(&v1.Pod{Status: test.status}); !got.Since.Equal(test.want) {
			t.Errorf("%s: since %v, want %v", name, got.Since, test.want)
		}
	}
}

func TestRequestedCPUs(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	container := func(cpu string) v1.Container {
		return v1.Container{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}
	}
	sidecar := container("1")
	sidecar.RestartPolicy = &always
	tests := []struct {
		name string
		spec v1.PodSpec
		want float64
	}{
		{"nothing requested", v1.PodSpec{Containers: []v1.Container{{}}}, 1},
		{"containers", v1.PodSpec{Containers: []v1.Container{container("500m"), container("2")}}, 2.5},
		{"a large init container", v1.PodSpec{InitContainers: []v1.Container{container("4")}, Containers: []v1.Container{container("1")}}, 4},
		{"a sidecar", v1.PodSpec{InitContainers: []v1.Container{sidecar, container("4")}, Containers: []v1.Container{container("1")}}, 5},
	}
	for _, tt := range tests {
		if got, _ := view.ReadPod(&v1.Pod{Spec: tt.spec}); got.CPUs != tt.want {
			t.Errorf("%s: %v CPUs, want %v", tt.name, got.CPUs, tt.want)
		}
	}
}
