package cli

import (
	"io"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/report"
)

// Table returns a table with these column titles. A title that begins with > is that
// of a column of numbers, which is aligned to the right.
func Table(titles ...string) *report.Table {
	t := &report.Table{}
	for _, title := range titles {
		title, numeric := strings.CutPrefix(title, ">")
		t.Columns = append(t.Columns, report.Column{Title: title, Numeric: numeric})
	}
	return t
}

// CountCell is the cell of a whole number.
func CountCell(n int) report.Cell { return report.Number(strconv.Itoa(n), float64(n)) }

// PrintTable writes v as JSON or YAML, the table as CSV, or calls text.
func (a *App) PrintTable(v any, t *report.Table, text func(io.Writer) error) error {
	if a.Format == FormatCSV {
		return t.WriteCSV(a.Stdout)
	}
	return a.Print(v, text)
}
