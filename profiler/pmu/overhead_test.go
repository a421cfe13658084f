package pmu

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// channels opens what a machine of two sockets with twelve channels each has to
// read, on two CPUs: a read and a write of each, counted by the real kernel as
// software events.
func channels(b *testing.B) *meter {
	b.Helper()
	host, err := OpenHost()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { host.Close() })
	const typeSoftware, cpuClock, pageFaults = 1, 0, 2
	var p plan
	for i := range 24 {
		event := func(label string, code uint64, kind catalog.Kind) counted {
			return counted{Event: perf.Event{Label: label, Type: typeSoftware, Code: sysfs.Code{code}}, kind: kind, bytes: 64}
		}
		p.instances = append(p.instances, instance{
			name: fmt.Sprint(i), cpu: host.Machine.CPUs[i%min(len(host.Machine.CPUs), 2)].ID,
			groups: [][]counted{{event("cpu-clock", cpuClock, catalog.Read), event("page-faults", pageFaults, catalog.Write)}},
		})
	}
	m, err := open(p, host.Opener, host.Sys)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		requires.Unmet(b, "needs permission to count whole CPUs: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.close() })
	return m
}

// BenchmarkSample is the cost of one sample of a large machine, with the look
// for CPUs that went offline. Ten of them a second have to stay below 0.1% of a
// core.
func BenchmarkSample(b *testing.B) {
	m := channels(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.sample(false); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*10*b.Elapsed().Seconds()/float64(b.N), "%core@10Hz")
}

// BenchmarkTenHertz measures as a source does, ten samples a second, and reports
// the CPU time of this process: waking up from sleep ten times a second counts
// too, which any Go program pays for.
func BenchmarkTenHertz(b *testing.B) {
	m := channels(b)
	var line profiler.Timeline
	before := cpuTime(b)
	for b.Loop() {
		_, err := follow(b.Context(), profiler.Workload{Duration: time.Second}, 100*time.Millisecond, func(elapsed time.Duration, last bool) error {
			traffic, _, err := m.sample(last)
			line.Add(elapsed.Seconds(), traffic)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*(cpuTime(b)-before).Seconds()/b.Elapsed().Seconds(), "%core")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(unix.TimevalToNsec(usage.Utime) + unix.TimevalToNsec(usage.Stime))
}
