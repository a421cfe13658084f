package catalog

import (
	"fmt"
	"strings"
)

// Marks around the generated part of the guide.
const (
	tableBegin = "<!-- catalog: begin, written by go generate -->"
	tableEnd   = "<!-- catalog: end -->"
)

// Insert replaces the part of a document between the marks by the table.
func Insert(document string, rows []Row) (string, error) {
	before, rest, found := strings.Cut(document, tableBegin)
	if !found {
		return "", fmt.Errorf("the document lacks the line %q", tableBegin)
	}
	_, after, found := strings.Cut(rest, tableEnd)
	if !found {
		return "", fmt.Errorf("the document lacks the line %q", tableEnd)
	}
	return before + tableBegin + "\n\n" + Markdown(rows) + "\n" + tableEnd + after, nil
}

// Markdown writes rows as a table.
func Markdown(rows []Row) string {
	var b strings.Builder
	b.WriteString("| platform | `--source` | device | read | write | bytes | module | Linux | source of the row | notes |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		read, write := describe(r, Read), describe(r, Write)
		if !r.SplitsReadWrite() {
			read, write = describe(r, Total)+" (total)", "—"
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Platform, r.Source, strings.ReplaceAll(r.Device, "#", "N"), read, write, bytesPerCount(r), module(r.Module), r.Kernel, r.Basis, notes(r))
	}
	return b.String()
}

func module(name string) string {
	if strings.Contains(name, " ") {
		return name
	}
	return "`" + name + "`"
}

func notes(r Row) string {
	text := r.Notes
	if r.Doubt != "" {
		text = strings.TrimSpace(text + " Doubtful: " + r.Doubt + ".")
	}
	if r.Requires != "" {
		text = strings.TrimSpace(text + " Needs `/sys/" + r.Requires + "`.")
	}
	return text
}

func bytesPerCount(r Row) string {
	var values []string
	for _, e := range r.Events {
		value := fmt.Sprintf("%g", e.Bytes)
		if len(values) == 0 || values[len(values)-1] != value {
			values = append(values, value)
		}
	}
	return strings.Join(values, " / ")
}

// shownEvents is how many events of a kind are spelled out.
const shownEvents = 2

func describe(r Row, kind Kind) string {
	var list []string
	for _, e := range r.Events {
		if e.Kind != kind {
			continue
		}
		text := "`" + e.Terms + "`"
		switch {
		case e.Name != "" && e.Terms != "":
			text = "`" + e.Name + "` (" + text + ")"
		case e.Name != "":
			text = "`" + e.Name + "`"
		}
		list = append(list, text)
	}
	if more := len(list) - shownEvents; more > 1 {
		list = append(list[:shownEvents], fmt.Sprintf("… %d more", more))
	}
	return strings.Join(list, ", ")
}
