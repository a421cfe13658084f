package transfer

import (
	"cmp"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/units"
)

const sequential = "sequential"

func patternOf(name string) string { return cmp.Or(name, sequential) }

// readShareTolerance is the difference up to which two read shares count as equal:
// pacing is no more exact than that.
const readShareTolerance = 1e-3

// sustained returns the bandwidth that the interferer sustains on a machine at a read
// share in a pattern, by linear interpolation between the measured read shares; false
// outside of them.
func sustained(m *v1alpha1.MachineProfile, share float64, pattern string) (units.Bandwidth, bool) {
	var below, above *v1alpha1.SustainedBandwidth
	for i := range m.Spec.Sustained {
		s := &m.Spec.Sustained[i]
		if patternOf(s.Pattern) != pattern {
			continue
		}
		if s.ReadShare <= share+readShareTolerance && (below == nil || s.ReadShare > below.ReadShare) {
			below = s
		}
		if s.ReadShare >= share-readShareTolerance && (above == nil || s.ReadShare < above.ReadShare) {
			above = s
		}
	}
	if below == nil || above == nil {
		return 0, false
	}
	if below.ReadShare >= above.ReadShare {
		return units.Bandwidth(below.BytesPerSecond), true
	}
	part := (share - below.ReadShare) / (above.ReadShare - below.ReadShare)
	return units.Bandwidth(below.BytesPerSecond*(1-part) + above.BytesPerSecond*part), true
}

// capacity returns the observed capacity of the memory of a machine: the highest sum
// of a probe's and the interferer's traffic beside each other. Points of the regime
// count, or those of every regime where it has none. False without a probe map.
func capacity(m *v1alpha1.MachineProfile, regime string) (units.Bandwidth, bool) {
	points := slices.DeleteFunc(slices.Clone(m.Spec.ProbeMap), func(p v1alpha1.ProbePoint) bool { return p.Regime != regime })
	if len(points) == 0 {
		points = m.Spec.ProbeMap
	}
	var most units.Bandwidth
	for _, p := range points {
		alone, known := sustained(m, probeReadShare(p.Probe), sequential)
		if known {
			most = max(most, units.Bandwidth(p.AchievedBytesPerSecond)+alone*units.Bandwidth(p.RelativeSpeed))
		}
	}
	return most, most > 0
}

// probeReadShare returns the read share of a probe, which is an unpaced stream.
func probeReadShare(probe string) float64 {
	if probe == "reader" {
		return 1
	}
	return 0.5
}
