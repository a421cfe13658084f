package report

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// writeSVG writes the scene as SVG 1.1 without scripts, fonts or anything to
// fetch. Its colors follow the reader's choice of light or dark where the viewer
// knows of that. The same scene gives the same bytes.
func (s *scene) writeSVG(w io.Writer) error {
	out := svgWriter{Writer: bufio.NewWriter(w)}
	out.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=\"%[1]s\" height=\"%[2]s\" role=\"img\" aria-labelledby=\"t d\" font-family=\"%[3]s\">\n",
		number(s.width), number(s.height), "system-ui, &#34;Noto Sans&#34;, &#34;DejaVu Sans&#34;, sans-serif")
	out.printf("<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", escape(s.title), escape(s.description))
	out.styles()
	out.printf("<rect class=\"f%d\" width=\"100%%\" height=\"100%%\"/>\n", inkPaper)
	for _, shape := range s.shapes {
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
			fmt.Fprintf(&b, ".f%d{fill:#%06x}", i, uint32(color))
			if i == int(inkLine) || i == int(inkSoft) || i >= int(inkSeries) {
				fmt.Fprintf(&b, ".s%d{stroke:#%06x}", i, uint32(color))
			}
		}
		return b.String()
	}
	w.printf("<style>%s@media (prefers-color-scheme:dark){%s}</style>\n", rules(light()), rules(dark()))
}

func (w svgWriter) shape(s shape) {
	switch s := s.(type) {
	case areas:
		w.areas(s)
	case ribbon:
		w.printf("<path class=\"f%d\" fill-opacity=\"%s\" d=\"%s\"/>\n", s.ink, number(ribbonOpacity), path(s.outline, true))
	case stroke:
		w.stroke(s)
	case mark:
		w.mark(s)
	case label:
		w.label(s)
	}
}

func (w svgWriter) stroke(s stroke) {
	dashes := ""
	for i, length := range s.dashes {
		if i > 0 {
			dashes += " "
		}
		dashes += number(length)
	}
	if dashes != "" {
		dashes = ` stroke-dasharray="` + dashes + `"`
	}
	w.printf("<path class=\"s%d\" fill=\"none\" stroke-width=\"%s\" stroke-linejoin=\"round\" stroke-linecap=\"round\"%s d=\"%s\"/>\n",
		s.ink, number(s.width), dashes, path(s.points, false))
}

// areas writes boxes without hints as one path, which is small even where a heat
// map has a quarter of a million cells.
func (w svgWriter) areas(a areas) {
	var b strings.Builder
	for _, box := range a.boxes {
		if box.hint != "" {
			w.printf("<rect class=\"f%d\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s</title></rect>\n",
				a.fill, number(box.x), number(box.y), number(box.width), number(box.height), escape(box.hint))
			continue
		}
		fmt.Fprintf(&b, "M%s %sh%sv%sh-%sz", number(box.x), number(box.y), number(box.width), number(box.height), number(box.width))
	}
	if b.Len() > 0 {
		w.printf("<path class=\"f%d\" d=\"%s\"/>\n", a.fill, b.String())
	}
}

func (w svgWriter) mark(m mark) {
	outline, filled := m.outline()
	if filled {
		w.printf("<path class=\"f%d\" d=\"%s\"/>\n", seriesInk(m.index), path(outline, true))
		return
	}
	w.printf("<path class=\"f%d s%d\" stroke-width=\"1.5\" d=\"%s\"/>\n", inkPaper, seriesInk(m.index), path(outline, true))
}

func (w svgWriter) label(l label) {
	attributes := fmt.Sprintf("class=\"f%d\" font-size=\"%s\"", l.ink, number(l.size))
	switch l.anchor {
	case 0.5:
		attributes += " text-anchor=\"middle\""
	case 1:
		attributes += " text-anchor=\"end\""
	}
	if l.bold {
		attributes += " font-weight=\"600\""
	}
	if l.upwards {
		attributes += fmt.Sprintf(" transform=\"rotate(-90 %s %s)\"", number(l.at.x), number(l.at.y))
	}
	w.printf("<text x=\"%s\" y=\"%s\" %s>%s</text>\n", number(l.at.x), number(l.at.y), attributes, escape(l.text))
}

// path is the value of a d attribute.
func path(points []place, closed bool) string {
	var b strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		b.WriteString(command + number(p.x) + " " + number(p.y))
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

// escape is what of text may stand in SVG: sanitized, and with no markup.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(SanitizeText(text))) // a Builder never fails
	return b.String()
}
