package slurm

import (
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/units"
)

// sharing is an advisor that knows which of the 8 CPUs of a node share its four caches.
var sharing = sync.OnceValues(func() (*advisor.Advisor, error) {
	d, err := evaluation.Read(os.DirFS("../predictor/testdata/simulated/llc-ddr4x2"))
	if err != nil {
		return nil, err
	}
	return scoretest.SharedCaches(d, "blade", "0-1", "2-3", "4-5", "6-7")
})

func inCaches(t *testing.T) *advisor.Advisor {
	t.Helper()
	a, err := sharing()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Jobs whose cores Slurm tells are in the caches of those, and a newcomer is in any that
// has a CPU left.
func TestAdviseInCaches(t *testing.T) {
	a := inCaches(t)
	app := func(name string) *predictor.Application { return a.Lookup(name, "blade").Application }
	loser, taker := app(scoretest.CacheLoser), app(scoretest.CacheTaker)
	beside := func(newcomer, resident predictor.Caches) units.Slowdown {
		var w predictor.Workspace
		return w.Performances(nil, []*predictor.Application{loser.In(newcomer), taker.In(resident)})[0].Slowdown()
	}
	in := predictor.CachesOf
	together, apart, unknown := beside(in(0), in(0)), beside(in(0), in(1)), beside(predictor.AnyCache, predictor.AnyCache)
	if !(together > unknown+0.05 && unknown > apart+0.03) {
		t.Fatalf("%v together, %v apart, %v on average: the cache does not matter", together, apart, unknown)
	}
	holds := func(sockets map[int][]int) Job {
		j := runs(scoretest.CacheTaker, 2, "n1")
		j.Allocations = []Allocation{{"n1", sockets}}
		return j
	}
	untold := "Slurm does not report which cores job 1 has on n1"
	for _, test := range []struct {
		name    string
		cluster *Cluster
		options Options
		want    units.Slowdown
		warned  string
	}{
		{"alone in its cache", cluster(1, holds(map[int][]int{0: {0, 1}})), Options{}, apart, ""},
		{"in a part of a cache", cluster(1, holds(map[int][]int{1: {3}})), Options{}, beside(in(0, 1, 2, 3), in(3)), ""},
		{"in two caches", cluster(1, holds(map[int][]int{0: {1, 2}})), Options{}, beside(in(0, 1, 2, 3), in(0, 1)), ""},
		{"on a socket", cluster(1, holds(map[int][]int{1: {0}}), holds(map[int][]int{0: {0, 1, 2, 3}})), Options{Sockets: true}, beside(in(2, 3), in(2)), ""},
		{"not told", cluster(1, runs(scoretest.CacheTaker, 2, "n1")), Options{}, unknown, untold},
		{"cores that the node does not have", cluster(1, holds(map[int][]int{0: {4}})), Options{}, unknown, untold},
		{"no job", cluster(1), Options{}, 1, ""},
	} {
		advice, err := (&Advisor{Advisor: a, Options: test.options}).Advise(test.cluster, wants(scoretest.CacheLoser, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := advice.Candidates[0].Slowdown; math.Abs(float64(got-test.want)) > 1e-6 {
			t.Errorf("%s: %v, want %v", test.name, float64(got), float64(test.want))
		}
		about := slices.DeleteFunc(advice.Warnings, func(w string) bool { return !strings.Contains(w, "cores") })
		if test.warned == "" && len(about) > 0 || test.warned != "" && !strings.Contains(strings.Join(about, "\n"), test.warned) {
			t.Errorf("%s: warnings %q, want %q", test.name, about, test.warned)
		}
	}
}

// A job whose cores are not told is where others are not known to be, and so is the next
// of several copies.
func TestUntoldJobsAreInTheRest(t *testing.T) {
	full := runs(scoretest.CacheTaker, 4, "n1")
	full.Allocations = []Allocation{{"n1", map[int][]int{0: {0, 1, 2}}}}
	o := NewOccupancy(cluster(1, full, runs(scoretest.CacheTaker, 2, "n1")), &Site{}, inCaches(t), 0, false, nil)
	part := o.Node("n1")
	if got, want := part.Residents[1].Caches, predictor.CachesOf(1, 2, 3); got != want {
		t.Errorf("not told: caches %b, want %b", got, want)
	}
	for _, want := range []predictor.Caches{predictor.CachesOf(1, 2, 3), predictor.CachesOf(2, 3), predictor.CachesOf(0, 1, 2, 3)} {
		got := o.Caches(part)
		if got != want {
			t.Errorf("newcomer: caches %b, want %b", got, want)
		}
		r := *part.Residents[1]
		r.Caches = got
		o.Place(r, part, 3)
	}
}

// Where CPUs counts cores, a cache is full when every core of it is taken.
func TestCachesOfCoresWithThreads(t *testing.T) {
	j := runs(scoretest.CacheTaker, 1, "n1")
	j.Allocations = []Allocation{{"n1", map[int][]int{0: {0}}}}
	c := cluster(1, j)
	n := &c.Nodes[0]
	n.CPUs, n.Sockets, n.CoresPerSocket, n.ThreadsPerCore = 4, 1, 4, 2
	o := NewOccupancy(c, &Site{}, inCaches(t), 0, false, nil)
	part := o.Node("n1")
	r := *part.Residents[0]
	r.Caches = predictor.CachesOf(1)
	o.Place(r, part, 1)
	if got, want := o.Caches(part), predictor.CachesOf(2, 3); got != want {
		t.Errorf("newcomer: caches %b, want %b", got, want)
	}
}

// A core says its cache only where all are alike and Slurm knows every CPU.
func TestCoresPerCache(t *testing.T) {
	four := []cpuset.CPUSet{cpuset.New(0, 1), cpuset.New(2, 3), cpuset.New(4, 5), cpuset.New(6, 7)}
	for _, test := range []struct {
		name   string
		node   Node
		caches []cpuset.CPUSet
		want   int
	}{
		{"alike", Node{Sockets: 2, CoresPerSocket: 4, ThreadsPerCore: 1}, four, 2},
		{"threads", Node{Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 2}, four, 1},
		{"sockets that are caches", Node{Sockets: 4, CoresPerSocket: 2, ThreadsPerCore: 1}, four, 2},
		{"a node without threads on a machine with them", Node{Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1}, four, 0},
		{"a part of the CPUs", Node{Sockets: 1, CoresPerSocket: 6, ThreadsPerCore: 1}, four, 0},
		{"caches of two sizes", Node{Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1}, []cpuset.CPUSet{cpuset.New(0), cpuset.New(1, 2, 3)}, 0},
		{"no caches", Node{Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1}, nil, 0},
		{"no cores", Node{}, four, 0},
	} {
		if got := coresPerCache(&test.node, test.caches); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
