package predictor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"bandmate.dev/bandmate/units"
)

func TestQuickByHand(t *testing.T) {
	// The interferer achieves all of its solo bandwidth.
	target := compiled(t, withCurve(withCurve(profileOf("target", 10, 1), 0.5, 1, 0.8, 0.6, 0.4, 0.2), 1, 1, 0.9, 0.8, 0.7, 0.6))
	// Beside anyone it keeps half of its 16 GB/s.
	slowed := compiled(t, withCurve(profileOf("slowed", 16, 1), 1, 1, 0.5, 0.5, 0.5, 0.5))
	q := NewQuick([]*Application{
		target,
		compiled(t, profileOf("reads", 10, 1)),
		compiled(t, profileOf("mixed", 10, 0.75)),
		compiled(t, profileOf("silent", 0, 1)),
		compiled(t, profileOf("too much", 50, 0.5)),
		slowed,
		Unprofiled("nobody"),
	})
	// 16 GB/s give 0.68, 8 GB/s 0.84: the middle.
	want := []float64{math.NaN(), 0.8, 0.7, 1, 0.2, 0.76, 1}
	got := q.Row(nil, 0)
	for i := 1; i < q.Len(); i++ {
		if math.Abs(float64(got[i])-want[i]) > 1e-4 {
			t.Errorf("beside %d: %v, want %v", i, got[i], want[i])
		}
	}
	if twin := got[0]; !(twin > 0.6 && twin < 1) {
		t.Errorf("beside itself: %v", twin)
	}
}

func TestQuickStaysNearDefault(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 0))
	apps := randomApplications(t, 40, source)
	q := NewQuick(apps)
	var w Workspace
	var sum float64
	for i := range apps {
		for j, quick := range q.Row(nil, i) {
			settled := w.Performances(nil, []*Application{apps[i], apps[j]})[0]
			sum += math.Abs(float64(quick - settled))
		}
	}
	if mean := 100 * sum / float64(len(apps)*len(apps)); mean > 1.5 {
		t.Errorf("%.2f points apart from the settled state on average", mean)
	}
}

// randomApplications have 2 × 4 points.
func randomApplications(t testing.TB, n int, source *rand.Rand) []*Application {
	apps := make([]*Application, n)
	for i := range apps {
		p := profileOf(fmt.Sprint("app", i), 1+20*source.Float64(), 0.5+source.Float64()/2)
		depth := source.Float64() * 0.7
		withCurve(p, 0.5, 0.9, 1-depth/8, 1-depth/4, 1-depth/2, 1-depth)
		withCurve(p, 1, 0.9, 1-depth/10, 1-depth/6, 1-depth/3, 1-depth/2)
		apps[i] = compiled(t, p)
	}
	return apps
}

// Every ordered pair of 10,000 applications.
func BenchmarkQuickMatrix(b *testing.B) {
	q := NewQuick(randomApplications(b, 10_000, rand.New(rand.NewPCG(1, 0))))
	for b.Loop() {
		var workers sync.WaitGroup
		n := runtime.GOMAXPROCS(0)
		for w := range n {
			workers.Go(func() {
				row := make([]units.NormalizedPerformance, 0, q.Len())
				for i := w; i < q.Len(); i += n {
					row = q.Row(row[:0], i)
				}
			})
		}
		workers.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e8, "ns/pair")
}

func BenchmarkWorkspacePair(b *testing.B) {
	apps := randomApplications(b, 2, rand.New(rand.NewPCG(1, 0)))
	benchmarkWorkspace(b, apps)
}

func benchmarkWorkspace(b *testing.B, apps []*Application) {
	var w Workspace
	performance := w.Performances(nil, apps)
	b.ReportAllocs()
	for b.Loop() {
		performance = w.Performances(performance[:0], apps)
	}
}

// The workspace is there to allocate nothing.
func TestWorkspaceAllocatesNothing(t *testing.T) {
	apps := randomApplications(t, 4, rand.New(rand.NewPCG(2, 0)))
	apps[0].phases = []phase{{0.5, 0.5, 0.5, 0.5}, {0.5, 1.5, 1.5, 1.5}}
	var w Workspace
	for _, some := range [][]*Application{apps[:2], apps} {
		performance := w.Performances(nil, some)
		if n := testing.AllocsPerRun(100, func() { performance = w.Performances(performance[:0], some) }); n != 0 {
			t.Errorf("%d applications: %v allocations", len(some), n)
		}
	}
}

// What the workspace says is what Predict says.
func TestWorkspaceAgreesWithPredict(t *testing.T) {
	apps := randomApplications(t, 4, rand.New(rand.NewPCG(3, 0)))
	var w Workspace
	for n := 1; n <= len(apps); n++ {
		got := w.Performances(nil, apps[:n])
		p, err := Predict(apps[0], apps[1:n], Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != p.NormalizedPerformance {
			t.Errorf("%d applications: target %v, predicted %v", n, got[0], p.NormalizedPerformance)
		}
		for i, a := range apps[1:n] {
			if s := p.CorunnerSlowdowns[a.Name()]; s != got[i+1].Slowdown() {
				t.Errorf("%d applications: %s %v, predicted %v", n, a.Name(), got[i+1].Slowdown(), s)
			}
		}
	}
}
