package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/network"
)

// madeMachine is the name of the machine of made profiles.
const madeMachine = "made"

// makeProfiles makes n profiles that differ in every way that a prediction
// depends on: traffic, read shares, levels, phases, noise, achieved bandwidth
// recorded or not. The same seed gives the same profiles.
func makeProfiles(n int, seed uint64) []*v1alpha1.ApplicationProfile {
	random := rand.New(rand.NewPCG(seed, 1))
	profiles := make([]*v1alpha1.ApplicationProfile, n)
	for i := range profiles {
		profiles[i] = makeProfile(random, fmt.Sprintf("application-%04d", i), i)
	}
	return profiles
}

// MakeTransferred makes n profiles that were transferred from another machine, which
// no model of the memory describes: every prediction from them rests on their
// curves. The first has texts that try to be markup, the last a name of 200 letters.
func MakeTransferred(n int, seed uint64) []*v1alpha1.ApplicationProfile {
	profiles := makeProfiles(n, seed)
	for i, p := range profiles {
		p.Spec.Transferred = &v1alpha1.Transfer{FromMachine: "elsewhere", Method: v1alpha1.TransferredBySustained, LossUncertainty: 0.05}
		if i == 0 {
			const markup = `</script><img src=x onerror="hacked=1"><b>bold</b> `
			p.Spec.Command = []string{markup, strings.Repeat("long", 50)}
			p.Spec.Warnings = []string{markup, "\u05e9\u05dc\u05d5\u05dd right to left"}
		}
		if i > 0 && i == n-1 {
			p.Name = strings.Repeat("a-very-long-name-", 12)[:200]
			p.Name = p.Name[:199] + "z"
		}
	}
	return profiles
}

// MakeMachine makes the machine of made profiles.
func MakeMachine() *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{}
	m.APIVersion, m.Kind, m.Name = v1alpha1.APIVersion, v1alpha1.KindMachineProfile, madeMachine
	m.Spec.CPUModel, m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = "Made CPU <i>32</i>", 2, 2, 64
	m.Spec.LastLevelCacheBytes, m.Spec.MemoryBytes = 32<<20, 256<<30
	for _, share := range []float64{0.5, 0.75, 1} {
		m.Spec.Sustained = append(m.Spec.Sustained, v1alpha1.SustainedBandwidth{ReadShare: share, BytesPerSecond: rounded(36e9 + 8e9*share), Repeats: 3})
	}
	m.Spec.Network = &v1alpha1.Network{
		Model: network.NameGigabitEthernet, BytesPerSecond: 1e9, LatencySeconds: new(5e-5), Beta: new(0.8), GammaOut: new(0.04), GammaIn: new(0.05),
	}
	m.Spec.BusSharing = &v1alpha1.BusSharing{NodesPerSocket: 1, Local: v1alpha1.BusSharingInstance{
		CommunicationAloneBytesPerSecond: 1e9, LeastCommunicationShare: 0.4, ComputationPerCoreBytesPerSecond: 7e9,
		ComputationAloneBytesPerSecond: 42e9, ComputationAloneCores: 6, TotalBytesPerSecond: 43e9, TotalCores: 5,
		TotalAtComputationAloneCoresBytesPerSecond: 42.5e9, LossBeforeBytesPerSecond: 5e8, LossAfterBytesPerSecond: 1e8,
	}}
	return m
}

func makeProfile(random *rand.Rand, name string, i int) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindApplicationProfile, name
	p.Spec.Command = []string{name, "--size", "large"}
	p.Spec.Machine.Name = madeMachine
	p.Spec.Solo = v1alpha1.Timing{Seconds: rounded(0.3 + 9*random.Float64()), Repeats: 5}
	traffic, share := 40e9*math.Pow(random.Float64(), 2)+1e8, 0.5+0.5*random.Float64()
	doubt := rounded(0.02 + 0.2*random.Float64())
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond: rounded(traffic * share), WriteBytesPerSecond: rounded(traffic * (1 - share)),
		Source: "imc", RelativeUncertainty: &doubt,
	}
	hurt := 0.05 + 0.6*random.Float64()
	for _, readShare := range [][]float64{{0.5, 1}, {0.5, 0.75, 1}, {0.75}}[i%3] {
		curve := v1alpha1.SensitivityCurve{ReadShare: readShare}
		for _, level := range []float64{0.25, 0.5, 0.75, 1} {
			x := level * (36e9 + 8e9*readShare)
			spread := rounded(0.002 + 0.02*random.Float64())
			point := v1alpha1.CurvePoint{
				Level: level, InterfererBytesPerSecond: rounded(x), Repeats: 3, Spread: &spread,
				NormalizedPerformance: rounded(max(1-hurt*math.Pow(level, 1.6)+0.02*random.NormFloat64(), 0.05)),
			}
			if i%5 != 4 {
				achieved := rounded(x * (1 - 0.3*level*random.Float64()))
				point.AchievedBytesPerSecond = &achieved
			}
			curve.Points = append(curve.Points, point)
		}
		p.Spec.Curves = append(p.Spec.Curves, curve)
	}
	if i%4 == 1 {
		p.Spec.Phases = []v1alpha1.Phase{
			{TimeShare: 0.25, ReadBytesPerSecond: rounded(traffic * share * 3), WriteBytesPerSecond: rounded(traffic * (1 - share) * 3)},
			{TimeShare: 0.75, ReadBytesPerSecond: rounded(traffic * share / 3), WriteBytesPerSecond: rounded(traffic * (1 - share) / 3)},
		}
	}
	return p
}

// rounded has the precision of a profile in a file.
func rounded(v float64) float64 {
	scale := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-v1alpha1.SignificantDigits+1)
	return math.Round(v/scale) * scale
}
