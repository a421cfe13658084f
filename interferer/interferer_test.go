package interferer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// started starts an interferer that ends with the test.
func started(t *testing.T, o Options) *Interferer {
	t.Helper()
	i, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	return i
}

func apply(t *testing.T, i *Interferer, s Setting) {
	t.Helper()
	if err := i.Apply(s); err != nil {
		t.Fatal(err)
	}
}

func TestCountersFollowTheSetting(t *testing.T) {
	o := smallOptions(t)
	i := started(t, o)
	for _, s := range []Setting{
		{Mode: Idle},
		{Mode: Stream, ReadShare: 1},
		{Mode: Spin},
		{Mode: Stream, ReadShare: 0.75, Pattern: Random},
		{Mode: Stream, ReadShare: 0.5, Bandwidth: 100 * units.MegabytePerSecond},
		{Mode: Idle},
	} {
		t.Run(fmt.Sprintf("%s %v", s.Mode, s.Bandwidth), func(t *testing.T) {
			apply(t, i, s)
			before := i.Counters()
			if s.Mode != Stream {
				time.Sleep(5 * time.Millisecond)
				after := i.Counters()
				if after.ReadBytes != before.ReadBytes || after.WriteBytes != before.WriteBytes {
					t.Errorf("traffic in mode %s: %+v", s.Mode, after.Since(before).Traffic)
				}
				if after.Time <= before.Time {
					t.Errorf("no time passed from %v to %v", before.Time, after.Time)
				}
				return
			}
			var after Counters
			waitFor(t, "traffic", func() bool {
				after = i.Counters()
				return after.ReadBytes-before.ReadBytes >= 4<<20
			})
			achieved := after.Since(before)
			// Error diffusion carries less than a page; two chunks may be
			// half counted.
			share, _ := achieved.Traffic.ReadShare()
			if off := float64(share - s.ReadShare); off < -0.01 || off > 0.01 {
				t.Errorf("read share %v, want %v", share, s.ReadShare)
			}
			if s.Bandwidth > 0 {
				// It cannot be faster than asked for, but for a debt and a chunk.
				atMost := float64(s.Bandwidth)*(achieved.Elapsed+maxDebt).Seconds() + 2*largeChunk
				if got := float64(achieved.Traffic.Total()) * achieved.Elapsed.Seconds(); got > atMost {
					t.Errorf("%v bytes in %v, want %v at most", got, achieved.Elapsed, atMost)
				}
			}
		})
	}
}

func TestWindowsAreObserved(t *testing.T) {
	i := started(t, smallOptions(t))
	apply(t, i, Setting{Mode: Stream, ReadShare: 1})
	before := i.Counters()
	waitFor(t, "two windows", func() bool { return i.Counters().Since(before).Windows >= 2 })
	if v := i.Counters().Since(before).Variation; !(v >= 0) {
		t.Errorf("variation %v, want a number", v)
	}
}

func TestSettingsCanFollowQuickly(t *testing.T) {
	i := started(t, smallOptions(t))
	var callers sync.WaitGroup
	for _, mode := range modes() {
		callers.Go(func() {
			for range 50 {
				if err := i.Apply(Setting{Mode: mode, ReadShare: 1}); err != nil {
					t.Error(err)
				}
				i.Counters()
			}
		})
	}
	callers.Wait()
}

func TestApplyRefusesWhatIsNoSetting(t *testing.T) {
	i := started(t, smallOptions(t))
	for _, s := range []Setting{{}, {Mode: Stream, ReadShare: 2}, {Mode: Stream, ReadShare: 1, Pattern: Random, InFlight: 99}, {Mode: Stream, ReadShare: 1, Footprint: 4096}, {Mode: Stream, ReadShare: 1, Pattern: Random, InFlight: 1, Footprint: 1 << 40}} {
		if err := i.Apply(s); err == nil {
			t.Errorf("%+v was applied", s)
		}
	}
}

