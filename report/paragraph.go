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
