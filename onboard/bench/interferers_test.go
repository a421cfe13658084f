package bench

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/topology/topologytest"
)

// described reads a machine of topology's test data.
func described(t *testing.T, name string) *topology.Machine {
	t.Helper()
	return topologytest.Machine(t, filepath.Join("..", "..", "topology", "testdata"), name)
}

func TestPlaceWithinQuota(t *testing.T) {
	m := described(t, "intel-2socket-smt")
	whole, err := m.Place(topology.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		quota   *topology.Quota
		request topology.Request
		want    int // CPUs
	}{
		{nil, topology.Request{}, whole.Target.Size() + whole.Interferer.Size()},
		{&topology.Quota{CPUs: 1.5}, topology.Request{}, whole.Target.Size() + whole.Interferer.Size()},
		{&topology.Quota{CPUs: 4.5}, topology.Request{}, 4},
		{&topology.Quota{CPUs: 2}, topology.Request{Target: cpuset.New(0, 1)}, 2 + whole.Interferer.Size()},
	} {
		placing := Placing{Request: test.request}
		placing.Allowed = m.Online()
		p, err := placing.place(m, test.quota)
		if err != nil {
			t.Fatal(err)
		}
		used := p.Target.Union(p.Interferer)
		if used.Size() != test.want {
			t.Errorf("%v: target %v and interferer %v, want %d CPUs", test.quota, p.Target, p.Interferer, test.want)
		}
		if narrowed := !placing.Allowed.Equals(m.Online()); narrowed && test.quota.Check(used, placing.Allowed) != nil {
			t.Errorf("%v does not suffice for %v", test.quota, used)
		}
	}
}

// TestNamedCPUsWithinQuota checks that a quota of as many CPUs as were named suffices.
func TestNamedCPUsWithinQuota(t *testing.T) {
	m := described(t, "intel-2socket-smt")
	used := cpuset.New(0, 1)
	for cpus, want := range map[float64]cpuset.CPUSet{2.5: m.Online(), 2: used} {
		placing := Placing{Request: topology.Request{Allowed: m.Online()}}
		if err := placing.fit(&topology.Quota{CPUs: cpus}, used); err != nil || !placing.Allowed.Equals(want) {
			t.Errorf("%v CPUs: %v, allowed %v, want %v", cpus, err, placing.Allowed, want)
		}
	}
	if err := (&Placing{Request: topology.Request{Allowed: m.Online()}}).fit(&topology.Quota{CPUs: 1.9}, used); !errors.Is(err, topology.ErrQuota) {
		t.Errorf("1.9 CPUs: %v", err)
	}
}

func TestPlaceInterferers(t *testing.T) {
	for _, c := range []struct {
		machine     string
		target      string
		interferer  string
		interferers int
		first, rest string
		fault       string
	}{
		{"vm-2cpu", "", "", 2, "", "", "2 interferers need 2 CPUs beside the application's 0, and 1 are free"},
		{"intel-2socket-smt", "0", "1", 3, "", "", "cannot be divided equally among 3"},
		{"intel-2socket-smt", "0", "1,2,3", 3, "1", "2,3", ""},
		{"intel-2socket-smt", "0", "4-7", 2, "4,5", "6,7", ""},
	} {
		t.Run(c.machine+" "+c.interferer, func(t *testing.T) {
			m := described(t, c.machine)
			r := topology.Request{Allowed: m.Online(), Target: cpus(t, c.target), Interferer: cpus(t, c.interferer)}
			p, err := m.Place(r)
			if err != nil {
				t.Fatal(err)
			}
			first, rest, err := placeInterferers(m, p, Placing{Request: r, Interferers: c.interferers})
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) || !errors.Is(err, launch.ErrPlacement) {
					t.Fatalf("error %v, want %q", err, c.fault)
				}
				return
			}
			if err != nil || !first.Equals(cpus(t, c.first)) || !rest.Equals(cpus(t, c.rest)) {
				t.Errorf("first %s, others %s, %v; want %s, %s", first, rest, err, c.first, c.rest)
			}
		})
	}
}

// Chosen CPUs are apart from the application's cores and the first interferer's
// CPUs, as many for each as the first has, or the error says how many lack.
func TestPlaceInterferersChosen(t *testing.T) {
	placed := 0
	for _, name := range []string{
		"arm-altra", "arm-devicetree", "arm-grace-2socket", "bare", "cxl", "epyc-ccx",
		"intel-2socket-smt", "intel-2socket-snc", "vm-1core-smt", "vm-2cpu",
	} {
		m := described(t, name)
		for _, target := range []string{"", "0"} {
			p, err := m.Place(topology.Request{Target: cpus(t, target)})
			if errors.Is(err, topology.ErrOneCPU) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for n := 2; n <= 4; n++ {
				first, others, err := placeInterferers(m, p, Placing{Request: topology.Request{Allowed: m.Online()}, Interferers: n})
				var few *TooFewCPUsError
				switch {
				case errors.As(err, &few):
					if few.Free >= n*p.Interferer.Size() {
						t.Errorf("%s: %v, yet they fit", name, err)
					}
					continue
				case err != nil:
					t.Errorf("%s: %v", name, err)
					continue
				}
				placed++
				if !first.Equals(p.Interferer) || others.Size() != (n-1)*first.Size() || !others.Intersection(first).IsEmpty() || !others.IsSubsetOf(m.Online()) {
					t.Errorf("%s, %d interferers: first %s, others %s", name, n, first, others)
				}
				if shared := coresOf(m, others).Intersection(coresOf(m, p.Target)); !shared.IsEmpty() {
					t.Errorf("%s, %d interferers: others %s share cores %s with the application %s", name, n, others, shared, p.Target)
				}
			}
		}
	}
	if placed < 5 {
		t.Errorf("only %d placements", placed)
	}
}

// Whole cores come before siblings.
func TestPlaceInterferersPrefersCores(t *testing.T) {
	m := described(t, "intel-2socket-smt")
	p, err := m.Place(topology.Request{Target: cpuset.New(0), Interferer: cpuset.New(1)})
	if err != nil {
		t.Fatal(err)
	}
	_, others, err := placeInterferers(m, p, Placing{Request: topology.Request{Allowed: m.Online()}, Interferers: 3})
	if err != nil {
		t.Fatal(err)
	}
	if coresOf(m, others.Union(p.Interferer)).Size() != 3 {
		t.Errorf("others %s share cores with each other or with %s", others, p.Interferer)
	}
}

func cpus(t *testing.T, list string) cpuset.CPUSet {
	t.Helper()
	set, err := cpuset.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func coresOf(m *topology.Machine, cpus cpuset.CPUSet) cpuset.CPUSet {
	var cores []int
	for _, c := range m.CPUs {
		if cpus.Contains(c.ID) {
			cores = append(cores, c.Core)
		}
	}
	return cpuset.New(cores...)
}
