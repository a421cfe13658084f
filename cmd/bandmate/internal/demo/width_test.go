package demo

import (
	"io"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/units"
)

// What the commands print fits 80 columns, also where they measure.
func TestWrittenDemoFits(t *testing.T) {
	long := clitest.Long
	within, share := 0.123, units.ReadShare(0.75)
	a := clitest.App(nil)
	machine := machine{CPUModel: long, CPUs: 1024, Regime: "different-complexes", RoundTripNanoseconds: 1234, SharedLastLevelCache: new(true)}
	most := float64(987_654_321_000)
	clitest.WantWritten(t, map[string]func(io.Writer) error{
		"demo": func(w io.Writer) error {
			return write(a, w, Result{
				Machine:            machine,
				Applications:       []application{{Name: long, SoloSeconds: 1234.5, ReadBytesPerSecond: most, WriteBytesPerSecond: most, ReadShare: &share, RelativeUncertainty: &within}},
				Pairs:              []pair{{Target: long, Corunner: long, Predicted: 0.01, Measured: 0.01, ErrorPoints: 99.9, Interval: [2]float64{1, 100}}},
				MeanAbsErrorPoints: new(99.9), MaxAbsErrorPoints: new(99.9),
			})
		},
		"demo without a pair": func(w io.Writer) error {
			return write(a, w, Result{Machine: machine, DroppedSamples: 123456})
		},
	})
}
