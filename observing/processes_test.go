package observing

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// family makes snapshots a second apart. Each process is number, parent, and what
// it used of the second in percent.
func family(kernel int, processes ...[3]int) (before, after Snapshot) {
	at := time.Unix(1000, 0)
	before, after = Snapshot{At: at, Processes: map[int]Process{}}, Snapshot{At: at.Add(time.Second), Processes: map[int]Process{}}
	for _, p := range processes {
		one := Process{PID: p[0], Parent: p[1], Name: "p", Start: uint64(p[0]), Kernel: p[0] == kernel, Time: time.Minute}
		before.Processes[p[0]] = one
		one.Time += time.Duration(p[2]) * 10 * time.Millisecond
		after.Processes[p[0]] = one
	}
	return before, after
}

func TestBusy(t *testing.T) {
	const self, target, kernel = 30, 20, 2
	before, after := family(kernel,
		[3]int{1, 0, 50}, [3]int{kernel, 0, 90}, [3]int{10, 1, 5}, // 10 is the shell of everybody
		[3]int{target, 10, 90}, [3]int{21, target, 90}, // the target and its child
		[3]int{29, 10, 80}, [3]int{self, 29, 70}, [3]int{31, self, 60}, // this process, its parent and its child
		[3]int{40, 10, 30}, [3]int{41, 40, 50}, [3]int{42, 41, 10}, // works with its children
		[3]int{50, 10, 0}, [3]int{51, 50, 60}, // is idle, and its child works
		[3]int{60, 10, 70},                     // elsewhere
		[3]int{70, 10, 0}, [3]int{80, 999, 20}, // idle; without its parent
		[3]int{43, 1, 5}, // an orphan in the session of 40
	)
	orphan := after.Processes[43]
	orphan.Session = 40
	after.Processes[43] = orphan
	// The number of another process before.
	reused := after.Processes[80]
	reused.Start++
	reused.Time = 200 * time.Millisecond
	after.Processes[80] = reused
	workers := Busy(before, after, []int{target}, self, func(pid int) bool { return pid != 60 })
	var got []int
	for _, w := range workers {
		got = append(got, w.PID)
	}
	if want := []int{40, 51, 80}; !slices.Equal(got, want) {
		t.Fatalf("workers %v, want %v", got, want)
	}
	if cpus := workers[0].CPUs; cpus < 0.94 || cpus > 0.96 {
		t.Errorf("40 kept %v CPUs busy with its children and an orphan, want 0.95", cpus)
	}
}

func TestSnapshotRelations(t *testing.T) {
	_, s := family(0, [3]int{1, 0, 0}, [3]int{2, 1, 0}, [3]int{3, 2, 0}, [3]int{4, 1, 0})
	if !s.Overlaps([]int{2}, []int{3}) || s.Overlaps([]int{3}, []int{2}) || s.Overlaps([]int{2}, []int{4}) || s.Overlaps([]int{9}, []int{3}) {
		t.Error("who is paused with whom")
	}
	if got := s.Roots([]int{2, 3, 4, 9}); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("roots %v, want 2 and 4", got)
	}
	s.Processes[5] = Process{PID: 5, Parent: 1, Session: 2}
	if !s.Overlaps([]int{2}, []int{5}) || s.Overlaps([]int{4}, []int{5}) {
		t.Error("an orphan in the session of another process")
	}
	// Numbers read while processes end may form a ring.
	s.Processes[1] = Process{PID: 1, Parent: 3}
	if s.Overlaps([]int{4}, []int{3}) {
		t.Error("a ring ends somewhere")
	}
}

func TestTakeSnapshot(t *testing.T) {
	before, err := TakeSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	self, ok := before.Processes[os.Getpid()]
	if !ok || self.Parent != os.Getppid() || self.Kernel {
		t.Fatalf("this process: %+v, %v", self, ok)
	}
	earlier := self
	earlier.Start--
	if !self.Lives() || earlier.Lives() || (Process{PID: 1 << 30}).Lives() {
		t.Errorf("this process lives: %v, an earlier one with its number: %v", self.Lives(), earlier.Lives())
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		now, err := TakeSnapshot()
		if err != nil {
			t.Fatal(err)
		}
		if command := Command(now.Processes[cmd.Process.Pid]); command == "sleep 60" {
			break
		} else if time.Since(begin) > time.Minute {
			t.Fatalf("its command is %q", command)
		}
	}
	cpus, err := CPUsOf(cmd.Process.Pid)
	if allowed, _ := topology.AllowedCPUs(); err != nil || !cpus.Equals(allowed) {
		t.Errorf("CPUs %v, %v; want those of this process, %v", cpus, err, allowed)
	}
}

func TestDomain(t *testing.T) {
	files := fstest.MapFS{
		"devices/system/cpu/online":          {Data: []byte("0-3\n")},
		"devices/system/node/online":         {Data: []byte("0-1\n")},
		"devices/system/node/node0/cpulist":  {Data: []byte("0-1\n")},
		"devices/system/node/node1/cpulist":  {Data: []byte("2-3\n")},
		"devices/system/node/node0/distance": {Data: []byte("10 20\n")},
		"devices/system/node/node1/distance": {Data: []byte("20 10\n")},
		"devices/system/node/node0/meminfo":  {Data: []byte("Node 0 MemTotal: 1024 kB\n")},
		"devices/system/node/node1/meminfo":  {Data: []byte("Node 1 MemTotal: 1024 kB\n")},
	}
	m, err := topology.Read(files, fstest.MapFS{"meminfo": {Data: []byte("MemTotal: 2048 kB\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ cpus, want string }{{"0", "0-1"}, {"3", "2-3"}, {"1-2", "0-3"}} {
		cpus, _ := cpuset.Parse(test.cpus)
		if got := Domain(m, cpus); got.String() != test.want {
			t.Errorf("Domain(%s) = %s, want %s", test.cpus, got, test.want)
		}
	}
}