// The error about threads that do not answer tells their states.
func TestThreadsThatDoNotAnswer(t *testing.T) {
	i := started(t, smallOptions(t))
	i.timeout = time.Millisecond
	if err := syscall.Kill(i.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Threads that run or wait for a CPU stop later.
	waitFor(t, "all threads to stop", func() bool { return strings.Trim(threadStates(i.PID()), "T") == "" })
	err := i.Apply(Setting{Mode: Spin})
	if err := syscall.Kill(i.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err == nil || !regexp.MustCompile(`did not answer in .*states: T+\)`).MatchString(err.Error()) {
		t.Fatalf("a stopped child: %v", err)
	}
	i.timeout = applyTimeout
	if err := i.Apply(Setting{Mode: Idle}); err != nil {
		t.Error(err)
	}
}

func TestEveryThreadOfTheChildIsConfined(t *testing.T) {
	o := smallOptions(t)
	i := started(t, o)
	apply(t, i, Setting{Mode: Stream, ReadShare: 1})
	for _, tid := range threadsOf(t, i.PID()) {
		allowed, err := topology.ThreadCPUs(tid)
		if err != nil {
			t.Fatal(err)
		}
		if !allowed.IsSubsetOf(o.CPUs) {
			t.Errorf("thread %d may run on %v, want %v", tid, allowed, o.CPUs)
		}
	}
	// Nor does the start change this process.
	for _, tid := range threadsOf(t, os.Getpid()) {
		allowed, err := topology.ThreadCPUs(tid)
		if errors.Is(err, syscall.ESRCH) {
			continue
		}
		if want, _ := topology.ProcessCPUs(); err != nil || !allowed.Equals(want) {
			t.Errorf("thread %d of the parent may run on %v, %v; want %v", tid, allowed, err, want)
		}
	}
}

func threadsOf(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	var tids []int
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		tids = append(tids, tid)
	}
	return tids
}

func TestOneThreadPerCPU(t *testing.T) {
	o := smallOptions(t)
	allowed, err := topology.ProcessCPUs()
	if err != nil {
		t.Fatal(err)
	}
	o.CPUs = allowed
	i := started(t, o)
	apply(t, i, Setting{Mode: Stream, ReadShare: 1, Bandwidth: units.GigabytePerSecond})
	before := i.Counters()
	waitFor(t, "traffic", func() bool { return i.Counters().ReadBytes-before.ReadBytes > 4<<20 })
	for k := range i.page.slots {
		if i.page.slots[k].latest().readBytes == 0 {
			t.Errorf("thread %d made no traffic", k)
		}
	}
	apply(t, i, Setting{Mode: Idle})
}

func TestRealTimeOrAWarning(t *testing.T) {
	o := smallOptions(t)
	o.RealTime = true
	i := started(t, o)
	if warnings := strings.Join(i.Warnings(), "\n"); strings.Contains(warnings, "real-time") {
		return
	}
	for _, tid := range threadsOf(t, i.PID()) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", i.PID(), tid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		// proc_pid_stat(5): policy is field 41, and rest begins with field 3.
		if policy := strings.Fields(rest)[41-3]; policy != "1" {
			t.Errorf("thread %d has scheduling policy %s, want 1 (SCHED_FIFO)", tid, policy)
		}
	}
}

func TestStartRefusals(t *testing.T) {
	allowed, err := topology.ProcessCPUs()
	if err != nil {
		t.Fatal(err)
	}
	missing := 4711
	tests := []struct {
		name   string
		change func(*Options)
		want   error
		text   string
	}{
		{"no CPU", func(o *Options) { o.CPUs = cpuset.New() }, nil, "none given"},
		{"every CPU", func(o *Options) { o.CPUs, o.AllowAllCPUs = allowed, false }, ErrEveryCPU, "leave one to the target"},
		{"missing CPU", func(o *Options) { o.CPUs = cpuset.New(topology.MaxCPUs - 1) }, ErrCPU, "choose from"},
		{"one missing CPU", func(o *Options) { o.CPUs = o.CPUs.Union(cpuset.New(topology.MaxCPUs - 1)) }, ErrCPU, "8191"},
		{"missing node", func(o *Options) { o.MemoryNode = new(99) }, ErrNode, "memory node 99"},
		{"memory cap", func(o *Options) { o.BufferBytes = o.MemoryCap + 1 }, ErrMemory, "memory cap"},
		{"more than the address space", func(o *Options) { o.BufferBytes, o.MemoryCap = 1<<47, 1<<48 }, ErrMemory, "smaller buffers"},
		{"missing node", func(o *Options) { o.MemoryNode = &missing }, nil, "memory node 4711"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := smallOptions(t)
			test.change(&o)
			i, err := Start(t.Context(), o)
			if err == nil {
				_ = i.Close()
				t.Fatal("started")
			}
			if test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want %v with %q", err, test.want, test.text)
			}
		})
	}
}

func TestMaxDuration(t *testing.T) {
	for _, mode := range modes() {
		t.Run(string(mode), func(t *testing.T) {
			o := smallOptions(t)
			o.MaxDuration = 300 * time.Millisecond
			i := started(t, o)
			// The time may already be over on a busy machine.
			if err := i.Apply(Setting{Mode: mode, ReadShare: 1}); err != nil && !errors.Is(err, ErrMaxDuration) {
				t.Fatal(err)
			}
			<-i.Done()
			for what, err := range map[string]error{
				"Err": i.Err(), "Apply": i.Apply(Setting{Mode: Idle}), "Close": i.Close(), "Close again": i.Close(),
			} {
				if !errors.Is(err, ErrMaxDuration) {
					t.Errorf("%s: %v, want ErrMaxDuration", what, err)
				}
			}
		})
	}
}

