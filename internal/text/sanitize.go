// Package text makes text of any origin safe to show.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sanitize returns s on one line without anything that could act on a
// terminal: control characters and with them escape sequences, marks that
// reverse the direction of text, invisible and unassigned characters and
// invalid UTF-8 become U+FFFD, every kind of space and line break becomes a
// blank. Joiners inside words and emoji stay.
func Sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c', r == '\u200d', unicode.IsPrint(r):
			return r
		default:
			return utf8.RuneError
		}
	}, s)
}
