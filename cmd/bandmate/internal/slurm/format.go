package slurm

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm"
)

// adviceColumn is what one letter of a format stands for.
type adviceColumn struct {
	title string
	value func(c *slurm.Candidate) string
}

func adviceColumns() map[byte]adviceColumn {
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	return map[byte]adviceColumn{
		'n': {"NODE", func(c *slurm.Candidate) string { return c.Node }},
		'd': {"DOMAIN", func(c *slurm.Candidate) string { return c.Domain }},
		'm': {"MACHINE", func(c *slurm.Candidate) string { return cmp.Or(c.Machine, report.Missing) }},
		's': {"SLOWDOWN", func(c *slurm.Candidate) string { return newcomerSlowdown(c) }},
		'w': {"WORST_RESIDENT", func(c *slurm.Candidate) string {
			if worst, ok := c.WorstResident(); ok {
				return worst.String()
			}
			return report.Missing
		}},
		'N': {"RESIDENTS", func(c *slurm.Candidate) string { return strconv.Itoa(len(c.Residents)) }},
		'l': {"RESIDENTS_BEFORE→AFTER", residents},
		'c': {"SCORE", func(c *slurm.Candidate) string { return fmt.Sprintf("%.3f", c.Cost) }},
		'v': {"OVER_LIMIT", func(c *slurm.Candidate) string { return strconv.Itoa(c.OverLimit) }},
		'f': {"CPUS_FREE", func(c *slurm.Candidate) string { return strconv.FormatFloat(c.FreeCPUs, 'f', -1, 64) }},
		't': {"ROOM", func(c *slurm.Candidate) string { return yes(c.Fits) }},
		'x': {"EXCLUDE", func(c *slurm.Candidate) string { return yes(c.Excluded) }},
		'R': {"REASON", func(c *slurm.Candidate) string { return c.Reason }},
	}
}

// newcomerSlowdown is missing where it cannot be known.
func newcomerSlowdown(c *slurm.Candidate) string {
	if !c.Score.Newcomer.Known {
		return report.Missing
	}
	return c.Slowdown.String()
}

// residents lists the residents: job, application, slowdown before and after.
func residents(c *slurm.Candidate) string {
	if len(c.Residents) == 0 {
		return report.Missing
	}
	var all []string
	for _, r := range c.Residents {
		switch {
		case r.Known && r.Application != "":
			all = append(all, fmt.Sprintf("%s:%s:%.2f→%s", r.Job, r.Application, float64(r.Before), r.After))
		default:
			all = append(all, fmt.Sprintf("%s:?", r.Job))
		}
	}
	return strings.Join(all, ",")
}

// field is a piece of a format: text, or a column with its width.
type field struct {
	text   string
	column adviceColumn
	width  int
	right  bool
}

// parseFormat reads a format of Slurm's kind: %[[.]size]letter.
func parseFormat(format string) ([]field, error) {
	columns := adviceColumns()
	var fields []field
	for rest := format; rest != ""; {
		text, spec, found := strings.Cut(rest, "%")
		if text != "" {
			fields = append(fields, field{text: text})
		}
		if !found {
			break
		}
		f := field{}
		spec, f.right = strings.CutPrefix(spec, ".")
		digits := len(spec) - len(strings.TrimLeft(spec, "0123456789"))
		if digits > 0 {
			width, err := strconv.Atoi(spec[:digits])
			if err != nil || width > 1000 {
				return nil, cli.Usagef("-o %q: a width of %s: want at most 1000", format, spec[:digits])
			}
			f.width = width
		}
		spec = spec[digits:]
		if spec == "" {
			return nil, cli.Usagef("-o %q: a letter is missing after the last %%", format)
		}
		column, ok := columns[spec[0]]
		if !ok {
			return nil, cli.Usagef("-o %q: %%%c is no column: see bandmate slurm advise --help", format, spec[0])
		}
		f.column = column
		fields = append(fields, f)
		rest = spec[1:]
	}
	return fields, nil
}

// formatAdvice prints one line for each candidate: as text in a table whose columns are
// as wide as what they hold, as CSV, or in a format of Slurm's kind.
func formatAdvice(advice *slurm.Advice, format string, header bool) ([]byte, error) {
	columns := format
	switch format {
	case cli.FormatText:
		columns = "%n%d%s%w%c%f%x%l%R"
	case cli.FormatCSV:
		columns = "%n%d%s%w%c%v%f%t%x%l%R"
	}
	fields, err := parseFormat(columns)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	if header {
		rows = append(rows, cells(fields, func(c adviceColumn) string { return c.title }))
	}
	for i := range advice.Candidates {
		rows = append(rows, cells(fields, func(c adviceColumn) string { return c.value(&advice.Candidates[i]) }))
	}
	var b bytes.Buffer
	switch format {
	case cli.FormatText:
		return align(rows), nil
	case cli.FormatCSV:
		err := csv.NewWriter(&b).WriteAll(rows)
		return b.Bytes(), err
	}
	for _, row := range rows {
		b.WriteString(strings.Join(row, "") + "\n")
	}
	return b.Bytes(), nil
}

// cells returns the pieces of one line, each as wide as asked for.
func cells(fields []field, value func(adviceColumn) string) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		if f.column.value == nil {
			all[i] = f.text
			continue
		}
		// The column separator must not come from a name.
		text := strings.ReplaceAll(report.SanitizeText(value(f.column)), "|", "¦")
		all[i] = fit(text, f.width, f.right)
	}
	return all
}

// fit cuts and pads a text to a width; 0 leaves it as it is.
func fit(text string, width int, right bool) string {
	if width == 0 {
		return text
	}
	length := utf8.RuneCountInString(text)
	if length > width {
		return string([]rune(text)[:width])
	}
	padding := strings.Repeat(" ", width-length)
	if right {
		return padding + text
	}
	return text + padding
}

// align prints the columns under each other; the last one may have any length.
func align(rows [][]string) []byte {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b bytes.Buffer
	for _, row := range rows {
		for i, cell := range row {
			row[i] = fit(cell, widths[i], false)
		}
		b.WriteString(strings.TrimRight(strings.Join(row, "  "), " ") + "\n")
	}
	return b.Bytes()
}

// narrowAdvice is the usual table for a terminal that is too narrow for it: without
// the residents, and without the domain where that is the node everywhere.
func narrowAdvice(advice *slurm.Advice) *report.Table {
	domains := slices.ContainsFunc(advice.Candidates, func(c slurm.Candidate) bool { return c.Domain != c.Node })
	table := &report.Table{}
	var letters []byte
	columns := adviceColumns()
	for _, c := range []struct {
		letter  byte
		title   string
		numeric bool
	}{
		{'n', "node", false},
		{'d', "domain", false},
		{'s', "slowdown", true},
		{'w', "worst", true},
		{'c', "score", true},
		{'f', "free", true},
		{'x', "exclude", false},
		{'R', "reason", false},
	} {
		if c.letter == 'd' && !domains {
			continue
		}
		letters = append(letters, c.letter)
		table.Columns = append(table.Columns, report.Column{Title: c.title, Numeric: c.numeric})
	}
	for i := range advice.Candidates {
		var row []report.Cell
		for _, letter := range letters {
			row = append(row, report.Text(columns[letter].value(&advice.Candidates[i])))
		}
		table.Add(row...)
	}
	return table
}
