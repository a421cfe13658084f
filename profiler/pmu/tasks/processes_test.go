package tasks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// family is a procfs of processes with their parent and threads.
func family(members map[int]int, threads map[int][]int, ended ...int) fstest.MapFS {
	proc := fstest.MapFS{}
	for pid, parent := range members {
		letter := "S"
		if slices.Contains(ended, pid) {
			letter = "Z"
		}
		proc[fmt.Sprintf("%d/stat", pid)] = statFile(pid, letter, parent, 0)
		for _, thread := range append(threads[pid], pid) {
			proc[fmt.Sprintf("%d/task/%d/comm", pid, thread)] = &fstest.MapFile{}
		}
	}
	return proc
}

// statFile is the file stat of a process with one thread.
func statFile(pid int, state string, parent, session int) *fstest.MapFile {
	return &fstest.MapFile{Data: fmt.Appendf(nil, "%d (p) %s %d 9 %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99\n", pid, state, parent, session)}
}

func TestTreeThreads(t *testing.T) {
	self := os.Getpid()
	proc := family(map[int]int{self: 1, 1000001: self, 1000002: 1000001, 1000003: 1, 1000004: self, 1000005: 1000004}, map[int][]int{self: {1000010, 1000011}, 1000002: {1000012}}, 1000004)
	proc["self/stat"] = &fstest.MapFile{}
	proc["1000006/stat"] = &fstest.MapFile{Data: []byte("malformed")}
	// An orphan in the session of a descendant, and its child there.
	proc["1000007/stat"] = statFile(1000007, "S", 1, 1000001)
	proc["1000008/stat"] = statFile(1000008, "S", 1000007, 1000001)
	proc["1000007/task/1000007/comm"], proc["1000008/task/1000008/comm"] = &fstest.MapFile{}, &fstest.MapFile{}
	tree, err := OpenTree(proc, self)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	got, err := tree.Threads()
	if want := []int{self, 1000001, 1000002, 1000007, 1000008, 1000010, 1000011, 1000012}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := OpenTree(proc, math.MaxInt32); !errors.Is(err, ErrEnded) {
		t.Errorf("a process that is none: %v", err)
	}
	if _, err := (&Tree{proc: fstest.MapFS{"x": {}}, pid: self, pidfd: tree.pidfd}).Threads(); err != nil {
		t.Errorf("without its own entry: %v", err)
	}
}

// TestTreeCycle: numbers are reused, so a walk may meet one again.
func TestTreeCycle(t *testing.T) {
	self := os.Getpid()
	tree, err := OpenTree(family(map[int]int{self: 1000001, 1000001: self}, nil), self)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if got, err := tree.Threads(); err != nil || !slices.Equal(got, []int{self, 1000001}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestTreeOfReal follows processes of this machine to their end.
func TestTreeOfReal(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exec 3<&0; cat <&3 & cat; wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tree, err := OpenTree(os.DirFS("/proc"), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tree.Wait(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up: %v", err)
	}
	// The shell starts its commands when it gets to it.
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		threads, err := tree.Threads()
		if err != nil {
			t.Fatal(err)
		}
		if len(threads) == 3 {
			break
		}
		if time.Since(start) > 30*time.Second {
			t.Fatalf("threads %v, want those of a shell and its two commands", threads)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tree.Wait(t.Context()); err != nil {
		t.Errorf("waiting: %v", err)
	}
	if threads, err := tree.Threads(); err != nil || len(threads) != 0 {
		t.Errorf("threads %v, %v after the end", threads, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// write makes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCgroup(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []int
		text  string
	}{
		{name: "version 2, with groups below", files: map[string]string{
			"cgroup.procs": "", "cgroup.threads": "", "cgroup.events": "populated 1\nfrozen 0\n",
			"a/cgroup.threads": "5\n4\n", "a/b/cgroup.threads": "7\n",
		}, want: []int{4, 5, 7}},
		{name: "version 1", files: map[string]string{"cgroup.procs": "9\n", "tasks": "9\n10\n", "a/tasks": "11\n"}, want: []int{9, 10, 11}},
		{name: "empty", files: map[string]string{"cgroup.procs": "", "cgroup.threads": ""}},
		{name: "another namespace", files: map[string]string{"cgroup.procs": "0\n", "cgroup.threads": "0\n"}, text: "PID namespace"},
		{name: "malformed", files: map[string]string{"cgroup.procs": "", "a/cgroup.threads": "many\n"}, text: "not a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, tt.files)
			c, err := OpenCgroup(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got, err := c.Threads()
			if tt.text != "" {
				if err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%v, %v; want %q", got, err, tt.text)
				}
				return
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestCgroupWait(t *testing.T) {
	for _, tt := range []struct {
		name, file, full, empty string
	}{
		{"version 2", "cgroup.events", "populated 1\n", "populated 0\n"},
		{"version 1", "tasks", "12\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"cgroup.procs": "12\n", tt.file: tt.full})
			c, err := OpenCgroup(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			canceled, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.Wait(canceled); !errors.Is(err, context.Canceled) {
				t.Errorf("a wait that was given up: %v", err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait(t.Context()) }()
			write(t, dir, map[string]string{tt.file: tt.empty})
			if err := <-ended; err != nil {
				t.Errorf("waiting: %v", err)
			}
		})
	}
}

func TestOpenCgroupFaults(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenCgroup(dir); err == nil || !strings.Contains(err.Error(), "not a cgroup") {
		t.Errorf("any folder: %v", err)
	}
	if _, err := OpenCgroup("no/such/group"); err == nil || !strings.Contains(err.Error(), CgroupRoot) {
		t.Errorf("no folder: %v, want it looked for below %s", err, CgroupRoot)
	}
}

func TestFindPod(t *testing.T) {
	const uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
	const other = "aaaaaaaa-2fa1-11d2-883f-0016d3cca427"
	const systemd = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice"
	for _, tt := range []struct{ name, folder, uid, want string }{
		{"systemd", systemd, uid, systemd},
		{"capitals", systemd, strings.ToUpper(uid), systemd},
		{"guaranteed", "kubepods.slice/kubepods-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice", uid, "kubepods.slice/kubepods-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice"},
		{"cgroupfs", "kubepods/burstable/pod" + uid, uid, "kubepods/burstable/pod" + uid},
		{"nested kubelet", "docker/abc/kubelet/kubepods/pod" + uid, uid, "docker/abc/kubelet/kubepods/pod" + uid},
		{"another pod", systemd, other, ""},
		{"a part of a UID", systemd, "1b4e28ba", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FindPod(fstest.MapFS{tt.folder + "/cri-1/cgroup.procs": {}}, tt.uid)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}
