package v1alpha1_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// soundApplication returns a valid profile with every field set.
func soundApplication() *v1alpha1.ApplicationProfile {
	point := func(level, bandwidth, performance float64) v1alpha1.CurvePoint {
		return v1alpha1.CurvePoint{
			Level:                    level,
			InterfererBytesPerSecond: bandwidth,
			AchievedBytesPerSecond:   new(bandwidth * 0.9),
			TotalBytesPerSecond:      new(bandwidth * 1.2),
			NormalizedPerformance:    performance,
			Repeats:                  5,
			Spread:                   new(0.0123),
		}
	}
	return &v1alpha1.ApplicationProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindApplicationProfile},
		ObjectMeta: metav1.ObjectMeta{Name: "triad", Labels: map[string]string{"suite": "stream"}},
		Spec: v1alpha1.ApplicationProfileSpec{
			Command: []string{"stream", "-n", "5", "a b", "yes"},
			Machine: v1alpha1.MachineReference{Name: "node-a", CPUModel: "AMD EPYC 9B45"},
			Measurement: v1alpha1.Measurement{
				Time:                 metav1.NewTime(time.Date(2026, 11, 20, 6, 30, 0, 0, time.UTC)),
				BandmateVersion:      "v0.1.0",
				TargetCPUs:           "0-3",
				InterfererCPUs:       "4-7",
				MemoryNode:           new(0),
				SharedLastLevelCache: new(true),
				Regime:               &v1alpha1.Regime{Name: "same-complex", RoundTripNanoseconds: 78.5},
				DroppedSamples:       2,
			},
			Solo: v1alpha1.Timing{Seconds: 12.5, RelativeSpread: new(0.004), Repeats: 5},
			Contentiousness: v1alpha1.Contentiousness{
				ReadBytesPerSecond:   28_523_923_674,
				WriteBytesPerSecond:  9_576_373_573,
				Source:               "imc",
				RelativeUncertainty:  new(0.03),
				ReadShareUncertainty: new(0.02),
				Timeline: []v1alpha1.TrafficSample{
					{Seconds: 0.1, ReadBytesPerSecond: 1e9},
					{Seconds: 0.2, ReadBytesPerSecond: 2e9, WriteBytesPerSecond: 1e6},
				},
			},
			Curves: []v1alpha1.SensitivityCurve{
				{ReadShare: 0.5, Pattern: "sequential", Points: []v1alpha1.CurvePoint{point(0.25, 10.66e9, 0.93), point(1, 42.7e9, 0.61)}},
				{ReadShare: 1, Points: []v1alpha1.CurvePoint{point(0.25, 9e9, 0.95), point(1, 36e9, 0.7)}},
			},
			Cache: []v1alpha1.CachePoint{
				{
					FootprintBytes: 16 << 20, ReadShare: 1, Level: 0.5, AccessedBytesPerSecond: 60e9, AchievedBytesPerSecond: 55e9,
					TotalBytesPerSecond: new(21e9), NormalizedPerformance: 0.8, Repeats: 3, Spread: new(0.01),
					OccupancyBytes: new(9e6),
				},
				{FootprintBytes: 32 << 20, ReadShare: 0.75, Level: 0.5, AccessedBytesPerSecond: 60e9, AchievedBytesPerSecond: 30e9, NormalizedPerformance: 0.6, Repeats: 1},
			},
			CacheOccupancyBytes: new(12e6),
			Distance: &v1alpha1.Distance{
				CorunnerCPUs: "4-7", CorunnerSolo: v1alpha1.Timing{Seconds: 15.5, RelativeSpread: new(0.006), Repeats: 3},
				TargetReadBytesPerSecond: 35e9, TargetWriteBytesPerSecond: 12e9,
			},
			Communication: &v1alpha1.Communication{
				Source: "measured", SentBytesPerSecond: new(1.25e8), ReceivedBytesPerSecond: new(0.0),
				MessageBytes: new(int64(1 << 20)), Overlapped: new(false), Repeats: 3, RelativeSpread: new(0.01),
			},
			Service: &v1alpha1.Service{
				Requests: []string{"http://127.0.0.1:8080/file"},
				Loads: []v1alpha1.ServiceLoad{
					{RequestsPerSecond: 1000, P50Seconds: 1e-4, P90Seconds: 2e-4, P99Seconds: 5e-4, P999Seconds: 1e-3, P99RelativeSpread: new(0.03), Requests: 5000, CPUSecondsPerSecond: 0.1},
					{RequestsPerSecond: 9000, P50Seconds: 3e-4, P90Seconds: 9e-4, P99Seconds: 2e-3, P999Seconds: 4e-3, Requests: 45000, CPUSecondsPerSecond: 0.9},
				},
				SaturationRequestsPerSecond: 10_000, SaturationRelativeSpread: new(0.01),
				Factors: []v1alpha1.ServiceFactors{
					{RequestsPerSecond: 3000, ReadBytesPerSecond: 1e9, WriteBytesPerSecond: 2e8, Curves: []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{point(1, 36e9, 0.9)}}}},
					{RequestsPerSecond: 7000, ReadBytesPerSecond: 2e9, WriteBytesPerSecond: 4e8, Curves: []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{point(1, 36e9, 0.8)}}}},
				},
				Shared: "the load ran on the CPUs of the interferer",
			},
			Phases: []v1alpha1.Phase{
				{TimeShare: 1.0 / 3, ReadBytesPerSecond: 1e9},
				{TimeShare: 2.0 / 3, WriteBytesPerSecond: 2e9},
			},
			Warnings: []string{"the machine is virtual: expect 2× the spread"},
		},
	}
}

