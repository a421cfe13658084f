package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/profiler/pmu/perf"
)

// opener counts what is open. Every event counts 100 in half of its time.
type opener struct {
	refuse func(thread int, e perf.Event) error
	// threads that were opened, by the label of the event.
	threads map[string][]int
	open    int
	broken  bool
}

func (o *opener) OpenCPU(int, []perf.Event) (perf.Group, error) { return nil, syscall.EINVAL }

func (o *opener) OpenCommand(e perf.Event) (perf.Group, error) { return o.OpenThread(0, e) }

func (o *opener) OpenThread(thread int, e perf.Event) (perf.Group, error) {
	if o.refuse != nil {
		if err := o.refuse(thread, e); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Label, err)
		}
	}
	o.open++
	if o.threads == nil {
		o.threads = map[string][]int{}
	}
	o.threads[e.Label] = append(o.threads[e.Label], thread)
	return &counting{opener: o}, nil
}

type counting struct{ *opener }

func (c *counting) Read(r *perf.CounterSample) error {
	if c.broken {
		return perf.ErrVanished
	}
	*r = perf.CounterSample{Values: []uint64{100}, Enabled: 2 * time.Second, Running: time.Second}
	return nil
}

func (c *counting) Close() error {
	c.open--
	return nil
}

// snapshots are processes whose threads change at every look.
type snapshots struct {
	looks [][]int
	err   error
}

func (s *snapshots) Threads() ([]int, error) {
	if len(s.looks) == 0 {
		return nil, s.err
	}
	now := s.looks[0]
	if len(s.looks) > 1 || s.err != nil {
		s.looks = s.looks[1:]
	}
	return now, nil
}
func (*snapshots) Wait(context.Context) error { return nil }
func (*snapshots) String() string             { return "process 1" }

func twoEvents() []Event {
	return []Event{{Event: perf.Event{Label: "a"}}, {Event: perf.Event{Label: "b"}, InKernel: true}}
}

