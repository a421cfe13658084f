package predictor

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

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
