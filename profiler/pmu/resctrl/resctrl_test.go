package resctrl

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"bandmate.dev/bandmate/internal/sysfile"
)

// tree is a mounted file system with two domains and two control groups.
func tree() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		"info/L3_MON/mon_features":                          "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n",
		"info/L3_MON/num_rmids":                             "256\n",
		"tasks":                                             "1\n",
		"schemata":                                          "L3:0=ff;1=ff\n",
		"mon_data/mon_L3_00/mbm_total_bytes":                "1000\n",
		"mon_data/mon_L3_00/mbm_local_bytes":                "900\n",
		"mon_data/mon_L3_01/mbm_total_bytes":                "2000\n",
		"mon_groups/app/mon_data/mon_L3_00/mbm_total_bytes": "10\n",
		"mon_groups/app/mon_data/mon_L3_01/mbm_total_bytes": "Unavailable\n",
		"batch/mon_data/mon_L3_00/mbm_total_bytes":          "5\n",
		"batch/tasks":                                       "7\n",
	} {
		files[Root+"/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

func TestSupported(t *testing.T) {
	if err := Supported(tree()); err != nil {
		t.Error(err)
	}
	if err := Supported(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not mounted: %v", err)
	}
	files := tree()
	files[Root+"/info/L3_MON/mon_features"] = &fstest.MapFile{Data: []byte("llc_occupancy\n")}
	if err := Supported(files); !errors.Is(err, ErrNoBandwidth) || !strings.Contains(err.Error(), "llc_occupancy") {
		t.Errorf("occupancy only: %v", err)
	}
	delete(files, Root+"/info/L3_MON/mon_features")
	if err := Supported(files); !errors.Is(err, ErrNoBandwidth) {
		t.Errorf("no monitoring: %v", err)
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		group string
		want  Totals
	}{
		{"", Totals{"mon_L3_00": 1000, "mon_L3_01": 2000}},
		{"mon_groups/app", Totals{"mon_L3_00": 10}},
		{"batch", Totals{"mon_L3_00": 5}},
	} {
		got, err := Read(tree(), tt.group)
		if err != nil || len(got) != len(tt.want) || got["mon_L3_00"] != tt.want["mon_L3_00"] || got["mon_L3_01"] != tt.want["mon_L3_01"] {
			t.Errorf("%q: %v, %v; want %v", tt.group, got, err, tt.want)
		}
	}
	if _, err := Read(tree(), "mon_groups/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such group: %v", err)
	}
	for content, want := range map[string]error{"Error\n": ErrCounter, "-1\n": sysfile.ErrMalformed, "\n": sysfile.ErrMalformed, strings.Repeat("1", 5000): sysfile.ErrMalformed} {
		files := tree()
		files[Root+"/mon_data/mon_L3_01/mbm_total_bytes"] = &fstest.MapFile{Data: []byte(content)}
		if _, err := Read(files, ""); !errors.Is(err, want) || !strings.Contains(err.Error(), "mon_L3_01") {
			t.Errorf("%.10q: %v, want %v that names the file", content, err, want)
		}
	}
}

func TestAllTasks(t *testing.T) {
	groups, err := AllTasks(tree())
	if err != nil || !slices.Equal(groups, []string{"", "batch"}) {
		t.Errorf("%q, %v; want the default group and the control group", groups, err)
	}
}

func TestDifference(t *testing.T) {
	for _, tt := range []struct {
		name  string
		a, b  Totals
		want  uint64
		whole bool
		fault bool
	}{
		{"both domains", Totals{"0": 1, "1": 2}, Totals{"0": 11, "1": 22}, 30, true, false},
		{"a domain without a value", Totals{"0": 1, "1": 2}, Totals{"0": 11}, 10, false, false},
		{"a new domain", Totals{"0": 1}, Totals{"0": 11, "1": 5}, 10, true, false},
		{"none", Totals{}, Totals{"0": 11}, 0, false, false},
		{"falls", Totals{"0": 5}, Totals{"0": 4}, 0, false, true},
	} {
		got, whole, err := Difference(tt.a, tt.b)
		if got != tt.want || whole != tt.whole || (err != nil) != tt.fault {
			t.Errorf("%s: %d, %v, %v; want %d, %v", tt.name, got, whole, err, tt.want, tt.whole)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0", "18446744073709551615", "Unavailable", "Unassigned", "Error", "-1", "1e3", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bytes, known, err := parse(text)
		if (!known || err != nil) && bytes != 0 || known && err != nil {
			t.Fatalf("%q: %d, %v, %v", text, bytes, known, err)
		}
	})
}
