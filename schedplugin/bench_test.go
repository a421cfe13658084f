package schedplugin

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/service"
	"bandmate.dev/bandmate/units"
)

// mostUsed is how many of the profiles are in use: to describe each of ten thousand
// would take the better part of the benchmark.
const mostUsed = 1000

// busyCluster makes a cluster of nodes with thirty labeled pods each, of as many
// applications as there are profiles, mostUsed at most.
func busyCluster(b testing.TB, nodes, profiles int) (*Plugin, *fakeHandle, []fwk.NodeInfo) {
	b.Helper()
	d, err := evaluation.Read(os.DirFS("../predictor/testdata/simulated/ddr4x2"))
	if err != nil {
		b.Fatal(err)
	}
	var applications []*v1alpha1.ApplicationProfile
	for i := range profiles {
		p := d.Apps[i%len(d.Apps)].Profile(evaluation.Options{
			ReadShares: []units.ReadShare{0.5, 0.75, 1}, Levels: []float64{0.25, 0.5, 0.75, 1},
		})
		p.Name, p.Spec.Machine.Name = fmt.Sprintf("app-%d", i), "blade"
		applications = append(applications, p)
	}
	p, h := plugin(b, advisor.New(applications, nil), nil)
	random := rand.New(rand.NewPCG(1, 2))
	var infos []fwk.NodeInfo
	for i := range nodes {
		n := h.node(fmt.Sprintf("node-%d", i), "blade")
		for j := range 30 {
			n.add(pod(fmt.Sprintf("p-%d-%d", i, j), fmt.Sprintf("app-%d", random.IntN(min(profiles, mostUsed))), 0.5, ""))
		}
		infos = append(infos, n)
	}
	return p, h, infos
}

// calibrated calibrates the profiles of a busy cluster that are in use, as they are
// some seconds after they were first looked up.
func calibrated(b testing.TB, p *Plugin) {
	b.Helper()
	s := p.watch.profiles()
	for i := range mostUsed {
		s.lookup(fmt.Sprintf("app-%d", i), "blade")
	}
	p.watch.current.Store(s.next(s.advisor))
	if k := p.watch.profiles().lookup("app-0", "blade"); !k.Application.Calibrated() {
		b.Fatal("no model describes the applications")
	}
}

// BenchmarkGarbage collects the garbage of a scheduler that knows 10,000 profiles as the
// API server sends them, all in use. It reports the least CPU time that this takes, and
// what the profiles take.
func BenchmarkGarbage(b *testing.B) {
	d, err := evaluation.Read(os.DirFS("../predictor/testdata/simulated/ddr4x2"))
	if err != nil {
		b.Fatal(err)
	}
	var applications []*v1alpha1.ApplicationProfile
	for i := range 10_000 {
		p := d.Apps[i%len(d.Apps)].Profile(evaluation.Options{
			ReadShares: []units.ReadShare{0.5, 0.75, 1}, Levels: []float64{0.25, 0.5, 0.75, 1},
		})
		p.Name, p.Spec.Machine.Name = fmt.Sprintf("app-%d", i), "blade"
		text, err := json.Marshal(p)
		if err != nil {
			b.Fatal(err)
		}
		var u unstructured.Unstructured
		if err := json.Unmarshal(text, &u.Object); err != nil {
			b.Fatal(err)
		}
		applications = append(applications, typed(&u, &v1alpha1.ApplicationProfile{}).(*v1alpha1.ApplicationProfile)) //nolint:forcetypeassert // typed returns what it was given
	}
	s := newProfiles(advisor.New(applications, nil))
	for i := range applications {
		s.lookup(fmt.Sprintf("app-%d", i), "blade")
	}
	s.calibrate()
	runtime.GC()
	least := math.Inf(1)
	for b.Loop() {
		before := cpuSeconds(b)
		runtime.GC()
		least = min(least, cpuSeconds(b)-before)
	}
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/objects:objects"}}
	metrics.Read(read)
	b.ReportMetric(1000*least, "least-cpu-ms")
	b.ReportMetric(float64(read[0].Value.Uint64())/(1<<20), "MiB")
	b.ReportMetric(float64(read[1].Value.Uint64())/1000, "kobjects")
	runtime.KeepAlive(s)
	runtime.KeepAlive(applications)
}

// cpuSeconds returns the CPU time of this process.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// BenchmarkEstimates scores 420 nodes, all domains prepared.
func BenchmarkEstimates(b *testing.B) {
	p, _, infos := busyCluster(b, looked, 1000)
	calibrated(b, p)
	ctx, state := context.Background(), newState()
	newcomer := pod("newcomer", "app-7", 4, "")
	p.PreFilter(ctx, state, newcomer, nil)
	p.PreScore(ctx, state, newcomer, infos)
	for b.Loop() {
		for _, info := range infos {
			if _, status := p.Score(ctx, state, newcomer, info); !status.IsSuccess() {
				b.Fatal(status)
			}
		}
	}
}

