package measure

import (
	"io"
	"testing"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/units"
)

// What the commands print fits 80 columns, also where they measure.
func TestWrittenMeasureFits(t *testing.T) {
	long := clitest.Long
	within, share := 0.123, units.ReadShare(0.75)
	a := clitest.App(nil)
	most := float64(987_654_321_000)
	bandwidth := units.Bandwidth(987_654_321_000)
	clitest.WantWritten(t, map[string]func(io.Writer) error{
		"doctor --verify": func(w io.Writer) error {
			traffic := verifyTraffic{BytesPerSecond: bandwidth, ReadShare: &share}
			return writeVerification(a, w, verifyResult{
				Source: "nvidia-scf", Diagnosis: doctor.Diagnosis{Cause: "bytes-per-count", Detail: long, Remedy: long},
				Checks: []verifyCheck{{Asked: traffic, Made: traffic, Counted: traffic, TrafficError: -0.9999, ReadShareError: new(-0.9999)}},
			})
		},
		"machine": func(w io.Writer) error {
			p := &v1alpha1.MachineProfile{}
			p.Name, p.Spec.CPUModel, p.Spec.CPUs, p.Spec.VirtualMachine = long, long, 1024, true
			p.Spec.Sustained = []v1alpha1.SustainedBandwidth{{ReadShare: 0.75, BytesPerSecond: most, RelativeSpread: &within, Repeats: 100}}
			return writeMachine(a, w, p)
		},
		"interfere": func(w io.Writer) error {
			return writeInterfere(w, interferer.Setting{Bandwidth: bandwidth, ReadShare: share}, interferer.Achieved{Elapsed: time.Hour})
		},
		"measure": func(w io.Writer) error {
			return writeSummary(w, profiler.Summary{
				Source: "nvidia-scf", Seconds: 12345, Traffic: units.Traffic{Read: units.Bandwidth(most), Write: units.Bandwidth(most)}, RelativeUncertainty: &within,
				Activity: &profiler.Activity{CPUSeconds: &most, Instructions: &most, InstructionsUserOnly: true, ContextSwitches: &most, OtherCPUSeconds: &most},
			}, "processes of /sys/fs/cgroup/"+long)
		},
	})
}