// soundMachine returns a valid profile with every field set.
func soundMachine() *v1alpha1.MachineProfile {
	return &v1alpha1.MachineProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindMachineProfile},
		ObjectMeta: metav1.ObjectMeta{Name: "node-a"},
		Spec: v1alpha1.MachineProfileSpec{
			CPUModel:            "AMD EPYC 9B45",
			Sockets:             1,
			NUMANodes:           1,
			CPUs:                8,
			LastLevelCacheBytes: 32 << 20,
			SharedCache:         &v1alpha1.SharedCache{Bytes: 32 << 20, CPUs: []string{"0-7", "8-15"}},
			MemoryBytes:         64 << 30,
			VirtualMachine:      true,
			Measurement:         v1alpha1.Measurement{InterfererCPUs: "4-7"},
			Link:                "shared",
			Sustained: []v1alpha1.SustainedBandwidth{
				{ReadShare: 0.5, Pattern: "random", BytesPerSecond: 21e9, Repeats: 3, RelativeSpread: new(0.01)},
				{ReadShare: 1, BytesPerSecond: 42.7e9, Repeats: 1},
			},
			ProbeMap: []v1alpha1.ProbePoint{{
				Probe: "reader", ReadShare: 1, Level: 0.5, InterfererBytesPerSecond: 21e9,
				AchievedBytesPerSecond: 20e9, RelativeSpeed: 0.8, Spread: new(0.02), Repeats: 2,
			}},
			Capability: &v1alpha1.Capability{
				Source: "measured", CoresPerTile: 2, Level1Bytes: 32 << 10, Level2Bytes: 1 << 20,
				Latencies: []v1alpha1.LineLatency{
					{Place: "level1", Nanoseconds: 3.8, RelativeInterval: new(0.02), Repeats: 15},
					{Place: "remote", State: "modified", Nanoseconds: 114.5, LowNanoseconds: new(107.0), HighNanoseconds: new(122.0)},
					{Place: "memory", Memory: "DRAM", Nanoseconds: 140},
					{Place: "memory", CPUNode: new(0), MemoryNode: new(1), Nanoseconds: 210},
				},
				LatenciesBySize: []v1alpha1.SizeLatency{
					{Bytes: 16 << 10, Nanoseconds: 3.8, RelativeInterval: new(0.01), Repeats: 11},
					{Bytes: 1 << 28, Nanoseconds: 140},
				},
				Contention: &v1alpha1.ContentionCost{
					BaseNanoseconds: 200, PerThreadNanoseconds: 34,
					BaseIntervalNanoseconds: new(12.0), PerThreadIntervalNanoseconds: new(1.5),
				},
				ContentionPoints: []v1alpha1.ContentionPoint{{Threads: 1, Nanoseconds: 234, RelativeInterval: new(0.05), Repeats: 11}},
				Transfers: []v1alpha1.LinesTransfer{{
					Place: "remote", State: "modified", Access: "copy", BaseNanoseconds: 110, PerLineNanoseconds: 8.5,
					BaseIntervalNanoseconds: new(9.0), PerLineIntervalNanoseconds: new(0.5),
					Points: []v1alpha1.TransferPoint{{Lines: 1, Nanoseconds: 118, RelativeInterval: new(0.03), Repeats: 11}},
				}},
				Bandwidths: []v1alpha1.AccessBandwidth{
					{Access: "copy", NonTemporal: true, Memory: "DRAM", Threads: 16, BytesPerSecond: 70e9, RelativeInterval: new(0.01), Repeats: 5},
					{Access: "copy", NonTemporal: true, CPUNode: new(0), MemoryNode: new(1), Threads: 16, BytesPerSecond: 30e9},
				},
				LoadedLatencies: []v1alpha1.LoadedLatency{
					{StreamingThreads: 15, ReadShare: 0.5, Level: 0.25, BytesPerSecond: 20e9, Nanoseconds: 150, RelativeInterval: new(0.02), Repeats: 11},
				},
				Warnings: []string{"shared lines were not measured"},
			},
			BusSharing: &v1alpha1.BusSharing{NodesPerSocket: 1, Local: soundBusSharing(), Remote: new(soundBusSharing())},
			Network: &v1alpha1.Network{
				Model: "gigabit-ethernet", BytesPerSecond: 1.17e8, LatencySeconds: new(3e-5),
				Beta: new(0.75), GammaOut: new(0.115), GammaIn: new(0.036),
			},
			Warnings: []string{"huge pages are off"},
		},
	}
}

func soundBusSharing() v1alpha1.BusSharingInstance {
	return v1alpha1.BusSharingInstance{
		CommunicationAloneBytesPerSecond: 11e9, LeastCommunicationShare: 0.3, ComputationPerCoreBytesPerSecond: 5e9,
		ComputationAloneBytesPerSecond: 60e9, ComputationAloneCores: 14, TotalBytesPerSecond: 70e9, TotalCores: 12,
		TotalAtComputationAloneCoresBytesPerSecond: 68e9, LossBeforeBytesPerSecond: 1e9, LossAfterBytesPerSecond: -1e6,
	}
}
