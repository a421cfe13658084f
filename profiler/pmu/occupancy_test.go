package pmu

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"bandmate.dev/bandmate/profiler/pmu/resctrl"
)

// holding sets what a group holds of the two caches.
func (g *mounted) holding(group string, bytes ...string) {
	for domain, text := range bytes {
		g.set(fmt.Sprintf("%s/%s/mon_data/mon_L3_%02d/llc_occupancy", resctrl.Root, group, domain), text)
	}
}

func TestOccupancyOfProcesses(t *testing.T) {
	m := fixture(t, "skx")
	g := mount(m)
	g.places = map[int]resctrl.Place{3: {Class: "batch"}}
	if !m.Host.CountsOccupancy() || len(g.made) != 1 || len(g.removed) != 1 {
		t.Fatalf("occupancy is not counted: made %q, removed %q", g.made, g.removed)
	}
	o, err := m.Host.WatchOccupancy(&running{looks: [][]int{{1, 3}, {1, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.made) != 3 {
		t.Fatalf("made %q, want a group in each class", g.made)
	}
	g.holding(g.made[1], "1000000", "0")
	g.holding(g.made[2], "Unavailable", "0")
	if bytes, known, err := o.Bytes(); known || err != nil {
		t.Errorf("holds %v, %v, %v while one group has no value", bytes, known, err)
	}
	g.holding(g.made[2], "500000", "65536")
	if bytes, known, err := o.Bytes(); bytes != 1565536 || !known || err != nil {
		t.Errorf("holds %v, %v, %v", bytes, known, err)
	}
	g.holding(g.made[1], "Error")
	if _, _, err := o.Bytes(); !errors.Is(err, resctrl.ErrCounter) {
		t.Errorf("%v, want an error of the hardware", err)
	}
	if err := o.Close(); err != nil || !slices.Equal(g.made, g.removed) {
		t.Errorf("made %q, removed %q, %v", g.made, g.removed, err)
	}
}

func TestOccupancyIsNotCounted(t *testing.T) {
	m := fixture(t, "skx")
	if m.Host.CountsOccupancy() {
		t.Error("counted where resctrl is not mounted")
	}
	g := mount(m)
	m.set(resctrl.Root+"/info/L3_MON/mon_features", "mbm_total_bytes\n")
	if m.Host.CountsOccupancy() {
		t.Error("counted where bandwidth alone is")
	}
	m.set(resctrl.Root+"/info/L3_MON/mon_features", "llc_occupancy\n")
	g.create = errors.New("no permission")
	if m.Host.CountsOccupancy() {
		t.Error("counted where no group can be made")
	}
}
