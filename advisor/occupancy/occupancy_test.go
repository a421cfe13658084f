package occupancy_test

import (
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/advisor/occupancy"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const maxAge = time.Minute

// cluster has the node alone, and left and right, which share the domain of the name
// of another node.
func cluster() *occupancy.Cluster {
	var c occupancy.Cluster
	for _, n := range []*occupancy.Node{
		{Name: "alone", Residents: []*occupancy.Resident{
			{ID: "1", Name: "zero", Node: "alone", CPUs: 1, NUMANode: occupancy.PinnedTo(0)},
			{ID: "2", Name: "one", Node: "alone", CPUs: 1, NUMANode: occupancy.PinnedTo(1)},
			{ID: "3", Name: "any", Node: "alone", CPUs: 1},
		}},
		{Name: "left", Domain: "pool", Residents: []*occupancy.Resident{{ID: "4", Name: "l", Node: "left", CPUs: 1, NUMANode: occupancy.PinnedTo(0)}}},
		{Name: "right", Domain: "pool", Residents: []*occupancy.Resident{{ID: "5", Name: "r", Node: "right", CPUs: 1, NUMANode: occupancy.PinnedTo(1)}}},
		{Name: "pool", Residents: []*occupancy.Resident{{ID: "6", Name: "p", Node: "pool", CPUs: 1}}},
	} {
		c.Add(n)
	}
	return &c
}

func TestWhoMeetsWhom(t *testing.T) {
	c := cluster()
	for _, test := range []struct {
		name, node string
		newcomer   occupancy.Resident
		want       string
	}{
		{"anywhere on a node", "alone", occupancy.Resident{}, "zero one any"},
		{"a NUMA node", "alone", occupancy.Resident{NUMANode: occupancy.PinnedTo(0)}, "zero any"},
		{"a shared domain", "left", occupancy.Resident{}, "l r"},
		{"a NUMA node of a shared domain", "left", occupancy.Resident{NUMANode: occupancy.PinnedTo(1)}, "r"},
		{"a node of the name of a domain", "pool", occupancy.Resident{}, "p"},
		{"itself", "alone", occupancy.Resident{ID: "2"}, "zero any"},
	} {
		n := c.Node(test.node)
		met := c.DomainOf(n).Neighbors(&test.newcomer, n, noon, maxAge)
		var names []string
		for _, r := range met.Residents {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: meets %q, want %q", test.name, got, test.want)
		}
		if d := met.Domain(); len(d.Residents) != len(names) || d.Background != nil {
			t.Errorf("%s: %+v", test.name, d)
		}
	}
}

// Fresh measurements of a domain add up, and the oldest limits how long they count.
func TestBackground(t *testing.T) {
	c := cluster()
	measure := func(node string, at time.Time) {
		c.Node(node).Measured = &occupancy.Measurement{Traffic: units.Traffic{Read: 3e9, Write: 1e9}, Time: at}
	}
	measure("left", noon.Add(-10*time.Second))
	measure("right", noon.Add(-40*time.Second))
	left := c.Node("left")
	met := c.DomainOf(left).Neighbors(&occupancy.Resident{}, left, noon, maxAge)
	if want := (units.Traffic{Read: 6e9, Write: 2e9}); met.Background == nil || *met.Background != want || !met.Expires.Equal(noon.Add(20*time.Second)) {
		t.Errorf("background %v until %v, want %v", met.Background, met.Expires, want)
	}
	measure("right", noon.Add(2*time.Minute))
	met = c.DomainOf(left).Neighbors(&occupancy.Resident{}, left, noon, maxAge)
	if want := (units.Traffic{Read: 3e9, Write: 1e9}); *met.Background != want || !met.Expires.Equal(noon.Add(50*time.Second)) {
		t.Errorf("beside a measurement of the future: background %v until %v, want %v", met.Background, met.Expires, want)
	}
	measure("left", noon.Add(-2*time.Minute))
	met = c.DomainOf(left).Neighbors(&occupancy.Resident{}, left, noon, maxAge)
	if met.Background != nil || !met.Expires.Equal(noon.Add(time.Minute)) {
		t.Errorf("one too old, one of the future: background %v until %v, want none until that of the future counts", met.Background, met.Expires)
	}
}

// A measurement says nothing of residents that ran during a part of its interval at most.
func TestBackgroundBesideNewResidents(t *testing.T) {
	reader, err := predictor.Assumed("reader", units.Traffic{Read: 2e9})
	if err != nil {
		t.Fatal(err)
	}
	const second = time.Second
	for _, test := range []struct {
		name     string
		interval time.Duration // zero where it is not known
		since    time.Time
		measured bool
		want     units.Bandwidth
		itself   units.Bandwidth
	}{
		{"long before", 0, noon.Add(-time.Hour), true, 1e9, 1e9},
		{"within the longest interval", 0, noon.Add(-maxAge / 2), false, 3e9, 1e9},
		{"before the interval", 15 * second, noon.Add(-16 * second), true, 1e9, 1e9},
		{"as the interval began", 15 * second, noon.Add(-15 * second), false, 3e9, 1e9},
		{"within an interval of more than half of the age", 50 * second, noon.Add(-40 * second), false, 3e9, 1e9},
		{"after the measurement", 15 * second, noon.Add(second), false, 3e9, 3e9},
		{"not yet", 15 * second, time.Time{}, false, 3e9, 3e9},
	} {
		c := cluster()
		pool := c.Node("pool")
		pool.Measured = &occupancy.Measurement{Traffic: units.Traffic{Read: 3e9}, Time: noon}
		if test.interval > 0 {
			pool.Measured.Start = noon.Add(-test.interval)
		}
		pool.Residents[0].Entry, pool.Residents[0].Since = &advisor.Entry{Application: reader}, test.since
		met := c.DomainOf(pool).Neighbors(&occupancy.Resident{}, pool, noon, maxAge)
		if met.Background.Read != test.want || met.Measured(0) != test.measured || pool.AllMeasured(maxAge) != test.measured {
			t.Errorf("%s: background %v, want %v; measured %v, want %v", test.name, met.Background.Read, test.want, met.Measured(0), test.measured)
		}
		met = c.DomainOf(pool).Neighbors(pool.Residents[0], pool, noon, maxAge)
		if met.Background.Read != test.itself {
			t.Errorf("%s: background of itself %v, want %v", test.name, met.Background.Read, test.itself)
		}
	}
}

func TestEqual(t *testing.T) {
	same := func(change func(*occupancy.Node)) bool {
		n := cluster().Node("alone")
		n.Measured = &occupancy.Measurement{Time: noon}
		other := cluster().Node("alone")
		other.Measured = &occupancy.Measurement{Time: noon}
		change(other)
		return n.Equal(other)
	}
	if !same(func(*occupancy.Node) {}) {
		t.Error("two equal readings differ")
	}
	for name, change := range map[string]func(*occupancy.Node){
		"domain":               func(n *occupancy.Node) { n.Domain = "x" },
		"machine":              func(n *occupancy.Node) { n.Machine = "x" },
		"measurement":          func(n *occupancy.Node) { n.Measured = nil },
		"a measured interval":  func(n *occupancy.Node) { n.Measured.Start = noon.Add(-time.Second) },
		"a resident":           func(n *occupancy.Node) { n.Residents = n.Residents[1:] },
		"a limit":              func(n *occupancy.Node) { n.Residents[0].Limit = 2 },
		"caches of a resident": func(n *occupancy.Node) { n.Residents[0].Caches = 1 },
		"caches of a newcomer": func(n *occupancy.Node) { n.Caches = 1 },
		"a start":              func(n *occupancy.Node) { n.Residents[0].Since = noon },
		"a NUMA node":          func(n *occupancy.Node) { n.Residents[0].NUMANode = occupancy.AnyNUMANode },
	} {
		if same(change) {
			t.Errorf("%s: no difference", name)
		}
	}
}

func TestLoad(t *testing.T) {
	c := cluster()
	alone := c.Node("alone")
	met := c.DomainOf(alone).Neighbors(&occupancy.Resident{}, alone, noon, maxAge)
	var load score.Load
	if err := met.Load(&score.Scorer{}, &load); err != nil || len(load.Residents()) != 3 || load.Residents()[0].Card != "alone" {
		t.Errorf("%+v, %v", load.Residents(), err)
	}
	alone.Residents[0].CPUs = -1
	met = c.DomainOf(alone).Neighbors(&occupancy.Resident{}, alone, noon, maxAge)
	if err := met.Load(&score.Scorer{}, &score.Load{}); err == nil {
		t.Error("a resident of −1 CPUs is accepted")
	}
}
