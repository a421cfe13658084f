package report

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"bandmate.dev/bandmate/internal/text"
)

// SanitizeText returns s on one line without anything that could act on a
// terminal; see text.Sanitize.
func SanitizeText(s string) string { return text.Sanitize(s) }

// asciiFold replaces the characters that Bandmate itself uses.
var asciiFold = strings.NewReplacer(
	"×", "x", "±", "+/-", "…", "~", "–", "-", "−", "-", "µ", "u", "·", "-", "÷", "/",
	"∞", "inf", "≥", ">=", "≤", "<=", "→", "->",
	"α", "alpha", "β", "beta")

func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, asciiFold.Replace(s))
}

// displayWidth is the number of terminal columns s takes, by the grapheme
// clusters and widths of Unicode annexes 29 and 11.
func displayWidth(s string) int { return uniseg.StringWidth(s) }

// Widest is the width of the widest line of text, in columns of a terminal.
func Widest(text string) int {
	widest := 0
	for line := range strings.SplitSeq(text, "\n") {
		widest = max(widest, displayWidth(line))
	}
	return widest
}

// truncate cuts s to at most width columns, the last of them an ellipsis when
// something was cut; it never divides a grapheme cluster.
func (o Options) truncate(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	mark := "…"
	if !o.Unicode {
		mark = "~"
	}
	kept, used := 0, 1
	clusters := uniseg.NewGraphemes(s)
	for clusters.Next() {
		if used += clusters.Width(); used > width {
			break
		}
		_, kept = clusters.Positions()
	}
	return s[:kept] + mark
}

// padRight fills s with blanks to width columns.
func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-displayWidth(s)))
}

// padLeft puts blanks before s to width columns.
func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-displayWidth(s))) + s
}

// wrap distributes parts over lines of at most width columns, gap columns
// apart, and returns the indices on each line. A wider part has its own line.
func wrap(parts []string, gap, width int) [][]int {
	var lines [][]int
	used := 0
	for i, part := range parts {
		w := displayWidth(part)
		if len(lines) == 0 || used+gap+w > width {
			lines = append(lines, []int{i})
			used = w
			continue
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], i)
		used += gap + w
	}
	return lines
}
