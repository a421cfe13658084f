package perf

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	goperf "github.com/elastic/go-perf"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
	"bandmate.dev/bandmate/topology"
)

// Numbers of <linux/perf_event.h>.
const (
	typeSoftware  = 1
	swCPUClock    = 0
	swPageFaults  = 2
	swDummyUnused = 9999
)

func software(label string, config uint64) Event {
	return Event{Label: label, Type: typeSoftware, Code: sysfs.Code{config}}
}

// descriptors counts what this process has open.
func descriptors(t testing.TB) int {
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

// openCPU opens events on a CPU of this process, or skips where the kernel or
// a sandbox forbids that.
func openCPU(t testing.TB, events ...Event) Group {
	t.Helper()
	g, err := Kernel{}.OpenCPU(allowedCPU(t), events)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		requires.Unmet(t, "needs permission to count whole CPUs: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func allowedCPU(t testing.TB) int {
	t.Helper()
	allowed, err := topology.AllowedCPUs()
	if err != nil || allowed.IsEmpty() {
		t.Fatalf("CPUs %v, %v", allowed, err)
	}
	return allowed.List()[0]
}

func TestKernelGroup(t *testing.T) {
	before := descriptors(t)
	g := openCPU(t, software("cpu-clock", swCPUClock), software("page-faults", swPageFaults))
	var first, second CounterSample
	if err := g.Read(&first); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
	if err := g.Read(&second); err != nil {
		t.Fatal(err)
	}
	d, err := difference(first, second)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Values) != 2 || d.Enabled <= 0 || d.Running <= 0 || d.Running > d.Enabled || d.Values[0] == 0 {
		t.Errorf("counted %+v in 2 ms, want two counts and times that passed", d)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
}

func TestKernelClosesOnFailure(t *testing.T) {
	openCPU(t, software("cpu-clock", swCPUClock)).Close()
	before := descriptors(t)
	g, err := Kernel{}.OpenCPU(allowedCPU(t), []Event{software("cpu-clock", swCPUClock), software("no such event", swDummyUnused)})
	if err == nil {
		t.Fatalf("opened %v", g)
	}
	if _, ok := errors.AsType[syscall.Errno](err); !ok {
		t.Errorf("error %v does not hold the system's", err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
	if _, err := (Kernel{}).OpenCPU(0, nil); err == nil {
		t.Error("an empty group was opened")
	}
}

// TestKernelCommand counts page faults of a child, which the test's own thread
// does not have.
func TestKernelCommand(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := descriptors(t)
	g, err := Kernel{}.OpenCommand(software("page-faults", swPageFaults))
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		requires.Unmet(t, "needs permission to count own processes: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var idle, ran CounterSample
	if err := g.Read(&idle); err != nil {
		t.Fatal(err)
	}
	if idle.Values[0] != 0 || idle.Enabled != 0 {
		t.Errorf("counts %v before any command started", idle)
	}
	if err := exec.Command("/proc/self/exe", "-test.run=^$").Run(); err != nil {
		t.Fatal(err)
	}
	if err := g.Read(&ran); err != nil {
		t.Fatal(err)
	}
	if ran.Values[0] == 0 || ran.Enabled <= 0 {
		t.Errorf("counted %+v, want the faults of a program's start", ran)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
}

func TestDecode(t *testing.T) {
	native := func(words ...uint64) []byte {
		var data []byte
		for _, w := range words {
			data = binary.NativeEndian.AppendUint64(data, w)
		}
		return data
	}
	pair := &kernelGroup{events: make([]*goperf.Event, 2), grouped: true, buffer: make([]byte, 5*wordBytes)}
	single := &kernelGroup{events: make([]*goperf.Event, 1), buffer: make([]byte, 3*wordBytes)}
	var r CounterSample
	if err := pair.decode(&r, native(2, 9, 8, 7, 6)); err != nil || r.Enabled != 9 || r.Running != 8 || r.Values[0] != 7 || r.Values[1] != 6 {
		t.Errorf("pair: %+v, %v", r, err)
	}
	if err := single.decode(&r, native(7, 9, 8)); err != nil || r.Enabled != 9 || r.Running != 8 || len(r.Values) != 1 || r.Values[0] != 7 {
		t.Errorf("single: %+v, %v", r, err)
	}
	for name, data := range map[string][]byte{"empty": nil, "short": native(2, 9, 8, 7), "other group": native(3, 9, 8, 7, 6)} {
		if err := pair.decode(&r, data); !errors.Is(err, ErrVanished) {
			t.Errorf("%s: %v, want %v", name, err, ErrVanished)
		}
	}
}

// BenchmarkRead tells what one reading of a pair of counters costs; ten a
// second may take 100 µs each, for all counters of a machine together.
func BenchmarkRead(b *testing.B) {
	g := openCPU(b, software("cpu-clock", swCPUClock), software("page-faults", swPageFaults))
	defer g.Close()
	var r CounterSample
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Read(&r); err != nil {
			b.Fatal(err)
		}
	}
}
