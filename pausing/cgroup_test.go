package pausing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
)

// hierarchy is where cgroups can be made.
type hierarchy struct{ version, root string }

// freezers lists where cgroups with a freezer can be made; nothing for most users.
func freezers(t testing.TB) []hierarchy {
	t.Helper()
	var list []hierarchy
	for _, h := range []hierarchy{{"v2", "/sys/fs/cgroup"}, {"v2", "/sys/fs/cgroup/unified"}, {"v1", "/sys/fs/cgroup/freezer"}} {
		var fs unix.Statfs_t
		magic := int64(unix.CGROUP2_SUPER_MAGIC)
		if h.version == "v1" {
			magic = unix.CGROUP_SUPER_MAGIC
		}
		if unix.Statfs(h.root, &fs) != nil || fs.Type != magic {
			continue
		}
		folder := filepath.Join(h.root, fmt.Sprintf("bandmate-try-%d", os.Getpid()))
		if os.Mkdir(folder, 0o755) == nil {
			_ = os.Remove(folder)
			list = append(list, h)
		}
	}
	return list
}

// make makes a cgroup, which is removed after the test.
func (h hierarchy) make(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp(h.root, "bandmate-test-") //nolint:usetesting // it has to lie in cgroupfs
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// When what is in it was killed, and has left.
		waitFor(t, "an empty cgroup", func() bool {
			err = os.Remove(folder)
			return !errors.Is(err, unix.EBUSY)
		})
		if err != nil {
			t.Error(err)
		}
	})
	return folder
}

func (h hierarchy) move(t testing.TB, folder string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Fatal(err)
	}
}

// isFrozen asks the kernel.
func (h hierarchy) isFrozen(t testing.TB, folder string) bool {
	t.Helper()
	file, word := "cgroup.events", "frozen 1"
	if h.version == "v1" {
		file, word = "freezer.state", "FROZEN"
	}
	data, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(data), word)
}

// freeze does what somebody else would do.
func (h hierarchy) freeze(t testing.TB, folder string, frozen bool) {
	t.Helper()
	file, word := "cgroup.freeze", map[bool]string{true: "1", false: "0"}[frozen]
	if h.version == "v1" {
		file, word = "freezer.state", map[bool]string{true: "FROZEN", false: "THAWED"}[frozen]
	}
	if err := os.WriteFile(filepath.Join(folder, file), []byte(word), 0); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the freezer", func() bool { return h.isFrozen(t, folder) == frozen })
}

func freezing(t testing.TB, folder string) *Group {
	t.Helper()
	g, err := Cgroup(folder)
	if err != nil {
		t.Fatal(err)
	}
	g.SetLongest(patience)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// eachFreezer runs a test with a cgroup in which a program computes.
func eachFreezer(t *testing.T, test func(t *testing.T, h hierarchy, folder string, pid int)) {
	list := freezers(t)
	if len(list) == 0 {
		requires.Unmet(t, "needs the right to make cgroups with a freezer")
	}
	for _, h := range list {
		t.Run(h.version, func(t *testing.T) {
			folder := h.make(t)
			pid := shell(t, "echo ready; "+spin).Process.Pid
			h.move(t, folder, pid)
			test(t, h, folder, pid)
		})
	}
}

func TestFreezes(t *testing.T) {
	eachFreezer(t, func(t *testing.T, h hierarchy, folder string, pid int) {
		g := freezing(t, folder)
		if _, err := Cgroup(folder); !errors.Is(err, ErrBusy) {
			t.Errorf("a second group: %v, want %v", err, ErrBusy)
		}
		for range 20 {
			if err := g.Pause(); err != nil {
				t.Fatal(err)
			}
			if !h.isFrozen(t, folder) {
				t.Error("not frozen")
			}
			if err := g.Continue(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the thaw", func() bool { return !h.isFrozen(t, folder) })
		}
	})
}

func TestFrozenByOthers(t *testing.T) {
	eachFreezer(t, func(t *testing.T, h hierarchy, folder string, pid int) {
		g := freezing(t, folder)
		h.freeze(t, folder, true)
		if err := errors.Join(g.Pause(), g.Continue(), g.Close()); err != nil {
			t.Fatal(err)
		}
		if !h.isFrozen(t, folder) {
			t.Error("thawed what somebody else froze")
		}
		h.freeze(t, folder, false)
	})
}

func TestFrozenProgramEnds(t *testing.T) {
	eachFreezer(t, func(t *testing.T, h hierarchy, folder string, pid int) {
		g := freezing(t, folder)
		if err := g.Pause(); err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := g.Continue(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the end", func() bool { return strings.Trim(states(t, pid), "Z") == "" })
		if err := g.Pause(); !errors.Is(err, ErrEnded) {
			t.Errorf("an empty cgroup: %v, want %v", err, ErrEnded)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if _, err := Cgroup(folder); !errors.Is(err, ErrEnded) {
			t.Errorf("an empty cgroup: %v, want %v", err, ErrEnded)
		}
	})
}

// Without a freezer the processes of a cgroup get signals.
func TestCgroupWithoutFreezer(t *testing.T) {
	pids := []int{
		shell(t, "echo ready; "+spin).Process.Pid,
		shell(t, "sleep 300 & echo ready; wait").Process.Pid,
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, file := range []string{"cgroup.procs", "below/cgroup.procs"} {
		if err := os.WriteFile(filepath.Join(folder, file), fmt.Appendf(nil, "%d\n", pids[i]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if listed, err := CgroupProcesses(folder); err != nil || !slices.Equal(slices.Sorted(slices.Values(listed)), slices.Sorted(slices.Values(pids))) {
		t.Errorf("CgroupProcesses: %v, %v; want %v", listed, err, pids)
	}
	g := freezing(t, folder)
	if err := g.Pause(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		wantStopped(t, pid)
	}
	if err := g.Continue(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		wantRunning(t, pid)
	}
	// What is in the cgroup counts, not whose child it is.
	wantRunning(t, childOf(t, pids[1]))
}

func TestCgroupRefuses(t *testing.T) {
	folder := t.TempDir()
	if _, err := Cgroup(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is no cgroup: %v", err)
	}
	for _, no := range []string{"no/such/group", folder} {
		if _, err := CgroupProcesses(no); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "is not a cgroup") {
			t.Errorf("CgroupProcesses(%q): %v", no, err)
		}
	}
	procs := filepath.Join(folder, "cgroup.procs")
	for content, want := range map[string]error{
		"":                                ErrEnded,
		"0\n":                             ErrRefused,
		"1\n":                             ErrRefused,
		strconv.Itoa(os.Getpid()) + "\n":  ErrRefused,
		strconv.Itoa(os.Getppid()) + "\n": ErrRefused,
		strconv.Itoa(1<<30) + "\n":        ErrEnded,
	} {
		if err := os.WriteFile(procs, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Cgroup(folder); !errors.Is(err, want) {
			t.Errorf("with %q: %v, want %v", content, err, want)
		}
	}
}
