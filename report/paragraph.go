package report

import "strings"

// Paragraph breaks text into lines that fit the width of o, all but the first
// indented by as many columns as lead takes, which stands before the first. A
// word that is wider than a line stays whole. The text is sanitized; lead is
// printed as it is.
func Paragraph(lead, text string, o Options) string {
	return o.breakLine(lead, strings.Repeat(" ", displayWidth(lead)), o.text(text)) + "\n"
}

// Fold breaks the lines of text that are wider than o allows at blanks, the rest
// two columns further in than the line began. A word that is wider stays whole, and
// so does a line with colors: it fits already. The text becomes ASCII where nothing else
// can be shown.
func Fold(text string, o Options) string {
	if !o.Unicode {
		text = foldASCII(text)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		trimmed := strings.TrimLeft(line, " ")
		if displayWidth(line) > o.width() && !strings.ContainsRune(line, '\x1b') && trimmed != "" {
			indent := len(line) - len(trimmed)
			lines[i] = o.breakLine(line[:indent], strings.Repeat(" ", min(indent+2, o.width()/2)), trimmed)
		}
	}
	return strings.Join(lines, "\n")
}

// breakLine puts the words of text after lead, and after hanging on each further
// line.
func (o Options) breakLine(lead, hanging, text string) string {
	line, column := lead, displayWidth(lead)
	for i, word := range strings.Fields(text) {
		width := displayWidth(word)
		switch {
		case i == 0:
		case column+1+width > o.width():
			line, column = line+"\n"+hanging, len(hanging)
		default:
			line, column = line+" ", column+1
		}
		line, column = line+word, column+width
	}
	return line
}