// BenchmarkDemands looks a service with a demand up: the first time, and again.
func BenchmarkDemands(b *testing.B) {
	s := newProfiles(servicesAdvisor(5))
	s.lookup("redis", "blade")
	s.calibrate()
	demand := func(i int) service.Demand {
		return service.Demand{Load: 400 + 1e-6*float64(i), MaxP99: 10 * time.Millisecond}
	}
	i := 0
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			i++
			s.serve("redis", "blade", demand(i))
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			s.serve("redis", "blade", demand(i))
		}
	})
}

// BenchmarkCycle is all that the plugin does for a pod, over 420 nodes of thirty
// labeled pods, of which one has changed since: what the scheduler looks at in
// a cluster of a thousand. It reports the 99th percentile for each node, with the
// exact scores of the best domains and everything else shared out.
func BenchmarkCycle(b *testing.B) {
	p, h, infos := busyCluster(b, looked, 10_000)
	calibrated(b, p)
	cycles(b, p, h, infos, looked, func() {})
}

// BenchmarkCycleAround is BenchmarkCycle in a cluster of 5,000 nodes, where the
// scheduler looks at 500 for a pod, and at the next 500 for the next.
func BenchmarkCycleAround(b *testing.B) {
	p, h, infos := busyCluster(b, 5000, 10_000)
	calibrated(b, p)
	cycles(b, p, h, infos, 500, func() {})
}

// BenchmarkCycleCold is BenchmarkCycle where nothing of the plugin is in the caches of the
// processor when a pod comes, as in a scheduler that does much else in between.
func BenchmarkCycleCold(b *testing.B) {
	p, h, infos := busyCluster(b, 1000, 10_000)
	calibrated(b, p)
	other := make([]byte, 64<<20)
	overwrite := func() {
		for i := 0; i < len(other); i += 64 {
			other[i]++
		}
	}
	cycles(b, p, h, infos, looked, overwrite)
}

// BenchmarkByCurves is BenchmarkCycle where no model describes the applications:
// estimates are coarse, and the best domains are scored exactly.
func BenchmarkByCurves(b *testing.B) {
	p, h, infos := busyCluster(b, looked, 10_000)
	cycles(b, p, h, infos, looked, func() {})
}

// looked is at how many nodes of a thousand the scheduler looks for a pod.
const looked = 420

// cycles schedules pods, each over the next nodes, and puts every pod in the place of
// another one. It calls between between two of them.
func cycles(b *testing.B, p *Plugin, h *fakeHandle, infos []fwk.NodeInfo, each int, between func()) {
	b.Helper()
	around := append(slices.Clone(infos), infos[:each]...)
	scores := make(fwk.NodeScoreList, len(around))
	choose(b, p, pod("first", "app-0", 4, ""), infos, scores[:len(infos)])
	var times []float64
	i := 0
	for b.Loop() {
		newcomer := pod(fmt.Sprintf("n-%d", i), fmt.Sprintf("app-%d", i*37%mostUsed), 4, "")
		at := i * each % len(infos)
		start := time.Now()
		choose(b, p, newcomer, around[at:at+each], scores[:each])
		times = append(times, float64(time.Since(start).Nanoseconds())/float64(each))
		b.StopTimer()
		n := h.nodes[around[at+i%each].Node().Name]
		n.pods[i%len(n.pods)] = &fakePod{pod: newcomer}
		n.generation++
		between()
		b.StartTimer()
		i++
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)*99/100], "p99-ns/node")
	b.ReportMetric(times[len(times)/2], "median-ns/node")
}

// choose calls what the framework calls for a pod without limits, where no other pod
// has one. It sets scores.
func choose(b *testing.B, p *Plugin, newcomer *v1.Pod, nodes []fwk.NodeInfo, scores fwk.NodeScoreList) {
	b.Helper()
	ctx, state := b.Context(), newState()
	if _, status := p.PreFilter(ctx, state, newcomer, nodes); !status.IsSkip() {
		b.Fatalf("PreFilter: %v: want the filters to be skipped", status)
	}
	if status := p.PreScore(ctx, state, newcomer, nodes); !status.IsSuccess() {
		b.Fatal(status)
	}
	for i, info := range nodes {
		cost, status := p.Score(ctx, state, newcomer, info)
		if !status.IsSuccess() {
			b.Fatal(status)
		}
		scores[i] = fwk.NodeScore{Name: info.Node().Name, Score: cost}
	}
	if status := p.NormalizeScore(ctx, state, newcomer, scores); !status.IsSuccess() {
		b.Fatal(status)
	}
}
