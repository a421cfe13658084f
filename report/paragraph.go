package report

import "strings"

// Paragraph breaks text into lines that fit the width of o, all but the first
// indented by as many columns as lead takes, which stands before the first. A
// word that is wider than a line stays whole. The text is sanitized; lead is
// printed as it is.
func Paragraph(lead, text string, o Options) string {
	indent := displayWidth(lead)
	words := strings.Fields(o.text(text))
	var b strings.Builder
	b.WriteString(lead)
	column := indent
	for i, word := range words {
		width := displayWidth(word)
		switch {
		case i == 0:
		case column+1+width > o.width():
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	b.WriteByte('\n')
	return b.String()
}

// Fold breaks the lines of text that are wider than o allows at blanks, the rest
// two columns further in than the line began. A word that is wider stays whole, and
// so does a line with colors: what draws it fits it already.
func Fold(text string, o Options) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if displayWidth(line) <= o.width() || strings.ContainsRune(line, '\x1b') || strings.TrimSpace(line) == "" {
			continue
		}
		trimmed := strings.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		hanging := strings.Repeat(" ", min(indent+2, o.width()/2))
		words := strings.Fields(trimmed)
		folded, column := line[:indent]+words[0], indent+displayWidth(words[0])
		for _, word := range words[1:] {
			if column+1+displayWidth(word) > o.width() {
				folded += "\n" + hanging + word
				column = len(hanging) + displayWidth(word)
				continue
			}
			folded += " " + word
			column += 1 + displayWidth(word)
		}
		lines[i] = folded
	}
	return strings.Join(lines, "\n")
}
