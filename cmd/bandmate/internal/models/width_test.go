package models

import (
	"io"
	"testing"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// What the commands print fits 80 columns, also where they measure.
func TestWrittenModelsFits(t *testing.T) {
	long := clitest.Long
	within := 0.123
	o := report.Options{Unicode: true}
	most := float64(987_654_321_000)
	bandwidth := units.Bandwidth(987_654_321_000)
	cost := 123_456.7
	clitest.WantWritten(t, map[string]func(io.Writer) error{
		"overlap measure": func(w io.Writer) error {
			return writeSweep(w, sweepResult{
				Computing: []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}, PartsPerCore: 8, MessageBytes: 1 << 30, Regime: "same-complex",
				Points: []sweepPoint{{
					ComputationNode: 15, CommunicationNode: 15, Cores: 128, ComputationAlone: bandwidth, Computation: bandwidth, CommunicationAlone: bandwidth,
					Communication: bandwidth, ComputationAloneSpread: &within, ComputationSpread: &within, CommunicationAloneSpread: &within, CommunicationSpread: &within,
				}},
				Loss: []sweepLosses{{ComputationNode: 15, CommunicationNode: 15, Computation: 12.345, Communication: 12.345}},
			}, o)
		},
		"network measure": func(w io.Writer) error {
			return writeConflicts(w, conflictResult{Rate: bandwidth, Bytes: 1 << 30, AloneSeconds: 1.5, Communications: []measuredCommunication{
				{Conflict: long, Communication: long, From: 99_999, To: 99_999, Penalty: 1234.567, Spread: &within},
			}}, o)
		},
		"capability measure": func(w io.Writer) error { return writeMeasured(w, widestCapability(long, most, cost, within), o) },
		"capability race": func(w io.Writer) error {
			return writeRace(w, raceResult{
				machineSource: machineSource{long, long}, Operation: "broadcast", Threads: 4096, CPUs: []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
				Results: []raceRow{{Name: long, Modeled: &cost, Nanoseconds: cost, RelativeInterval: within, Repeats: 100_000}},
			}, o)
		},
	})
}

// widestCapability has every table of capability measure, with long numbers.
func widestCapability(long string, most, cost, within float64) measureResult {
	node := 15
	return measureResult{Machine: long, Capability: v1alpha1.Capability{
		Latencies: []v1alpha1.LineLatency{{
			Place: "memory", State: "modified", MemoryNode: &node, Nanoseconds: cost, LowNanoseconds: &cost, HighNanoseconds: &cost, RelativeInterval: &within, Repeats: 100_000,
		}},
		LatenciesBySize:  []v1alpha1.SizeLatency{{Bytes: 1 << 39, Nanoseconds: cost, RelativeInterval: &within, Repeats: 100_000}},
		ContentionPoints: []v1alpha1.ContentionPoint{{Threads: 1024, Nanoseconds: cost, RelativeInterval: &within, Repeats: 100_000}},
		Contention:       &v1alpha1.ContentionCost{BaseNanoseconds: cost, BaseIntervalNanoseconds: &cost, PerThreadNanoseconds: cost, PerThreadIntervalNanoseconds: &cost},
		Transfers: []v1alpha1.LinesTransfer{{
			Place: "other complex", State: "modified", Access: "copy", BaseNanoseconds: cost, BaseIntervalNanoseconds: &cost, PerLineNanoseconds: cost,
			PerLineIntervalNanoseconds: &cost, Points: []v1alpha1.TransferPoint{{Lines: 1}, {Lines: 1 << 20}},
		}},
		Bandwidths: []v1alpha1.AccessBandwidth{{
			Access: "triad", NonTemporal: true, Threads: 1024, CPUNode: &node, MemoryNode: &node, BytesPerSecond: most, RelativeInterval: &within, Repeats: 100_000,
		}},
		LoadedLatencies: []v1alpha1.LoadedLatency{{
			StreamingThreads: 1024, ReadShare: 0.755, Level: 0.755, BytesPerSecond: most, Nanoseconds: cost, RelativeInterval: &within, Repeats: 100_000,
		}},
	}}
}
