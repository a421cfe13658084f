package pmu

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"bandmate.dev/bandmate/profiler/pmu/catalogue"
	"bandmate.dev/bandmate/profiler/pmu/perf"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// BenchmarkSample is the cost of one sample of a large machine: 24 channels with
// a read and a write each, counted by the real kernel (with software events where
// there are no others), and the look for CPUs that went offline. Ten a second
// may cost 0.1% of a core: 100 µs each.
func BenchmarkSample(b *testing.B) {
	host, err := OpenHost()
	if err != nil {
		b.Fatal(err)
	}
	defer host.Close()
	const typeSoftware, cpuClock, pageFaults = 1, 0, 2
	var p plan
	for i := range 24 {
		event := func(label string, code uint64, kind catalogue.Kind) counted {
			return counted{Event: perf.Event{Label: label, Type: typeSoftware, Code: sysfs.Code{code}}, kind: kind, bytes: 64}
		}
		p.instances = append(p.instances, instance{
			name: fmt.Sprint(i), cpu: host.Machine.CPUs[i%len(host.Machine.CPUs)].ID,
			groups: [][]counted{{event("cpu-clock", cpuClock, catalogue.Read), event("page-faults", pageFaults, catalogue.Write)}},
		})
	}
	m, err := open(p, host.Opener, host.Sys)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		b.Skipf("needs permission to count whole CPUs: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer m.close()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.sample(false); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*10*b.Elapsed().Seconds()/float64(b.N), "%core@10Hz")
}
