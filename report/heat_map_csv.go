package report

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/internal/parallel"
)

// WriteCSV writes one line per known or unknown slowdown:
// target,corunner,slowdown, the last one empty where it is not known. It holds some rows
// in memory at a time.
func (m *HeatMap) WriteCSV(w io.Writer) error {
	if _, err := io.WriteString(w, "target,corunner,slowdown\n"); err != nil {
		return err
	}
	targets, corunners := csvFields(m.Targets), csvFields(m.Corunners)
	return parallel.WriteRows(w, len(targets), func(to []byte, i int) []byte {
		return m.appendCSV(to, i, targets[i], corunners)
	})
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
