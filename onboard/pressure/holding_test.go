package pressure

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/topology/topologytest"
	"bandmate.dev/bandmate/units"
)

const mebi = 1 << 20

// cpus parses a list of CPUs.
func cpus(list string) cpuset.CPUSet {
	set, err := cpuset.Parse(list)
	if err != nil {
		panic(err)
	}
	return set
}

// coresBehind is a machine of cores in groups, each with a last-level cache, and private second
// levels.
func coresBehind(private, shared int64, groups ...cpuset.CPUSet) *topology.Machine {
	m := &topology.Machine{Nodes: []topology.Node{{}}}
	for _, g := range groups {
		for _, id := range g.List() {
			m.CPUs = append(m.CPUs, topology.CPU{ID: id, Core: id})
			m.Caches = append(m.Caches, topology.Cache{Level: 2, Type: "Unified", Bytes: private, CPUs: cpuset.New(id)})
		}
		m.Caches = append(m.Caches, topology.Cache{Level: 3, Type: "Unified", Bytes: shared, CPUs: g})
	}
	return m
}

func TestHoldingOn(t *testing.T) {
	two := coresBehind(1*mebi, 32*mebi, cpus("0-7"), cpus("8-15"))
	for _, c := range []struct {
		name             string
		machine          *topology.Machine
		target, pressing string
		cpus             string // empty where no cache is shared
	}{
		{"one of each", two, "0", "1", "1"},
		{"as many as exceed their private caches", two, "0-3", "4-7", "4-5"},
		{"another cache", two, "0", "8", ""},
		{"the target has two caches", two, "7-8", "9", ""},
		{"the interferer has two caches", two, "0", "7-8", ""},
		{"large private caches", coresBehind(16*mebi, 32*mebi, cpus("0-7")), "0", "2-3", "2"},
		{"unknown private caches", coresBehind(0, 32*mebi, cpus("0-7")), "0", "2-3", "2"},
		{"one core for each cache", coresBehind(1*mebi, 32*mebi, cpus("0"), cpus("1")), "0", "1", ""},
	} {
		h, shared := HoldingOn(c.machine, cpus(c.target), cpus(c.pressing))
		if got := h.CPUs.String(); shared != (c.cpus != "") || shared && !h.CPUs.Equals(cpus(c.cpus)) {
			t.Errorf("%s: %q, %t: want %q", c.name, got, shared, c.cpus)
		}
	}
}

func TestResidentOn(t *testing.T) {
	two := coresBehind(1*mebi, 32*mebi, cpus("0-7"), cpus("8-15"))
	for _, c := range []struct {
		name    string
		machine *topology.Machine
		cpus    string
		want    int64
	}{
		{"one", two, "3", 4 * mebi},
		{"in two caches", two, "7-8", 4 * mebi},
		{"several in one cache", two, "0-3", 2 * mebi},
		{"unknown", &topology.Machine{}, "0", 0},
	} {
		if got, known := ResidentOn(c.machine, cpus(c.cpus)); got != c.want || known != (c.want > 0) {
			t.Errorf("%s: %d, %t: want %d", c.name, got, known, c.want)
		}
	}
}

func TestWorkingSets(t *testing.T) {
	h := Holding{Bytes: 36608 << 10, CPUs: cpuset.New(1), Private: 1 * mebi}
	if got, want := len(h.Pressures()), len(heldParts)*len(heldLevels); got != want {
		t.Fatalf("%d pressures, want %d", got, want)
	}
	for _, h := range []Holding{h, {Bytes: 32 * mebi, CPUs: cpuset.New(1, 2, 3), Private: 512 << 10}, {Bytes: 12 * mebi, CPUs: cpuset.New(1), Private: 2 * mebi}} {
		all := append(h.Pressures(), h.Beyond(), h.Resident())
		for _, p := range all {
			if err := p.Unpaced().Validate(); err != nil {
				t.Errorf("%+v: %v", p, err)
			}
		}
		for _, p := range h.Pressures() {
			if bytes := h.Total(p); bytes >= h.Bytes || p.Footprint < leastOfPrivate*h.Private || p.Footprint < h.Resident().Footprint {
				t.Errorf("%d bytes of %+v, %d beside private caches of %d", bytes, h, p.Footprint, h.Private)
			}
		}
		if h.Total(h.Beyond()) < (interferer.CacheMultiple-1)*h.Bytes || h.Total(h.Resident()) > h.Bytes/2 {
			t.Errorf("%+v: %d bytes beyond, %d resident", h, h.Total(h.Beyond()), h.Total(h.Resident()))
		}
	}
	// Three quarters of the smallest one are the private caches'.
	if all := (Holding{Bytes: 4 * mebi, CPUs: cpuset.New(1), Private: 1 * mebi}).Pressures(); len(all) != len(heldLevels) || all[0].Footprint != 3*mebi {
		t.Errorf("of a small cache: %v", all)
	}
	if all := (Holding{Bytes: 2 * mebi, CPUs: cpuset.New(1), Private: 1 * mebi}).Pressures(); len(all) != 0 {
		t.Errorf("of a cache hardly larger than the private ones: %v", all)
	}
}

// A cache is filled by random accesses, one by one.
func TestFilling(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const lines = 200_000
	const memory, resident = 2 * units.GigabytePerSecond, 20 * units.GigabytePerSecond
	there, held, seconds := make([]bool, lines), 0, 0.0
	for float64(held) < nearlyAll*lines {
		rate := resident
		if line := random.IntN(lines); !there[line] {
			there[line], rate = true, memory
			held++
		}
		seconds += units.LineBytes / float64(rate)
	}
	got := FillTime(lines*units.LineBytes, memory, resident).Seconds()
	if math.Abs(got-seconds) > 0.02*seconds {
		t.Errorf("%.4f s, want %.4f s", got, seconds)
	}
	for _, rate := range []units.Bandwidth{0, 1, units.Bandwidth(math.NaN())} {
		if got := FillTime(lines*units.LineBytes, rate, resident); got != longestFilling {
			t.Errorf("by %v: %v, want %v", rate, got, longestFilling)
		}
	}
	s := Filled(modulation.Slicing{Length: 4 * time.Millisecond, Settle: time.Millisecond}, 5*time.Millisecond)
	if s.Settle != 6*time.Millisecond || s.Length-s.Settle != 8*time.Millisecond {
		t.Errorf("slices of %+v", s)
	}
}

func TestHoldingOnMachines(t *testing.T) {
	for _, c := range []struct {
		machine          string
		target, pressing int
		holds            string
	}{
		{"epyc-ccx", 0, 1, "1"},
		{"epyc-ccx", 0, 2, ""},
		{"bare", 0, 1, ""},
	} {
		h, shared := HoldingOn(topologytest.Machine(t, filepath.Join("..", "..", "topology", "testdata"), c.machine), cpuset.New(c.target), cpuset.New(c.pressing))
		if got := h.CPUs.String(); got != c.holds || shared != (c.holds != "") {
			t.Errorf("%s: %q holds the cache of CPU %d, %t: want %q", c.machine, got, c.target, shared, c.holds)
		}
	}
}
