package drawing

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"bandmate.dev/bandmate/internal/text"
)

// TitleSize is the font size of titles in pixels.
const TitleSize = 16.0

// The Go fonts (BSD license) have Latin, Greek and Cyrillic letters. They draw the
// text of PNGs, and say how wide the text of an SVG will about be.
var (
	regularFont = sync.OnceValues(func() (*sfnt.Font, error) { return opentype.Parse(goregular.TTF) })
	boldFont    = sync.OnceValues(func() (*sfnt.Font, error) { return opentype.Parse(gobold.TTF) })
)

// The fonts with which an SVG is shown are up to so much wider, as DejaVu Sans is.
const regularAllowance, boldAllowance = 1.2, 1.35

// Width returns how wide text may be, in pixels. Letters that the font lacks count
// as wide as their height, which is what most of them are.
func Width(s string, size float64, bold bool) float64 {
	load, allowance := regularFont, regularAllowance
	if bold {
		load, allowance = boldFont, boldAllowance
	}
	f, err := load()
	if err != nil { // the font is part of the program: cannot happen
		return size * float64(len(s)) / 2
	}
	var buffer sfnt.Buffer
	ppem := fixed.Int26_6(size * 64)
	width := 0.0
	for _, r := range s {
		glyph, err := f.GlyphIndex(&buffer, r)
		if err != nil || glyph == 0 {
			width += size
			continue
		}
		if advance, err := f.GlyphAdvance(&buffer, glyph, ppem, font.HintingNone); err == nil {
			width += float64(advance) / 64 * allowance
		}
	}
	return width
}

// Fit cuts text to a width in pixels, the last letter an ellipsis where
// something was cut.
func Fit(s string, size, width float64) string {
	s = text.Sanitize(s)
	if Width(s, size, false) <= width {
		return s
	}
	letters := []rune(s)
	for len(letters) > 0 && Width(string(letters)+"…", size, false) > width {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "…"
}
