package measure

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"bandmate.dev/bandmate/units"
)

// WriteCSV writes the points as overlap.ReadSweep reads them, with further columns,
// which it ignores: the relative spreads, empty with one repeat, and the number of
// repeats.
func (r Result) WriteCSV(w io.Writer) error {
	rows := [][]string{{
		"computationNode", "communicationNode", "cores",
		"computationAloneBytesPerSecond", "communicationAloneBytesPerSecond",
		"computationBytesPerSecond", "communicationBytesPerSecond",
		"computationAloneRelativeSpread", "communicationAloneRelativeSpread",
		"computationRelativeSpread", "communicationRelativeSpread",
		"repeats", "partsPerCore",
	}}
	bandwidth := func(b units.Bandwidth) string { return strconv.FormatFloat(math.Round(float64(b)), 'f', -1, 64) }
	spread := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, p := range r.Points {
		rows = append(rows, []string{
			strconv.Itoa(p.ComputationNode), strconv.Itoa(p.CommunicationNode), strconv.Itoa(p.Cores),
			bandwidth(p.Alone.Computation), bandwidth(p.Alone.Communication),
			bandwidth(p.Together.Computation), bandwidth(p.Together.Communication),
			spread(p.AloneSpread.Computation), spread(p.AloneSpread.Communication),
			spread(p.TogetherSpread.Computation), spread(p.TogetherSpread.Communication),
			strconv.Itoa(p.Repeats), strconv.Itoa(r.Parts),
		})
	}
	out := csv.NewWriter(w)
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("writing the sweep: %w", err)
	}
	return nil
}
