package report

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// DefaultWidth is the default width of a picture in columns; minWidth is the least.
const (
	DefaultWidth = 80
	minWidth     = 40
)

// Options describe a terminal. The zero value is plain ASCII, 80 columns wide.
type Options struct {
	// Width is the number of columns; 0 means DefaultWidth, less than 40
	// counts as 40.
	Width int
	// Color allows colors (ANSI escape sequences).
	Color bool
	// Unicode allows characters beyond ASCII. Without it drawings use ASCII
	// characters, and other characters in names become question marks.
	Unicode bool
}

// Detect returns the options for w: the width and colors of a terminal, or 80 columns
// without color for anything else. NO_COLOR (https://no-color.org) and TERM=dumb turn
// colors off. Characters beyond ASCII are on unless the locale rules them out. terminal
// reports whether lines of w can be redrawn. getenv is usually os.Getenv.
func Detect(w io.Writer, getenv func(string) string) (options Options, terminal bool) {
	options = Options{Width: DefaultWidth, Unicode: unicodeLocale(getenv)}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return options, false
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
		options.Width = columns
	}
	capable := getenv("TERM") != "dumb"
	options.Color = capable && getenv("NO_COLOR") == ""
	return options, capable
}

// unicodeLocale reports whether the first locale variable that is set (POSIX,
// section 8.2) allows UTF-8. A locale that is not set at all is common in
// containers, whose terminals do show UTF-8.
func unicodeLocale(getenv func(string) string) bool {
	for _, variable := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(variable)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

func (o Options) width() int {
	if o.Width == 0 {
		return DefaultWidth
	}
	return max(o.Width, minWidth)
}

// sgr is a "select graphic rendition" code of ECMA-48, without the frame.
type sgr string

const (
	plain sgr = ""
	bold  sgr = "1"
	faint sgr = "2"
)

func (o Options) paint(text string, style sgr) string {
	if !o.Color || style == plain {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// text is what of s may be shown: sanitized, and ASCII only where nothing else
// can be shown.
func (o Options) text(s string) string {
	s = SanitizeText(s)
	if o.Unicode {
		return s
	}
	return foldASCII(s)
}
