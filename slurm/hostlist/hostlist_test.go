package hostlist

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The names are what `scontrol show hostnames` of Slurm 22.05.8 prints for the
// list; where that differs, a remark says so.
func expansions() []struct{ list, names string } {
	return []struct{ list, names string }{
		{"n[01-04,7]", "n01 n02 n03 n04 n7"},
		{"n1,n2", "n1 n2"},
		{"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
		{"n[9-11]", "n9 n10 n11"},
		{"n[08-10]", "n08 n09 n10"},
		{"x", "x"},
		{"a,,b", "a b"},
		{"n[098-101]", "n098 n099 n100 n101"},
		{"rack[0-1]n[01-02,5],login1", "rack0n01 rack0n02 rack0n5 rack1n01 rack1n02 rack1n5 login1"},
		{"n[5]", "n5"},
		{"n[1,1]", "n1 n1"},
		{"n1-4", "n1-4"},
		{"", ""},
	}
}

func TestExpand(t *testing.T) {
	for _, test := range append(expansions(),
		struct{ list, names string }{"n[1-2]-ib", "n1-ib n2-ib"}, // 22.05 takes no text after the last bracket
	) {
		got, err := Expand(test.list)
		if err != nil {
			t.Errorf("%q: %v", test.list, err)
		}
		if diff := cmp.Diff(strings.Fields(test.names), got, cmp.Comparer(equal)); diff != "" {
			t.Errorf("%q: %s", test.list, diff)
		}
	}
}

func equal(a, b []string) bool { return slices.Equal(a, b) }

// TestExpandAsScontrol holds the table against the scontrol that is installed.
func TestExpandAsScontrol(t *testing.T) {
	if _, err := exec.LookPath("scontrol"); err != nil {
		t.Skip("needs scontrol: install slurm-client")
	}
	if exec.CommandContext(t.Context(), "scontrol", "show", "hostnames", "n1").Run() != nil {
		t.Skip("needs a configured Slurm: see hack/slurm.sh")
	}
	for _, test := range expansions() {
		if test.list == "" {
			continue // without a list, scontrol takes SLURM_JOB_NODELIST
		}
		got, err := exec.CommandContext(t.Context(), "scontrol", "show", "hostnames", test.list).Output()
		if err != nil || strings.Join(strings.Fields(string(got)), " ") != test.names {
			t.Errorf("%q: scontrol says %q, %v; want %q", test.list, got, err, test.names)
		}
	}
}

func TestExpandMalformed(t *testing.T) {
	for list, want := range map[string]string{
		"n[1-3":                   "at byte 1: the bracket is not closed",
		"n[":                      "at byte 1: the bracket is not closed",
		"n[]":                     `at byte 1: "" to "" in a bracket: want numbers`,
		"n[1-]":                   `at byte 1: "1" to "" in a bracket: want numbers`,
		"n[a]":                    `at byte 1: "a" to "a" in a bracket: want numbers`,
		"n[+1]":                   `at byte 1: "+1" to "+1" in a bracket: want numbers`,
		"n[1;2]":                  `at byte 1: "1;2" to "1;2" in a bracket: want numbers`,
		"n[1-2-3]":                `at byte 1: "1" to "2-3" in a bracket: want numbers`,
		"n[12345678901234567890]": "want numbers of 1 to 18 digits",
		"n[3-1]":                  "at byte 1: the range 3-1 goes backwards",
		"n]1":                     `at byte 1: ']' cannot be in a node name`,
		"n1, n2":                  `at byte 3: ' ' cannot be in a node name`,
		"n$(reboot)":              `at byte 1: '$' cannot be in a node name`,
	} {
		if _, err := Expand(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", list, err, want)
		}
	}
	long := strings.Repeat("x", 500) + "]"
	if _, err := Expand(long); err == nil || len(err.Error()) > 200 {
		t.Errorf("a long list: %v", err)
	}
}

func TestExpandBounds(t *testing.T) {
	for _, list := range []string{"n[0-99999999]", "a[0-999]b[0-999]", "n[1-100000],m[1-100000]", "n[0-999999999999999999]"} {
		if _, err := Expand(list); !errors.Is(err, ErrTooMany) {
			t.Errorf("%q: %v, want %v", list, err, ErrTooMany)
		}
	}
	if got, err := Expand("n[1-131072]"); err != nil || len(got) != Most {
		t.Errorf("as many as may be: %d, %v", len(got), err)
	}
}

func TestCompress(t *testing.T) {
	for _, test := range []struct{ names, want string }{
		{"", ""},
		{"n1", "n1"},
		// As scontrol show hostlist of 22.05.8, but for the order.
		{"n01 n02 n03 n10 x1 x2 n1-ib n2-ib n099 n100", "n1-ib,n[01-03,10,099-100],n2-ib,x[1-2]"},
		{"n3 n1 n2 n2", "n[1-3]"},
		{"n9 n10", "n[9-10]"},
		{"n09 n10", "n[09-10]"},
		{"n1 n01", "n[1,01]"},
		{"login node1 node2", "login,node[1-2]"},
		{"n99 n100 n101", "n[99-101]"},
		{"1 2 3", "[1-3]"},
	} {
		if got := Compress(strings.Fields(test.names)); got != test.want {
			t.Errorf("%s: %s, want %s", test.names, got, test.want)
		}
	}
}

// TestCompressExpand checks that what is compressed expands to the same names,
// sorted, each once.
func TestCompressExpand(t *testing.T) {
	name := rapid.StringMatching(`[a-c.-]{0,2}[0-9]{0,3}[a-b]{0,1}[0-9]{0,3}`).Filter(func(s string) bool { return s != "" })
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(name, 0, 30).Draw(t, "names")
		list := Compress(names)
		got, err := Expand(list)
		if err != nil {
			t.Fatalf("%v → %q: %v", names, list, err)
		}
		want := slices.Compact(slices.SortedFunc(slices.Values(names), Compare))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%v → %q → %v", names, list, got)
		}
	})
}

// TestCompare checks that the order is one.
func TestCompare(t *testing.T) {
	sorted := []string{"", "a", "a1", "a01", "a2", "a10", "a10b1", "a10b2", "b", "node2", "node10"}
	for i, a := range sorted {
		for j, b := range sorted {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := Compare(a, b); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, test := range expansions() {
		f.Add(test.list)
	}
	f.Add("n[1-3")
	f.Add("n[0-99999999]")
	f.Fuzz(func(t *testing.T, list string) {
		names, err := Expand(list)
		if err != nil {
			if len(names) > 0 {
				t.Fatal("names beside an error")
			}
			return
		}
		for _, name := range names {
			if !Valid(name) {
				t.Fatalf("%q is no name", name)
			}
		}
		again, err := Expand(Compress(names))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(again)
		slices.Sort(names)
		if !slices.Equal(again, slices.Compact(names)) {
			t.Fatalf("%q: %v compressed and expanded again: %v", list, names, again)
		}
	})
}
