package watch

import (
	"math"
	"os"
	"testing"

	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/slurm"
)

// Of two nodes with the same job, the one where a waiting job cannot come to share its cache
// costs less, whatever was asked before.
func TestCachesOfRunningJobs(t *testing.T) {
	d, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/llc-ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := scoretest.SharedCaches(d, "blade", "0-3", "4-7")
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(3)
	holds := func(cores ...int) func(*slurm.Job) {
		return func(j *slurm.Job) {
			j.Allocations = []slurm.Allocation{{Node: j.Nodes[0], Cores: map[int][]int{0: cores}}}
		}
	}
	for i := range f.cluster.Nodes {
		f.cluster.Nodes[i].CoresPerSocket, f.cluster.Nodes[i].ThreadsPerCore = 8, 1
	}
	holds(0, 1, 2, 3)(f.run(1, scoretest.CacheTaker, "n01"))
	holds(0)(f.run(2, scoretest.CacheTaker, "n02"))
	f.run(3, scoretest.CacheTaker, "n03")
	f.submit(4, scoretest.CacheLoser)
	r := Planner{Site: &slurm.Site{}, Advisor: a}.newRanking(&f.cluster, &score.Scorer{}, verdicts{kinds: map[kind]int{}, answers: map[question]verdict{}})
	var costs [3]float64
	for i := range f.cluster.Nodes {
		v, err := r.ask(f.job(4), &f.cluster.Nodes[i])
		if err != nil {
			t.Fatal(err)
		}
		costs[i] = v.cost
	}
	const noticed = 0.02
	if !(costs[0]+noticed < costs[1]) || math.Abs(costs[1]-costs[2]) > 1e-6 {
		t.Errorf("costs %v beside a job in the other cache, in one of both, and in an unknown one", costs)
	}
}
