package v1alpha1

import (
	"cmp"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxNanoseconds is a second, above every latency of a cache line.
const MaxNanoseconds = 1e9

// Limits on the entries of a Capability.
const (
	MaxLatencies        = 256
	MaxBandwidths       = 1024
	MaxLatenciesBySize  = 64
	MaxContentionPoints = 256
	MaxTransfers        = 64
	MaxTransferPoints   = 64
	MaxLoadedLatencies  = 256
)

const wantNanoseconds = "want nanoseconds, above 0 to 1e9"

func (f *faults) capability(p *field.Path, c *Capability) {
	if c == nil {
		return
	}
	if c.Source == "" {
		f.list = append(f.list, field.Required(p.Child("source"), "want measured, or imported and from where"))
	}
	f.text(p.Child("source"), c.Source, MaxStringBytes, "")
	f.atLeast(p.Child("coresPerTile"), c.CoresPerTile, 0)
	f.notNegative(p.Child("level1Bytes"), c.Level1Bytes)
	f.notNegative(p.Child("level2Bytes"), c.Level2Bytes)
	f.latencies(p.Child("latencies"), c.Latencies)
	f.latenciesBySize(p.Child("latenciesBySize"), c.LatenciesBySize)
	f.contention(p, c)
	f.transfers(p.Child("transfers"), c.Transfers)
	f.accessBandwidths(p.Child("bandwidths"), c.Bandwidths)
	f.loadedLatencies(p.Child("loadedLatencies"), c.LoadedLatencies)
	f.warnings(p.Child("warnings"), c.Warnings)
}

func (f *faults) latencies(p *field.Path, list []LineLatency) {
	if !f.length(p, len(list), 0, MaxLatencies) {
		return
	}
	type key struct {
		place, state, memory string
		nodes                nodePair
	}
	seen := map[key]bool{}
	for i, l := range list {
		at := p.Index(i)
		f.oneOf(at.Child("place"), l.Place, "level1", "level2", "level3", "tile", "remote", "memory")
		if l.State != "" {
			f.oneOf(at.Child("state"), l.State, "modified", "exclusive", "shared", "invalid")
		}
		f.text(at.Child("memory"), l.Memory, MaxStringBytes, "")
		k := key{l.Place, l.State, l.Memory, f.nodes(at, l.CPUNode, l.MemoryNode)}
		duplicate(f, at, seen, k, fmt.Sprintf("%s %s %s%s", k.place, k.state, k.memory, k.nodes))
		f.above(at.Child("nanoseconds"), l.Nanoseconds, 0, MaxNanoseconds, wantNanoseconds)
		f.relativeInterval(at, l.RelativeInterval, l.Repeats)
		if l.LowNanoseconds != nil {
			f.above(at.Child("lowNanoseconds"), *l.LowNanoseconds, 0, l.Nanoseconds, "want nanoseconds, above 0 and at most the median")
		}
		if l.HighNanoseconds != nil {
			f.within(at.Child("highNanoseconds"), *l.HighNanoseconds, l.Nanoseconds, MaxNanoseconds, "want nanoseconds, the median or more")
		}
	}
}

func (f *faults) accessBandwidths(p *field.Path, list []AccessBandwidth) {
	if !f.length(p, len(list), 0, MaxBandwidths) {
		return
	}
	type key struct {
		access, memory string
		nonTemporal    bool
		threads        int
		nodes          nodePair
	}
	seen := map[key]bool{}
	for i, b := range list {
		at := p.Index(i)
		f.oneOf(at.Child("access"), b.Access, "copy", "read", "write", "triad")
		f.text(at.Child("memory"), b.Memory, MaxStringBytes, "")
		f.atLeast(at.Child("threads"), b.Threads, 0)
		k := key{b.Access, b.Memory, b.NonTemporal, b.Threads, f.nodes(at, b.CPUNode, b.MemoryNode)}
		duplicate(f, at, seen, k, fmt.Sprintf("%s of %s with %d threads, non-temporal %t%s", k.access, cmp.Or(k.memory, "memory"), k.threads, k.nonTemporal, k.nodes))
		f.within(at.Child("bytesPerSecond"), b.BytesPerSecond, MinBytesPerSecond, MaxBytesPerSecond, "want bytes per second, 1e3 to 1e13 (is this in GB/s?)")
		f.relativeInterval(at, b.RelativeInterval, b.Repeats)
	}
}

// nodePair are two NUMA nodes; -1 where one is absent.
type nodePair struct{ cpu, memory int }

// String names the nodes that are there, after a comma.
func (n nodePair) String() string {
	if n.cpu < 0 && n.memory < 0 {
		return ""
	}
	return fmt.Sprintf(", CPUs of node %d, memory of node %d", n.cpu, n.memory)
}

func (f *faults) nodes(at *field.Path, cpu, memory *int) nodePair {
	n := nodePair{-1, -1}
	if cpu != nil {
		f.atLeast(at.Child("cpuNode"), *cpu, 0)
		n.cpu = *cpu
	}
	if memory != nil {
		f.atLeast(at.Child("memoryNode"), *memory, 0)
		n.memory = *memory
	}
	return n
}

func (f *faults) relativeInterval(at *field.Path, interval *float64, repeats int) {
	f.atLeast(at.Child("repeats"), repeats, 0)
	if interval != nil {
		f.within(at.Child("relativeInterval"), *interval, 0, math.MaxFloat64, "want a finite half width ÷ median of 0 or more")
	}
}
