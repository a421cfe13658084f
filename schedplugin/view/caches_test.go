package view_test

import (
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/schedplugin/config"
	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/units"
)

// sharing is an advisor that knows which of the 8 CPUs of a machine share its four caches.
var sharing = sync.OnceValues(func() (*advisor.Advisor, error) {
	d, err := evaluation.Read(os.DirFS("../../predictor/testdata/simulated/llc-ddr4x2"))
	if err != nil {
		return nil, err
	}
	return scoretest.SharedCaches(d, "blade", "0-1", "2-3", "4-5", "6-7")
})

func withCPUs(n *v1.Node, text string) *v1.Node {
	n.Annotations[v1alpha1.ExclusiveCPUsAnnotation] = text
	return n
}

// Pods with CPUs for themselves are in the caches of these, all others where CPUs are left.
func TestSeats(t *testing.T) {
	caches := []cpuset.CPUSet{cpuset.New(0, 1), cpuset.New(2, 3), cpuset.New(4, 5), cpuset.New(6, 7)}
	in := predictor.CachesOf
	for _, test := range []struct {
		name, text, domain string
		caches             []cpuset.CPUSet
		own, rest          predictor.Caches
	}{
		{"a whole cache", `{"a":"2-3"}`, "", caches, in(1), in(0, 2, 3)},
		{"parts of two", `{"a":"3-4","b":"6-7"}`, "", caches, in(1, 2), in(0, 1, 2)},
		{"all", `{"a":"0-7"}`, "", caches, in(0, 1, 2, 3), in(0, 1, 2, 3)},
		{"no CPU of a cache", `{"a":"9"}`, "", caches, in(0, 1, 2, 3), in(0, 1, 2, 3)},
		{"nobody", `{}`, "", caches, predictor.AnyCache, predictor.AnyCache},
		{"one cache", `{"a":"2-3"}`, "", nil, predictor.AnyCache, predictor.AnyCache},
		{"a memory that several nodes share", `{"a":"2-3"}`, "pool", caches, predictor.AnyCache, predictor.AnyCache},
	} {
		n := withCPUs(nodeWith("n", v1alpha1.MemoryDomainLabel, test.domain), test.text)
		s, err := view.ReadSeats(n, test.caches)
		if err != nil || s.Of("a") != test.own || s.Of("") != test.rest || s.Of("other") != test.rest {
			t.Errorf("%s: %b, %b, %v; want %b, %b", test.name, s.Of("a"), s.Of(""), err, test.own, test.rest)
		}
	}
	for _, text := range []string{"", "[]", `{"a":"3-2"}`} {
		if s, err := view.ReadSeats(withCPUs(nodeWith("n"), text), caches); err == nil || s.Of("") != predictor.AnyCache {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

// A verdict counts pods in the caches of the CPUs that they have for themselves.
func TestVerdictsInCaches(t *testing.T) {
	a, err := sharing()
	if err != nil {
		t.Fatal(err)
	}
	judge := func(n *v1.Node, newcomer occupant) (units.Slowdown, string) {
		t.Helper()
		cluster, err := view.New(arguments(t, func(*config.BandmateArgs) {}), a, noon)
		if err != nil {
			t.Fatal(err)
		}
		cluster.AddNode(n)
		cluster.AddPod(pod("taker", "n", scoretest.CacheTaker, 2))
		p := pod(string(newcomer), "n", scoretest.CacheLoser, 2)
		if newcomer == newPod {
			p.UID = ""
		}
		asked, _ := view.ReadPod(p)
		v, ok, err := cluster.Judge(asked, "n")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return v.Score.Newcomer.After, strings.Join(cluster.Warnings, "\n")
	}
	node := func(text string) *v1.Node {
		n := nodeWith("n", v1alpha1.MachineLabel, "blade")
		if text != "" {
			withCPUs(n, text)
		}
		return n
	}
	beside := func(loser, taker predictor.Caches) units.Slowdown {
		var w predictor.Workspace
		of := func(name string, c predictor.Caches) *predictor.Application {
			return a.Lookup(name, "blade").Application.In(c)
		}
		return w.Performances(nil, []*predictor.Application{of(scoretest.CacheLoser, loser), of(scoretest.CacheTaker, taker)})[0].Slowdown()
	}
	in := predictor.CachesOf
	for _, test := range []struct {
		text   string
		pod    occupant
		want   units.Slowdown
		warned bool
	}{
		{"", newPod, beside(predictor.AnyCache, predictor.AnyCache), true},
		{`{"n/taker":"0-1"}`, newPod, beside(in(1), in(0)), false},
		{`{"n/taker":"0"}`, newPod, beside(in(0, 1, 2, 3), in(0)), false},
		{`{"n/taker":"0","n/there":"1"}`, oldPod, beside(in(0), in(0)), false},
		{`{"n/there":"0-1"}`, oldPod, beside(in(0), in(1, 2, 3)), true},
	} {
		got, warnings := judge(node(test.text), test.pod)
		if math.Abs(float64(got-test.want)) > 1e-6 || strings.Contains(warnings, "default/taker on n, and perhaps others") != test.warned {
			t.Errorf("%s, %s: %v, want %v; %s", test.text, test.pod, float64(got), float64(test.want), warnings)
		}
	}
	if got, warnings := judge(node("x"), newPod); got != beside(predictor.AnyCache, predictor.AnyCache) || !strings.Contains(warnings, v1alpha1.ExclusiveCPUsAnnotation) {
		t.Errorf("%v; %s", got, warnings)
	}
}

// occupant is the name of the pod that is asked about.
type occupant string

const (
	newPod occupant = "new"   // is to come
	oldPod occupant = "there" // is there already
)