func TestAddProcesses(t *testing.T) {
	broken := errors.New("broken")
	growing := func() (looks [][]int) {
		for i := range 100 {
			looks = append(looks, []int{1, 100 + i})
		}
		return looks
	}
	for _, tt := range []struct {
		name       string
		looks      [][]int
		err        error
		refuse     func(int, perf.Event) error
		want       []int // threads that count in the end
		unattached int
		is         error
	}{
		{name: "steady", looks: [][]int{{1, 2}}, want: []int{1, 2}},
		{name: "a thread appears", looks: [][]int{{1}, {1, 2}, {1, 2}}, want: []int{1, 2}},
		{name: "a thread ends", looks: [][]int{{1, 2}, {1}}, want: []int{1, 2}},
		{name: "a thread ends before it is opened", looks: [][]int{{1, 2}}, want: []int{1}, refuse: func(thread int, _ perf.Event) error {
			if thread == 2 {
				return syscall.ESRCH
			}
			return nil
		}},
		{name: "never steady", looks: growing(), want: []int{1, 109}, unattached: 1},
		{name: "ended", looks: [][]int{{}}, is: ErrEnded},
		{name: "cannot be listed", err: broken, is: broken},
		{name: "cannot be listed again", looks: [][]int{{1}}, err: broken, is: broken},
		{name: "too many descriptors", looks: [][]int{{1, 2}}, is: syscall.EMFILE, refuse: func(thread int, _ perf.Event) error {
			if thread == 2 {
				return syscall.EMFILE
			}
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &opener{refuse: tt.refuse}
			c := NewCounters(o, twoEvents()...)
			unattached, err := c.AddProcesses(&snapshots{looks: tt.looks, err: tt.err})
			if !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) || unattached != tt.unattached {
				t.Errorf("%d unattached, %v; want %d, %v", unattached, err, tt.unattached, tt.is)
			}
			if o.open != 2*len(tt.want) || c.Len() != len(tt.want) {
				t.Errorf("%d counters open for %d threads, want two for each of %v", o.open, c.Len(), tt.want)
			}
			if all := o.threads["a"]; err == nil && !slices.Equal(all[len(all)-len(tt.want):], tt.want) {
				t.Errorf("opened %v, want %v in the end", all, tt.want)
			}
			if err := c.Close(); err != nil || o.open != 0 {
				t.Errorf("%d counters left open, %v", o.open, err)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	forbid := func(_ int, e perf.Event) error {
		if !e.UserOnly {
			return syscall.EACCES
		}
		return nil
	}
	for _, tt := range []struct {
		name   string
		refuse func(int, perf.Event) error
		want   []Count
	}{
		{"all", nil, []Count{{Value: 400, RunningShare: 0.5}, {Value: 400, RunningShare: 0.5}}},
		{"user space alone", forbid, []Count{{Value: 400, RunningShare: 0.5, UserOnly: true}, {RunningShare: 1, Err: syscall.EACCES}}},
		{"no such event", func(_ int, e perf.Event) error {
			if e.Label == "a" {
				return syscall.ENOENT
			}
			return nil
		}, []Count{{RunningShare: 1, Err: syscall.ENOENT}, {Value: 400, RunningShare: 0.5}}},
		{"nothing", func(int, perf.Event) error { return syscall.ENOSYS }, []Count{{RunningShare: 1, Err: syscall.ENOSYS}, {RunningShare: 1, Err: syscall.ENOSYS}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &opener{refuse: tt.refuse}
			c := NewCounters(o, twoEvents()...)
			if err := errors.Join(c.AddLaunch(), c.AddLaunch()); err != nil {
				t.Fatal(err)
			}
			got, err := c.Counts()
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				if g := got[i]; g.Value != want.Value || g.RunningShare != want.RunningShare || g.UserOnly != want.UserOnly || !errors.Is(g.Err, want.Err) {
					t.Errorf("event %d: %+v, want %+v", i, g, want)
				}
			}
			o.broken = true
			if _, err := c.Counts(); o.open > 0 && !errors.Is(err, perf.ErrVanished) {
				t.Errorf("unreadable: %v", err)
			}
			if err := c.Close(); err != nil || o.open != 0 {
				t.Errorf("%d counters left open, %v", o.open, err)
			}
		})
	}
}

// The counters of a launch are closed before the next: the thread that starts both would pass
// them on.
func TestLaunchesAreCountedOnce(t *testing.T) {
	o := &opener{}
	c := NewCounters(o, twoEvents()...)
	for n := range 4 {
		if err := c.AddLaunch(); err != nil {
			t.Fatal(err)
		}
		if o.open != 2 || c.Len() != n+1 {
			t.Errorf("after %d launches %d counters are open and %d launches counted", n+1, o.open, c.Len())
		}
	}
	counts, err := c.Counts()
	if err != nil || counts[0].Value != 800 || counts[1].RunningShare != 0.5 {
		t.Errorf("%+v, %v", counts, err)
	}
	if err := c.Close(); err != nil || o.open != 0 {
		t.Errorf("%d counters left open, %v", o.open, err)
	}
}

func TestActivityOf(t *testing.T) {
	counts := []Count{
		taskClock:       {Value: 2.5e9, RunningShare: 1},
		contextSwitches: {Err: syscall.EACCES},
		instructions:    {Value: 7e9, RunningShare: 0.5, UserOnly: true},
	}
	a := ActivityOf(counts)
	if a == nil || *a.CPUSeconds != 2.5 || *a.Instructions != 7e9 || !a.InstructionsUserOnly || a.ContextSwitches != nil {
		t.Errorf("%+v", a)
	}
	counts[instructions] = Count{RunningShare: 0}
	if a := ActivityOf(counts); a.Instructions != nil || a.InstructionsUserOnly {
		t.Errorf("%+v: instructions that were never counted", a)
	}
	counts[instructions] = Count{Value: 7e9, RunningShare: 0.01}
	if a := ActivityOf(counts); a.Instructions != nil {
		t.Errorf("%v instructions, of which 1%% were counted", *a.Instructions)
	}
	if a := ActivityOf([]Count{{Err: io.EOF}, {Err: io.EOF}, {Err: io.EOF}}); a != nil {
		t.Errorf("%+v of nothing", a)
	}
	if a := ActivityOf(nil); a != nil {
		t.Errorf("%+v of no counts", a)
	}
}

const (
	burnArgument = "burn-cpu-time"
	burn         = 60 * time.Millisecond
)

// TestMain lets this program be the application that is counted.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == burnArgument {
		os.Exit(burner(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// burner waits for its standard input to end, and burns CPU time in a thread of
// its own and, when told to, in a child.
func burner(arguments []string) int {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		for start := threadTime(); threadTime()-start < burn; {
		}
		close(done)
	}()
	<-done
	if len(arguments) > 0 {
		if exec.Command("/proc/self/exe", burnArgument).Run() != nil {
			return 1
		}
	}
	return 0
}

// threadTime is the CPU time of the calling thread.
func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// TestRealActivity counts a process that starts a thread and a process after
// the counters were attached, and a command from its start. Both have to show
// the CPU time that was burned. One thread runs after the other, so nothing is
// counted twice where that is no more than the wall time. The system accounts
// less: the kernel's clock of a task runs on while a hypervisor has the CPU.
func TestRealActivity(t *testing.T) {
	for _, attach := range []bool{true, false} {
		t.Run(fmt.Sprintf("attached %v", attach), func(t *testing.T) {
			before := descriptors(t)
			start := time.Now()
			counts, used := activityOfBurner(t, attach)
			most := max(time.Since(start), used*3/2)
			if counts[taskClock].Err != nil {
				requires.Unmet(t, "needs permission to count processes: %v", counts[taskClock].Err)
			}
			a := ActivityOf(counts)
			if least := 2 * burn.Seconds(); *a.CPUSeconds < 0.99*least || *a.CPUSeconds > most.Seconds() {
				t.Errorf("%v s of CPU time, want at least %v s that were burned and at most %v in all", *a.CPUSeconds, least, most)
			}
			if counts[contextSwitches].Err == nil && !(*a.ContextSwitches > 0) {
				t.Errorf("%v context switches, want that the end of a process is one", *a.ContextSwitches)
			}
			if after := descriptors(t); after != before {
				t.Errorf("%d descriptors open, %d before", after, before)
			}
		})
	}
}

// activityOfBurner returns the counts with the CPU time the system accounts.
func activityOfBurner(t *testing.T, attach bool) ([]Count, time.Duration) {
	t.Helper()
	c := NewCounters(perf.Kernel{}, ActivityEvents()...)
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	cmd := exec.Command("/proc/self/exe", burnArgument, "twice")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if !attach {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := c.AddLaunch(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if attach {
		tree, err := OpenTree(os.DirFS("/proc"), cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		if _, err := c.AddProcesses(tree); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	counts, err := c.Counts()
	if err != nil {
		t.Fatal(err)
	}
	return counts, cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()
}

func descriptors(t *testing.T) int {
	t.Helper()
	// The first pollable file makes the runtime open its poller, for good.
	r, w, err := os.Pipe()
	if err := errors.Join(err, r.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestReadCPUTime(t *testing.T) {
	before, err := ReadCPUTime(os.DirFS("/proc"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadCPUTime(os.DirFS("/proc"))
	if err != nil || before.Busy <= 0 || after.Busy < before.Busy || after.All < after.Busy {
		t.Errorf("%v, then %v, %v", before, after, err)
	}
	if _, err := ReadCPUTime(os.DirFS(t.TempDir())); err == nil {
		t.Error("read without a procfs")
	}
}
