package network

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"bandmate.dev/bandmate/internal/table"
)

// measuredColumns are the columns of measured conflicts in CSV.
var measuredColumns = []string{"conflict", "communication", "from", "to", "seconds", "aloneSeconds"}

// maxMeasured bounds the rows.
const maxMeasured = 1 << 20

// ReadMeasured reads measured conflicts from CSV with a header that names, in
// any order, conflict, communication, from, to, seconds (the time of the
// communication in this conflict) and aloneSeconds (its time without any other).
// Rows of one conflict need not follow each other. Faults are placed at
// file:line:column.
func ReadMeasured(r io.Reader, file string) ([]Measured, error) {
	var all []Measured
	rows, place := 0, make(map[string]int)
	err := table.Each(r, file, measuredColumns, func(t *table.Table) {
		if rows++; rows > maxMeasured {
			t.Fail("conflict", fmt.Errorf("more than %d rows", maxMeasured))
		}
		name := t.Text("conflict")
		c, penalty := readMeasured(t)
		i, ok := place[name]
		if !ok {
			i = len(all)
			place[name] = i
			all = append(all, Measured{Name: name})
		}
		all[i].Conflict = append(all[i].Conflict, c)
		all[i].Penalties = append(all[i].Penalties, penalty)
	})
	if err != nil {
		return nil, err
	}
	if err := validateMeasured(all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

func readMeasured(t *table.Table) (c Communication, penalty float64) {
	c = Communication{Name: t.Text("communication"), From: t.Whole("from", 0, maxNode), To: t.Whole("to", 0, maxNode)}
	if c.From == c.To {
		t.Fail("to", fmt.Errorf("node %d is where it leaves: want another", c.To))
	}
	return c, t.Positive("seconds") / t.Positive("aloneSeconds")
}

// WriteMeasured writes conflicts as ReadMeasured reads them; alone is the time
// of each communication without any other, in seconds.
func WriteMeasured(w io.Writer, conflicts []Measured, alone float64) error {
	out := csv.NewWriter(w)
	rows := [][]string{measuredColumns}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, m := range conflicts {
		for i, c := range m.Conflict {
			rows = append(rows, []string{m.Name, c.Name, strconv.Itoa(c.From), strconv.Itoa(c.To), number(m.Penalties[i] * alone), number(alone)})
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("writing measured conflicts: %w", err)
	}
	return nil
}
