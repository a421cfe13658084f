package onboard

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

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
	two := coresBehind(1*mebi, 32*mebi, cpus(t, "0-7"), cpus(t, "8-15"))
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
		{"large private caches", coresBehind(16*mebi, 32*mebi, cpus(t, "0-7")), "0", "2-3", "2"},
		{"unknown private caches", coresBehind(0, 32*mebi, cpus(t, "0-7")), "0", "2-3", "2"},
		{"one core for each cache", coresBehind(1*mebi, 32*mebi, cpus(t, "0"), cpus(t, "1")), "0", "1", ""},
		{"a fixture", described(t, "epyc-ccx"), "0", "1", "1"},
		{"a fixture of two", described(t, "epyc-ccx"), "0", "2", ""},
		{"a fixture without", described(t, "bare"), "0", "1", ""},
	} {
		h, shared := holdingOn(c.machine, cpus(t, c.target), cpus(t, c.pressing))
		if got := h.cpus.String(); shared != (c.cpus != "") || shared && !h.cpus.Equals(cpus(t, c.cpus)) {
			t.Errorf("%s: %q, %t: want %q", c.name, got, shared, c.cpus)
		}
	}
}

func TestWorkingSets(t *testing.T) {
	h := holding{bytes: 36608 << 10, cpus: cpuset.New(1), private: 1 * mebi}
	if got, want := len(h.pressures()), len(heldParts)*len(heldLevels); got != want {
		t.Fatalf("%d pressures, want %d", got, want)
	}
	for _, h := range []holding{h, {bytes: 32 * mebi, cpus: cpuset.New(1, 2, 3), private: 512 << 10}, {bytes: 12 * mebi, cpus: cpuset.New(1), private: 2 * mebi}} {
		all := append(h.pressures(), h.beyond(), h.resident())
		for _, p := range all {
			if err := p.unpaced().Validate(); err != nil {
				t.Errorf("%+v: %v", p, err)
			}
		}
		for _, p := range h.pressures() {
			if bytes := h.total(p); bytes >= h.bytes || p.Footprint < leastOfPrivate*h.private || p.Footprint < h.resident().Footprint {
				t.Errorf("%d bytes of %+v, %d beside private caches of %d", bytes, h, p.Footprint, h.private)
			}
		}
		if h.total(h.beyond()) < (interferer.CacheMultiple-1)*h.bytes || h.total(h.resident()) > h.bytes/2 {
			t.Errorf("%+v: %d bytes beyond, %d resident", h, h.total(h.beyond()), h.total(h.resident()))
		}
	}
	// Three quarters of the smallest one are the private caches'.
	if all := (holding{bytes: 4 * mebi, cpus: cpuset.New(1), private: 1 * mebi}).pressures(); len(all) != len(heldLevels) || all[0].Footprint != 3*mebi {
		t.Errorf("of a small cache: %v", all)
	}
	if all := (holding{bytes: 2 * mebi, cpus: cpuset.New(1), private: 1 * mebi}).pressures(); len(all) != 0 {
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
	got := filling(lines*units.LineBytes, memory, resident).Seconds()
	if math.Abs(got-seconds) > 0.02*seconds {
		t.Errorf("%.4f s, want %.4f s", got, seconds)
	}
	for _, rate := range []units.Bandwidth{0, 1, units.Bandwidth(math.NaN())} {
		if got := filling(lines*units.LineBytes, rate, resident); got != longestFilling {
			t.Errorf("by %v: %v, want %v", rate, got, longestFilling)
		}
	}
	s := filled(modulation.Slicing{Length: 4 * time.Millisecond, Settle: time.Millisecond}, 5*time.Millisecond)
	if s.Settle != 6*time.Millisecond || s.Length-s.Settle != 8*time.Millisecond {
		t.Errorf("slices of %+v", s)
	}
}
