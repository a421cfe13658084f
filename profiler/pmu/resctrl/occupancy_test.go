package resctrl

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestCountsOccupancy(t *testing.T) {
	if err := CountsOccupancy(tree()); err != nil {
		t.Error(err)
	}
	if err := CountsOccupancy(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not mounted: %v", err)
	}
	files := tree()
	files[Root+"/info/L3_MON/mon_features"] = &fstest.MapFile{Data: []byte("mbm_total_bytes\n")}
	if err := CountsOccupancy(files); !errors.Is(err, ErrNoOccupancy) {
		t.Errorf("bandwidth only: %v", err)
	}
	delete(files, Root+"/info/L3_MON/mon_features")
	if err := CountsOccupancy(files); !errors.Is(err, ErrNoOccupancy) {
		t.Errorf("no monitoring: %v", err)
	}
}

func TestOccupancy(t *testing.T) {
	const first, second = Root + "/mon_groups/app/mon_data/mon_L3_00/", Root + "/mon_groups/app/mon_data/mon_L3_01/"
	for _, tt := range []struct {
		name, first, second string
		want                uint64
		known               bool
		is                  error
	}{
		{"two caches", "16678912\n", "65536\n", 16744448, true, nil},
		{"nothing", "0\n", "0\n", 0, true, nil},
		{"not yet", "16678912\n", "Unavailable\n", 0, false, nil},
		{"no counter left", "Unassigned\n", "0\n", 0, false, nil},
		{"an error of the hardware", "Error\n", "0\n", 0, false, ErrCounter},
	} {
		files := tree()
		files[first+occupancy] = &fstest.MapFile{Data: []byte(tt.first)}
		files[second+occupancy] = &fstest.MapFile{Data: []byte(tt.second)}
		got, known, err := Occupancy(files, "mon_groups/app")
		if got != tt.want || known != tt.known || !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) {
			t.Errorf("%s: %d, %v, %v; want %d, %v, %v", tt.name, got, known, err, tt.want, tt.known, tt.is)
		}
	}
	if _, _, err := Occupancy(tree(), "mon_groups/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such group: %v", err)
	}
}
