package report

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/internal/parallel"
)

// rowsAtOnce is how many rows of a heat map are in memory as CSV.
const rowsAtOnce = 64

// WriteCSV writes one line per known or unknown slowdown:
// target,corunner,slowdown, the last one empty where it is not known. It holds some rows
// in memory at a time.
func (m *HeatMap) WriteCSV(w io.Writer) error {
	if _, err := io.WriteString(w, "target,corunner,slowdown\n"); err != nil {
		return err
	}
	targets, corunners := csvFields(m.Targets), csvFields(m.Corunners)
	rows := make([][]byte, min(len(targets), rowsAtOnce))
	for first := 0; first < len(targets); first += len(rows) {
		n := min(len(rows), len(targets)-first)
		parallel.Each(n, func(k int) {
			rows[k] = m.appendCSV(rows[k][:0], first+k, targets[first+k], corunners)
		})
		for _, row := range rows[:n] {
			if _, err := w.Write(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendCSV appends the lines of a target. The names are fields of CSV.
func (m *HeatMap) appendCSV(to []byte, target int, name string, corunners []string) []byte {
	for j, corunner := range corunners {
		to = append(append(to, name...), ',')
		to = append(append(to, corunner...), ',')
		if s := float64(m.Slowdown(target, j)); !math.IsNaN(s) {
			to = strconv.AppendFloat(to, s, 'g', -1, 64)
		}
		to = append(to, '\n')
	}
	return to
}

// csvFields returns names as fields of CSV, quoted where RFC 4180 wants it.
func csvFields(names []string) []string {
	fields := make([]string, len(names))
	for i, name := range names {
		var b strings.Builder
		out := csv.NewWriter(&b)
		_ = out.Write([]string{SanitizeText(name)}) // a strings.Builder never fails
		out.Flush()
		fields[i] = strings.TrimSuffix(b.String(), "\n")
	}
	return fields
}
