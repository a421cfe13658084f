package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Table is rows under titled columns: aligned text for people, CSV for
// programs.
type Table struct {
	Columns []Column
	// Rows hold one cell per column; short rows are filled with empty cells.
	Rows [][]Cell
}

// Column describes the cells below its title.
type Column struct {
	Title string
	// Key is the title in CSV, with the unit in the name
	// ("bytesPerSecond"); Title when empty.
	Key string
	// Numeric aligns to the right. Numbers are never cut.
	Numeric bool
}

// Cell is what a table shows in one place. The zero value is empty.
type Cell struct {
	text, csv string
}

// Text is a cell with a name or a remark; long ones are cut to fit.
func Text(s string) Cell { return Cell{text: s, csv: s} }

// Number is a cell that shows text, such as "12.3 GB/s", and yields value in
// CSV. A NaN shows as Missing and is empty in CSV: missing is not zero.
func Number(text string, value float64) Cell {
	if math.IsNaN(value) {
		return Cell{text: Missing}
	}
	return Cell{text: text, csv: strconv.FormatFloat(value, 'g', -1, 64)}
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

const columnGap = 2

// minColumnWidths are those down to which text is cut: the second where a table is wider
// with the first.
var minColumnWidths = [...]int{8, 5}

// Write draws the table. If it is wider than o allows, its widest text columns are cut,
// down to eight characters each, or five where that is too wide. Numbers are never cut,
// even if the table stays wider.
func (t *Table) Write(w io.Writer, o Options) error {
	titles := make([]string, len(t.Columns))
	for j, column := range t.Columns {
		titles[j] = o.text(column.Title)
	}
	texts := t.texts(o)
	widths := t.widths(o, titles, texts)

	var b strings.Builder
	t.writeRow(&b, o, titles, widths, bold)
	line, total := "-", -columnGap
	if o.Unicode {
		line = "─"
	}
	for _, width := range widths {
		total += width + columnGap
	}
	fmt.Fprintln(&b, o.paint(strings.Repeat(line, max(0, total)), faint))
	for _, row := range texts {
		t.writeRow(&b, o, row, widths, plain)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteRows is Write without the titles.
func (t *Table) WriteRows(w io.Writer, o Options) error {
	texts := t.texts(o)
	widths := t.widths(o, make([]string, len(t.Columns)), texts)
	var b strings.Builder
	for _, row := range texts {
		t.writeRow(&b, o, row, widths, plain)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// texts returns what the cells show.
func (t *Table) texts(o Options) [][]string {
	texts := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		texts[i] = make([]string, len(t.Columns))
		for j := range min(len(row), len(t.Columns)) {
			texts[i][j] = o.text(row[j].text)
		}
	}
	return texts
}

// widths returns the width of each column, fitted to the options.
func (t *Table) widths(o Options, titles []string, rows [][]string) []int {
	widths := make([]int, len(t.Columns))
	total := -columnGap
	for j := range t.Columns {
		widths[j] = displayWidth(titles[j])
		for _, row := range rows {
			widths[j] = max(widths[j], displayWidth(row[j]))
		}
		total += widths[j] + columnGap
	}
	for _, least := range minColumnWidths {
		for ; total > o.width(); total-- {
			widest := t.widestText(widths)
			if widest < 0 || widths[widest] <= least {
				break
			}
			widths[widest]--
		}
	}
	return widths
}

// widestText returns the widest column of text, the first of several; -1 without any.
func (t *Table) widestText(widths []int) int {
	widest := -1
	for j, column := range t.Columns {
		if !column.Numeric && (widest < 0 || widths[j] > widths[widest]) {
			widest = j
		}
	}
	return widest
}

func (t *Table) writeRow(b *strings.Builder, o Options, cells []string, widths []int, style sgr) {
	var line strings.Builder
	for j, cell := range cells {
		if j > 0 {
			line.WriteString(strings.Repeat(" ", columnGap))
		}
		cell = o.truncate(cell, widths[j])
		if t.Columns[j].Numeric {
			line.WriteString(padLeft(cell, widths[j]))
		} else {
			line.WriteString(padRight(cell, widths[j]))
		}
	}
	fmt.Fprintln(b, o.paint(strings.TrimRight(line.String(), " "), style))
}

// WriteCSV writes a title line and the rows as RFC 4180 has them, numbers in
// full precision. Names are sanitized here too: CSV goes to terminals as well.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for j, column := range t.Columns {
		record[j] = column.Key
		if column.Key == "" {
			record[j] = SanitizeText(column.Title)
		}
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for _, row := range t.Rows {
		for j := range record {
			record[j] = ""
			if j < len(row) {
				record[j] = SanitizeText(row[j].csv)
			}
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
