package drawing

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/internal/text"
)

// WriteSVG writes the picture as SVG 1.1 without scripts, fonts or anything to
// fetch. Its colors follow the reader's choice of light or dark where the viewer
// knows it. The same picture gives the same bytes.
func (p *Picture) WriteSVG(w io.Writer) error {
	out := svgWriter{bufio.NewWriter(w)}
	out.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=\"%[1]s\" height=\"%[2]s\" role=\"img\" aria-labelledby=\"t d\" font-family=\"%[3]s\">\n",
		number(p.Width), number(p.Height), "system-ui, &#34;Noto Sans&#34;, &#34;DejaVu Sans&#34;, sans-serif")
	out.printf("<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", escape(p.Title), escape(p.Description))
	out.styles()
	out.printf("<rect class=\"f%d\" width=\"100%%\" height=\"100%%\"/>\n", PaperInk)
	for _, shape := range p.shapes {
		out.shape(shape)
	}
	out.printf("</svg>\n")
	return out.Flush()
}

// svgWriter keeps the first error, which Flush returns.
type svgWriter struct{ *bufio.Writer }

func (w svgWriter) printf(format string, args ...any) { fmt.Fprintf(w.Writer, format, args...) }

// styles writes a class fN that fills with ink N and a class sN that strokes.
func (w svgWriter) styles() {
	rules := func(t theme) string {
		var b strings.Builder
		for i, color := range t {
			fmt.Fprintf(&b, ".f%d{fill:#%06x}.s%[1]d{stroke:#%06[2]x}", i, uint32(color))
		}
		return b.String()
	}
	w.printf("<style>%s@media (prefers-color-scheme:dark){%s}</style>\n", rules(light), rules(dark))
}

func (w svgWriter) shape(s shape) {
	switch s := s.(type) {
	case area:
		w.area(s)
	case polygon:
		w.printf("<path class=\"f%d\"%s d=\"%s\"/>\n", s.fill, opacity(s.opacity), path(s.corners, true))
	case line:
		w.line(s)
	case Label:
		w.label(s)
	}
}

func opacity(part float64) string {
	if part == 1 {
		return ""
	}
	return ` fill-opacity="` + number(part) + `"`
}

func (w svgWriter) line(l line) {
	dashes := ""
	for _, length := range l.Dashes {
		dashes += " " + number(length)
	}
	if dashes != "" {
		dashes = ` stroke-dasharray="` + dashes[1:] + `"`
	}
	w.printf("<path class=\"s%d\" fill=\"none\" stroke-width=\"%s\" stroke-linejoin=\"round\" stroke-linecap=\"round\"%s d=\"%s\"/>\n",
		l.Ink, number(l.Width), dashes, path(l.points, false))
}

// area writes boxes without hints as one path, which stays small even where a
// heat map has a quarter of a million cells.
func (w svgWriter) area(a area) {
	var b strings.Builder
	for _, box := range a.boxes {
		if box.Hint != "" {
			w.printf("<rect class=\"f%d\"%s x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s</title></rect>\n",
				a.fill, opacity(a.opacity), number(box.X), number(box.Y), number(box.Width), number(box.Height), escape(box.Hint))
			continue
		}
		fmt.Fprintf(&b, "M%s %sh%sv%sh-%sz", number(box.X), number(box.Y), number(box.Width), number(box.Height), number(box.Width))
	}
	if b.Len() > 0 {
		w.printf("<path class=\"f%d\"%s d=\"%s\"/>\n", a.fill, opacity(a.opacity), b.String())
	}
}

func (w svgWriter) label(l Label) {
	attributes := fmt.Sprintf("class=\"f%d\" font-size=\"%s\"", l.Ink, number(l.Size))
	switch l.Anchor {
	case Start:
	case Middle:
		attributes += " text-anchor=\"middle\""
	case End:
		attributes += " text-anchor=\"end\""
	}
	if l.Bold {
		attributes += " font-weight=\"600\""
	}
	if l.Upward {
		attributes += fmt.Sprintf(" transform=\"rotate(-90 %s %s)\"", number(l.At.X), number(l.At.Y))
	}
	w.printf("<text x=\"%s\" y=\"%s\" %s>%s</text>\n", number(l.At.X), number(l.At.Y), attributes, escape(l.Text))
}

// path returns the value of a d attribute.
func path(points []Point, closed bool) string {
	var b strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		b.WriteString(command + number(p.X) + " " + number(p.Y))
	}
	if closed {
		b.WriteString("Z")
	}
	return b.String()
}

// number prints a hundredth of a pixel at most.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64)
}

// escape returns s sanitized and without markup.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text.Sanitize(s))) // a Builder never fails
	return b.String()
}

// SVG returns what WriteSVG writes.
func (p *Picture) SVG() []byte {
	var b bytes.Buffer
	_ = p.WriteSVG(&b) // a Buffer never fails
	return b.Bytes()
}
