package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns every fault of m at once, each with its field path, the bad
// value and what is wanted; empty for a sound profile. Numbers are judged at
// SignificantDigits, as a file holds them. An empty apiVersion and kind are
// accepted: the Go type says them.
func (m *MachineProfile) Validate() field.ErrorList {
	f := &faults{}
	f.header(m.TypeMeta, &m.ObjectMeta, KindMachineProfile)
	f.machine(field.NewPath("spec"), m.Spec.rounded())
	return f.list
}

func (f *faults) machine(p *field.Path, s *MachineProfileSpec) {
	f.text(p.Child("cpuModel"), s.CPUModel, MaxStringBytes, "")
	f.atLeast(p.Child("sockets"), s.Sockets, 1)
	f.atLeast(p.Child("numaNodes"), s.NUMANodes, 1)
	f.atLeast(p.Child("cpus"), s.CPUs, 1)
	f.notNegative(p.Child("lastLevelCacheBytes"), s.LastLevelCacheBytes)
	f.notNegative(p.Child("memoryBytes"), s.MemoryBytes)
	f.measurement(p.Child("measurement"), &s.Measurement)
	f.sustained(p.Child("sustained"), s.Sustained)
	f.probeMap(p.Child("probeMap"), s.ProbeMap)
	f.capability(p.Child("capability"), s.Capability)
	f.busSharing(p.Child("busSharing"), s.BusSharing)
	f.network(p.Child("network"), s.Network)
	f.warnings(p.Child("warnings"), s.Warnings)
}

func (f *faults) notNegative(p *field.Path, bytes int64) {
	if bytes < 0 {
		f.invalid(p, bytes, "want bytes, or the field absent when unknown")
	}
}

func (f *faults) sustained(p *field.Path, list []SustainedBandwidth) {
	if !f.length(p, len(list), 1, MaxSustained) {
		return
	}
	seen := map[curveKey]bool{}
	for i, s := range list {
		at, key := p.Index(i), curveKey{s.ReadShare, normalPattern(s.Pattern)}
		f.share(at.Child("readShare"), s.ReadShare)
		f.pattern(at.Child("pattern"), s.Pattern)
		duplicate(f, at, seen, key, key.String())
		f.within(at.Child("bytesPerSecond"), s.BytesPerSecond, MinBytesPerSecond, MaxBytesPerSecond, wantInterferer)
		f.atLeast(at.Child("repeats"), s.Repeats, 1)
		f.spread(at.Child("relativeSpread"), s.RelativeSpread, s.Repeats)
	}
}

// probeKey tells the points of a probe map apart.
type probeKey struct {
	probe, regime    string
	readShare, level float64
}

func (k probeKey) String() string {
	return fmt.Sprintf("%s at read share %v, level %v, regime %q", k.probe, k.readShare, k.level, k.regime)
}

func (f *faults) probeMap(p *field.Path, points []ProbePoint) {
	if !f.length(p, len(points), 0, MaxProbePoints) {
		return
	}
	seen := map[probeKey]bool{}
	for i, c := range points {
		at, key := p.Index(i), probeKey{c.Probe, c.Regime, c.ReadShare, c.Level}
		f.oneOf(at.Child("probe"), c.Probe, "reader", "modifier")
		f.share(at.Child("readShare"), c.ReadShare)
		f.above(at.Child("level"), c.Level, 0, 1, wantLevel)
		duplicate(f, at, seen, key, key.String())
		f.within(at.Child("interfererBytesPerSecond"), c.InterfererBytesPerSecond, MinBytesPerSecond, MaxBytesPerSecond, wantInterferer)
		f.bandwidth(at.Child("achievedBytesPerSecond"), c.AchievedBytesPerSecond)
		f.above(at.Child("relativeSpeed"), c.RelativeSpeed, 0, MaxNormalizedPerformance,
			"want bandwidth beside the interferer ÷ alone, above 0 to 1.5")
		f.atLeast(at.Child("repeats"), c.Repeats, 1)
		f.spread(at.Child("spread"), c.Spread, c.Repeats)
	}
}
