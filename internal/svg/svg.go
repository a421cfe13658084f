// Package svg writes pictures in SVG that stand for themselves: no fonts, scripts
// or styles from elsewhere.
package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"
)

// FontSize is that of text, in units of the picture.
const FontSize = 12

// Picture collects elements. Coordinates go right and down from the top left
// corner.
type Picture struct {
	width, height float64
	body          bytes.Buffer
}

// New returns an empty picture.
func New(width, height float64) *Picture { return &Picture{width: width, height: height} }

// Stroke is how a line looks.
type Stroke struct {
	// Color is one of CSS, as #2f6690.
	Color string
	// Width is 1 when 0.
	Width float64
	// Dashes is a pattern, as "6 4"; empty for a whole line.
	Dashes string
}

func (s Stroke) attributes() string {
	text := fmt.Sprintf(`fill="none" stroke="%s"`, s.Color)
	if s.Width > 0 {
		text += fmt.Sprintf(` stroke-width="%.1f"`, s.Width)
	}
	if s.Dashes != "" {
		text += fmt.Sprintf(` stroke-dasharray="%s"`, s.Dashes)
	}
	return text
}

// Point is a place in a picture.
type Point struct{ X, Y float64 }

// Line connects points; fewer than two draw nothing.
func (p *Picture) Line(s Stroke, points ...Point) {
	if len(points) < 2 {
		return
	}
	fmt.Fprintf(&p.body, `<polyline points="`)
	for i, at := range points {
		if i > 0 {
			p.body.WriteByte(' ')
		}
		fmt.Fprintf(&p.body, "%.1f,%.1f", at.X, at.Y)
	}
	fmt.Fprintf(&p.body, "\" %s/>\n", s.attributes())
}

// Dot is a filled circle, or a ring with a fill of none.
func (p *Picture) Dot(at Point, radius float64, fill, stroke string) {
	fmt.Fprintf(&p.body, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"%s\"/>\n", at.X, at.Y, radius, fill, stroke)
}

// Box is a filled rectangle, with an outline unless the stroke is empty, and with a
// note that a viewer shows on hover unless that is.
func (p *Picture) Box(at Point, width, height float64, fill, stroke, note string) {
	fmt.Fprintf(&p.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"", at.X, at.Y, width, height, fill)
	if stroke != "" {
		fmt.Fprintf(&p.body, " stroke=\"%s\"", stroke)
	}
	if note == "" {
		p.body.WriteString("/>\n")
		return
	}
	fmt.Fprintf(&p.body, "><title>%s</title></rect>\n", escape(note))
}

// Anchors of text.
const (
	Start  = "start"
	Middle = "middle"
	End    = "end"
)

// Text writes a line at half its height above and below a point.
func (p *Picture) Text(at Point, anchor, text string) {
	fmt.Fprintf(&p.body, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", at.X, at.Y+FontSize/3.0, anchor, escape(text))
}

// Upward writes a line that reads from below to above, around a point.
func (p *Picture) Upward(at Point, text string) {
	fmt.Fprintf(&p.body, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n", at.X+FontSize/3.0, at.Y, escape(text))
}

// Document returns the whole picture, described by a title.
func (p *Picture) Document(title string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" font-family="sans-serif" font-size="%d">`+"\n",
		p.width, p.height, p.width, p.height, FontSize)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(title))
	b.WriteString("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n")
	b.Write(p.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// escape makes text of any origin harmless: markup is escaped, and what cannot be
// printed is replaced.
func escape(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
