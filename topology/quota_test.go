package topology

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/requires"
)

func TestReadQuota(t *testing.T) {
	const v1 = "sys/fs/cgroup/cpu/"
	for _, test := range []struct {
		name, cgroup string
		files        map[string]string
		want         float64 // 0 for none
		file         string
	}{
		{"none", "0::/a\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "max 100000\n"}, 0, ""},
		{"own", "0::/a\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5, "/sys/fs/cgroup/a/cpu.max"},
		{"tightest above", "0::/a/b/c\n", map[string]string{
			"sys/fs/cgroup/a/b/c/cpu.max": "max 100000\n",
			"sys/fs/cgroup/a/b/cpu.max":   "400000 100000\n",
			"sys/fs/cgroup/a/cpu.max":     "100000 50000\n",
			"sys/fs/cgroup/cpu.max":       "300000 100000\n",
		}, 2, "/sys/fs/cgroup/a/cpu.max"},
		{"container", "0::/../host\n", map[string]string{"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5, "/sys/fs/cgroup/cpu.max"},
		{"version 1", "3:cpu,cpuacct:/j\n0::/\n", map[string]string{
			v1 + "j/cpu.cfs_quota_us": "-1\n", v1 + "j/cpu.cfs_period_us": "100000\n",
			v1 + "cpu.cfs_quota_us": "25000\n", v1 + "cpu.cfs_period_us": "20000\n",
		}, 1.25, "/" + v1 + "cpu.cfs_quota_us"},
		{"malformed", "0::/\n", map[string]string{"sys/fs/cgroup/cpu.max": "150000\n"}, 0, ""},
		{"without a period", "0::/\n", map[string]string{"sys/fs/cgroup/cpu.max": "150000 0\n"}, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(test.cgroup)}, "sys/bus": {Mode: fs.ModeDir}}
			for name, text := range test.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			q := ReadQuota(below(t, root, "sys"), below(t, root, "proc"), "self")
			if test.want == 0 {
				if q != nil {
					t.Errorf("%v, want none", q)
				}
				return
			}
			if q == nil || q.CPUs != test.want || q.File != test.file {
				t.Errorf("%v, want %v in %s", q, test.want, test.file)
			}
		})
	}
}

func below(t *testing.T, root fs.FS, dir string) fs.FS {
	t.Helper()
	sub, err := fs.Sub(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestQuotaSuffices(t *testing.T) {
	four := cpuset.New(0, 1, 2, 3)
	for _, test := range []struct {
		quota *Quota
		used  int
		want  bool
	}{
		{nil, 4, true},
		{&Quota{CPUs: 4}, 4, true},
		{&Quota{CPUs: 3.9}, 4, false},
		{&Quota{CPUs: 1.5}, 2, false},
		{&Quota{CPUs: 2}, 2, false}, // the threads that switch are on other CPUs
		{&Quota{CPUs: 2.5}, 2, true},
	} {
		if got := test.quota.Suffices(test.used, four); got != test.want {
			t.Errorf("%v for %d CPUs: %v", test.quota, test.used, got)
		}
	}
	if err := (&Quota{CPUs: 3, File: "/sys/fs/cgroup/cpu.max"}).Check(four, four); !errors.Is(err, ErrQuota) || !strings.Contains(err.Error(), "cpu.max permits the CPU time of 3 CPUs, and CPUs 0-3") {
		t.Errorf("got %v", err)
	}
	if err := (*Quota)(nil).Check(four, four); err != nil {
		t.Errorf("without a quota: %v", err)
	}
	if !(&Quota{CPUs: 2}).Suffices(2, cpuset.New(0, 1)) {
		t.Error("as many CPUs as are allowed do not suffice")
	}
}

func TestQuotaNarrows(t *testing.T) {
	all := cpuset.New(0, 1, 2, 3, 4, 5, 6, 7)
	p := Placement{Target: cpuset.New(0, 1, 2, 3), Interferer: cpuset.New(4, 5, 6, 7)}
	for _, test := range []struct {
		quota *Quota
		want  []int // nil for no change
	}{
		{nil, nil},
		{&Quota{CPUs: 8}, nil},
		{&Quota{CPUs: 1.9}, nil},
		{&Quota{CPUs: 2}, []int{0, 4}},
		{&Quota{CPUs: 5.5}, []int{0, 1, 2, 4, 5}},
	} {
		within, narrowed := test.quota.Narrow(p, all)
		if want := cpuset.New(test.want...); narrowed != (test.want != nil) || narrowed && !within.Equals(want) {
			t.Errorf("%v: %v, want %v", test.quota, within, want)
		}
		if narrowed && !test.quota.Suffices(within.Size(), within) {
			t.Errorf("%v does not suffice for %v", test.quota, within)
		}
	}
}

func TestThrottled(t *testing.T) {
	proc := fstest.MapFS{"7/cgroup": {Data: []byte("0::/a\n")}}
	sys := fstest.MapFS{
		"fs/cgroup/a/cpu.stat": {Data: []byte("usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 10\n")},
		"fs/cgroup/cpu.stat":   {Data: []byte("nr_throttled 2\n")},
	}
	if n := Throttled(sys, proc, "7"); n != 5 {
		t.Errorf("%d times, want 5", n)
	}
	if n := Throttled(sys, proc, "8"); n != 0 {
		t.Errorf("%d times of no process", n)
	}
}

// The kernel's own files have the form that the tests above assume.
func TestReadQuotaOfKernel(t *testing.T) {
	made := false
	for root, file := range map[string][2]string{
		"/sys/fs/cgroup":     {"cpu.max", "150000 100000"},
		"/sys/fs/cgroup/cpu": {"cpu.cfs_quota_us", "150000"},
	} {
		folder, err := os.MkdirTemp(root, "bandmate-test-") //nolint:usetesting // it has to lie in cgroupfs
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(folder); err != nil {
				t.Error(err)
			}
		})
		// The kernel has made the file, unless the controller is missing.
		quota, err := os.OpenFile(filepath.Join(folder, file[0]), os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		_, err = quota.WriteString(file[1])
		if err := errors.Join(err, quota.Close()); err != nil {
			t.Fatal(err)
		}
		made = true
		controller := strings.Trim(strings.TrimPrefix(root, "/sys/fs/cgroup"), "/")
		proc := fstest.MapFS{"self/cgroup": {Data: []byte("0:" + controller + ":/" + filepath.Base(folder) + "\n")}}
		q := ReadQuota(os.DirFS("/sys"), proc, "self")
		if q == nil || q.CPUs != 1.5 || q.File != filepath.Join(folder, file[0]) {
			t.Errorf("%s: %v, want 1.5 CPUs", folder, q)
		}
	}
	if !made {
		requires.Unmet(t, "needs to make a control group with the controller cpu (root)")
	}
}
