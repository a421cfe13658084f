package network

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// measuredColumns are the columns of measured conflicts in CSV.
var measuredColumns = []string{"conflict", "communication", "from", "to", "seconds", "aloneSeconds"}

// maxMeasured bounds the rows.
const maxMeasured = 1 << 20

// ReadMeasured reads measured conflicts from CSV with a header that names, in
// any order, conflict, communication, from, to, seconds (the time of the
// communication in this conflict) and aloneSeconds (its time without any other).
// Rows of one conflict need not follow each other.
func ReadMeasured(r io.Reader) ([]Measured, error) {
	rows := csv.NewReader(r)
	rows.TrimLeadingSpace, rows.ReuseRecord = true, true
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("no measured conflicts: want a header and a row for each communication")
	}
	if err != nil {
		return nil, fmt.Errorf("reading measured conflicts: %w", err)
	}
	var at [6]int
	for i, name := range measuredColumns {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return nil, fmt.Errorf("no column %s: want %q", name, measuredColumns)
		}
	}
	var all []Measured
	place := make(map[string]int)
	for n := 0; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading measured conflicts: %w", err)
		}
		line, _ := rows.FieldPos(0)
		if n == maxMeasured {
			return nil, fmt.Errorf("line %d: more than %d rows", line, maxMeasured)
		}
		c, penalty, err := parseMeasured(row, at)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		name := row[at[0]]
		i, ok := place[name]
		if !ok {
			i = len(all)
			place[name] = i
			all = append(all, Measured{Name: name})
		}
		all[i].Conflict = append(all[i].Conflict, c)
		all[i].Penalties = append(all[i].Penalties, penalty)
	}
	return all, validateMeasured(all)
}

func parseMeasured(row []string, at [6]int) (Communication, float64, error) {
	c, err := ParseCommunication(row[at[1]] + ":" + row[at[2]] + "-" + row[at[3]])
	if err != nil {
		return c, 0, err
	}
	var seconds [2]float64
	for i := range seconds {
		text := row[at[4+i]]
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return c, 0, fmt.Errorf("%s of %q: want seconds above 0", measuredColumns[4+i], text)
		}
		seconds[i] = v
	}
	return c, seconds[0] / seconds[1], nil
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