func TestCloseEndsTheChild(t *testing.T) {
	for _, mode := range modes() {
		t.Run(string(mode), func(t *testing.T) {
			i := started(t, smallOptions(t))
			apply(t, i, Setting{Mode: mode, ReadShare: 1})
			if err := i.Close(); err != nil {
				t.Fatal(err)
			}
			if alive(i.PID()) {
				t.Error("the child is alive")
			}
			last := i.Counters()
			if i.Counters() != last {
				t.Error("counters change after Close")
			}
			if err := i.Apply(Setting{Mode: Idle}); !errors.Is(err, ErrClosed) {
				t.Errorf("Apply after Close: %v, want ErrClosed", err)
			}
			if err := i.Err(); !errors.Is(err, ErrClosed) {
				t.Errorf("Err after Close: %v, want ErrClosed", err)
			}
			if err := i.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

func TestContextEndsTheChild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	i, err := Start(ctx, smallOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, i, Setting{Mode: Stream, ReadShare: 1})
	cancel()
	<-i.Done()
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Start(ctx, smallOptions(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a context that has ended: %v", err)
	}
}

func TestKilledChildIsReported(t *testing.T) {
	i := started(t, smallOptions(t))
	apply(t, i, Setting{Mode: Stream, ReadShare: 1})
	waitFor(t, "traffic", func() bool { return i.Counters().ReadBytes > 0 })
	if err := syscall.Kill(i.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-i.Done()
	for what, err := range map[string]error{"Err": i.Err(), "Apply": i.Apply(Setting{Mode: Idle}), "Close": i.Close()} {
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: %v, want to hear that it was killed", what, err)
		}
	}
	if c := i.Counters(); c.ReadBytes == 0 {
		t.Error("what was done before is forgotten")
	}
}

func TestLostCPUIsReported(t *testing.T) {
	o := smallOptions(t)
	allowed, err := topology.ProcessCPUs()
	if err != nil {
		t.Fatal(err)
	}
	others := allowed.Difference(o.CPUs)
	if others.IsEmpty() {
		requires.Unmet(t, "needs two CPUs to move a thread from one to the other")
	}
	i := started(t, o)
	apply(t, i, Setting{Mode: Stream, ReadShare: 1})
	for _, tid := range threadsOf(t, i.PID()) {
		if err := topology.Confine(tid, others); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	<-i.Done()
	if err := i.Close(); !errors.Is(err, ErrCPU) {
		t.Errorf("%v, want ErrCPU", err)
	}
}

// A second after its parent was killed, no interferer may be alive. The test
// waits longer, because a machine may be busy.
func TestDeathOfTheParentEndsTheChild(t *testing.T) {
	for _, kill := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(kill.String(), func(t *testing.T) {
			parent, pid := startHelper(t, helperCareless)
			if err := parent.Process.Signal(kill); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the end of the interferer", func() bool { return !alive(pid) })
		})
	}
}

// Ctrl-C in a terminal goes to every process of the foreground group. The
// parent has to be able to read the counters and to close then.
func TestInterruptLeavesTheEndToTheParent(t *testing.T) {
	parent, pid := startHelper(t, helperCareful)
	if err := syscall.Kill(-parent.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err != nil {
		t.Errorf("parent: %v", err)
	}
	if alive(pid) {
		t.Error("the interferer outlives the parent that closed it")
	}
}

func TestProgramThatForgetsRunIfChild(t *testing.T) {
	t.Setenv(helperEnvironment, helperForgetful)
	i, err := Start(t.Context(), smallOptions(t))
	if err == nil {
		_ = i.Close()
		t.Fatal("started")
	}
	if !strings.Contains(err.Error(), "RunIfChild") {
		t.Errorf("error %v, want a hint at RunIfChild", err)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	cycle := func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		i, err := Start(ctx, smallOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		apply(t, i, Setting{Mode: Stream, ReadShare: 1})
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
		o := smallOptions(t)
		o.CPUs = cpuset.New(topology.MaxCPUs - 1)
		if _, err := Start(ctx, o); err == nil {
			t.Fatal("started on a CPU that is not there")
		}
		o = smallOptions(t)
		o.BufferBytes, o.MemoryCap = 1<<47, 1<<48
		if _, err := Start(ctx, o); err == nil {
			t.Fatal("started with memory that is not there")
		}
	}
	cycle() // The runtime opens files of its own the first time.
	before := openFiles(t)
	for range 3 {
		cycle()
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files open, %d before", after, before)
	}
	goleak.VerifyNone(t)
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
