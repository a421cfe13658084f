package interferer

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/topology"
)

// runWorker runs a worker in this process, on whatever CPU it gets, and returns
// why it ended.
func runWorker(t *testing.T, s Setting, change func(*worker)) error {
	t.Helper()
	clock, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := newBuffer(1<<20, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer buffer.Free()
	p := page(1)
	p.request(s)
	ended := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		o := smallOptions(t)
		cpu := o.CPUs.List()[0]
		before, err := topology.ThreadCPUs(0)
		if err != nil {
			ended <- err
			return
		}
		if err := confine(o.CPUs); err != nil {
			ended <- err
			return
		}
		defer confine(before)
		w := &worker{
			cpu: cpu, page: p, clock: clock, buffer: buffer.Bytes(), kernels: kernel.Best(), gapStep: kernel.GapStep(),
			parent: unix.Getppid(), deadline: clock.now() + time.Hour, visits: kernel.NewRandomState(1),
		}
		change(w)
		ended <- w.run()
	}()
	return <-ended
}

// A thread finds every reason to end by itself, whatever it is doing: signals
// and other threads may not reach it at real-time priority.
func TestThreadEndsByItself(t *testing.T) {
	settings := []Setting{
		{Mode: Idle},
		{Mode: Spin},
		{Mode: Stream, ReadShare: 1},
		// A chunk takes 16 s.
		{Mode: Stream, ReadShare: 1, Bandwidth: 1000},
		{Mode: Stream, ReadShare: 0.75, Pattern: Random},
		{Mode: Stream, ReadShare: 1, Pattern: Random, InFlight: 1, Footprint: 64 << 10},
	}
	reasons := []struct {
		name   string
		change func(*worker)
		want   error
	}{
		{"orphaned", func(w *worker) { w.parent = -1 }, errOrphaned},
		{"time over", func(w *worker) { w.deadline = w.clock.now() + 3*time.Millisecond }, ErrMaxDuration},
		{"CPU lost", func(w *worker) { w.cpu = topology.MaxCPUs }, ErrCPU},
		{"stopped", func(w *worker) { time.AfterFunc(time.Millisecond, w.page.requestStop) }, errStopped},
		{"no such setting", func(w *worker) {
			time.AfterFunc(time.Millisecond, func() {
				w.page.header.setting.mode.Store(77)
				w.page.header.sequence.Add(1)
				w.page.wake()
			})
		}, nil},
	}
	for _, reason := range reasons {
		t.Run(reason.name, func(t *testing.T) {
			for _, s := range settings {
				err := runWorker(t, s, reason.change)
				if err == nil || reason.want != nil && !errors.Is(err, reason.want) {
					t.Errorf("%+v: ended with %v, want %v", s, err, reason.want)
				}
			}
		})
	}
}

// While the parent is stopped a thread makes no traffic, and its time goes on.
func TestThreadSleepsWithItsParent(t *testing.T) {
	for _, s := range []Setting{{Mode: Idle}, {Mode: Spin}, {Mode: Stream, ReadShare: 1}} {
		looks := 0
		var before uint64
		err := runWorker(t, s, func(w *worker) {
			w.deadline = w.clock.now() + 20*time.Second
			w.parentStopped = func() bool {
				switch looks++; {
				case looks == 1:
					before = w.record.readBytes
				case looks < 4 && w.record.readBytes != before:
					t.Errorf("%v: %d bytes beside a stopped parent", s.Mode, w.record.readBytes-before)
				case looks == 4:
					w.page.requestStop()
				}
				return looks < 4
			}
		})
		if !errors.Is(err, errStopped) {
			t.Errorf("%v: ended with %v", s.Mode, err)
		}
	}
	err := runWorker(t, Setting{Mode: Stream, ReadShare: 1}, func(w *worker) {
		w.deadline = w.clock.now() + 3*time.Millisecond
		w.parentStopped = func() bool { return true }
	})
	if !errors.Is(err, ErrMaxDuration) {
		t.Errorf("with a parent that is stopped for good: %v", err)
	}
}

func TestStoppedProcess(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	stopped := stoppedProcess(cmd.Process.Pid)
	if stopped() {
		t.Error("stopped from the start")
	}
	for _, step := range []struct {
		signal syscall.Signal
		want   bool
	}{{syscall.SIGSTOP, true}, {syscall.SIGCONT, false}} {
		if err := cmd.Process.Signal(step.signal); err != nil {
			t.Fatal(err)
		}
		waitFor(t, step.signal.String(), func() bool { return stopped() == step.want })
	}
	_, _ = cmd.Process.Kill(), cmd.Wait()
	if stopped() {
		t.Error("stopped after its end")
	}
}

func TestBufferIsRandom(t *testing.T) {
	buffer, err := newBuffer(1<<20, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer buffer.Free()
	if len(buffer.Bytes()) != 1<<20 {
		t.Errorf("%d bytes, want 1 MiB", len(buffer.Bytes()))
	}
	zeros := 0
	for _, b := range buffer.Bytes() {
		if b == 0 {
			zeros++
		}
	}
	// One in 256 of random bytes is.
	if zeros > len(buffer.Bytes())/128 {
		t.Errorf("%d of %d bytes are zero, want random ones", zeros, len(buffer.Bytes()))
	}
}

func TestBufferTooLarge(t *testing.T) {
	_, err := newBuffer(1<<48, nil, 1)
	if want := "mmap: cannot allocate memory: ask for smaller buffers: not enough memory for the interferer"; !errors.Is(err, ErrMemory) ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want …%s", err, want)
	}
}

func TestClockIsMonotonicTime(t *testing.T) {
	clock, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	system := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	// The offset was measured to half of what two readings took, which on a
	// busy machine may be a time slice: it is tried again.
	waitFor(t, "the system's time", func() bool {
		before := system()
		now := clock.now()
		after := system()
		if before-time.Microsecond <= now && now <= after+time.Microsecond {
			return true
		}
		clock, err = newClock()
		return false
	})
}

// Linux throttles threads that are real-time ones for more than 0.95 s in a
// second.
func TestRealTimeStaysBelowTheLimit(t *testing.T) {
	for begin := range int(realTimeCycle / time.Millisecond) {
		var realTime time.Duration
		for now := range 1000 {
			if !ordinaryAt(time.Duration(begin+now) * time.Millisecond) {
				realTime += time.Millisecond
			}
		}
		if realTime > 940*time.Millisecond || realTime < 900*time.Millisecond {
			t.Errorf("real-time for %v of the second from %d ms on", realTime, begin)
		}
	}
}
