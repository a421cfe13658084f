package main

import (
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// streams are the applications that stand for the known traffic beside which a
// machine's probes are calibrated: they do nothing but stream.
func streams() []string { return []string{"strread", "strtriad", "strscale4"} }

// machine is the profile that measuring a simulated machine would have
// written: what the interferer sustains alone, and the two probes, which are
// the unpaced interferer, beside the streams.
func machine(name string, d *evaluation.Dataset) *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{}
	m.APIVersion, m.Kind, m.Name = v1alpha1.APIVersion, v1alpha1.KindMachineProfile, name
	for _, curve := range d.Apps[0].Curves {
		top := curve.Points[len(curve.Points)-1]
		m.Spec.Sustained = append(m.Spec.Sustained, v1alpha1.SustainedBandwidth{
			ReadShare: curve.ReadShare, BytesPerSecond: top.InterfererBytesPerSecond, Repeats: 1,
		})
	}
	for _, a := range d.Apps {
		if !slices.Contains(streams(), a.Name) {
			continue
		}
		for _, curve := range a.Curves {
			probe := map[float64]string{1: "reader", 0.5: "modifier"}[curve.ReadShare]
			if probe == "" {
				continue
			}
			top := curve.Points[len(curve.Points)-1]
			alone := a.Local.Traffic
			share, _ := alone.ReadShare()
			m.Spec.ProbeMap = append(m.Spec.ProbeMap, v1alpha1.ProbePoint{
				Probe: probe, ReadShare: float64(share), Level: 1, Repeats: 1,
				InterfererBytesPerSecond: float64(alone.Total()),
				AchievedBytesPerSecond:   float64(alone.Total()) * top.NormalizedPerformance,
				RelativeSpeed:            *top.AchievedBytesPerSecond / top.InterfererBytesPerSecond,
			})
		}
	}
	return m
}
