package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// svg is a picture under construction. Its colors follow the reader's
// preference for light or dark, also where a page embeds it as an image.
type svg struct {
	width, height float64
	body          strings.Builder
}

// style holds the classes that pictures use. A color of a curve is never the
// only difference between two: marks differ, too.
const style = `text{font:13px system-ui,sans-serif;fill:#24292f}.small{font-size:11px}.soft{fill:#57606a}.bold{font-weight:600}` +
	`.axis{stroke:#57606a;fill:none}.grid{stroke:#d0d7de;fill:none}.box{stroke:#57606a;fill:#f6f8fa}.dash{stroke-dasharray:5 4}` +
	`.a{stroke:#0969da}.b{stroke:#bc4c00}.c{stroke:#8250df}.line{fill:none;stroke-width:2}` +
	`.fa{fill:#0969da}.fb{fill:#bc4c00}.fc{fill:#8250df}.band{fill:#0969da;fill-opacity:.18}` +
	`@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.axis{stroke:#9198a1}.grid{stroke:#30363d}.box{stroke:#9198a1;fill:#161b22}` +
	`.a{stroke:#58a6ff}.b{stroke:#f0883e}.c{stroke:#bc8cff}.fa{fill:#58a6ff}.fb{fill:#f0883e}.fc{fill:#bc8cff}.band{fill:#58a6ff}}`

// bytes returns the whole file; title is what a screen reader says.
func (p *svg) bytes(title string) []byte {
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=\"%[1]s\" height=\"%[2]s\" role=\"img\">\n<title>%s</title>\n<style>%s</style>\n%s</svg>\n",
		number(p.width), number(p.height), html.EscapeString(title), style, p.body.String())
}

// number is short and the same on every machine.
func number(v float64) string {
	if math.Abs(v) < 0.05 {
		v = 0 // never -0
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func (p *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&p.body, "<path class=\"%s\" d=\"M%s %sL%s %s\"/>\n", class, number(x1), number(y1), number(x2), number(y2))
}

// arrow is a line with a head at its end.
func (p *svg) arrow(class string, x1, y1, x2, y2 float64) {
	p.line(class, x1, y1, x2, y2)
	angle := math.Atan2(y2-y1, x2-x1)
	for _, side := range []float64{-2.7, 2.7} {
		p.line(class, x2, y2, x2+8*math.Cos(angle+side), y2+8*math.Sin(angle+side))
	}
}

func (p *svg) path(class string, points [][2]float64) {
	fmt.Fprintf(&p.body, "<path class=\"%s\" d=\"", class)
	for i, at := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		p.body.WriteString(command + number(at[0]) + " " + number(at[1]))
	}
	p.body.WriteString("\"/>\n")
}

func (p *svg) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(&p.body, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class, number(x), number(y), number(width), number(height))
}

// mark draws the symbol of curve i: a disc, a square or a triangle.
func (p *svg) mark(i int, x, y float64) {
	class := []string{"fa", "fb", "fc"}[i%3]
	switch i % 3 {
	case 0:
		fmt.Fprintf(&p.body, "<circle class=\"%s\" cx=\"%s\" cy=\"%s\" r=\"4\"/>\n", class, number(x), number(y))
	case 1:
		p.rect(class, x-3.5, y-3.5, 7, 7)
	default:
		p.path(class, [][2]float64{{x, y - 5}, {x + 5, y + 4}, {x - 5, y + 4}})
	}
}

// text writes at a place; anchor is start, middle or end.
func (p *svg) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&p.body, "<text class=\"%s\" text-anchor=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class, anchor, number(x), number(y), html.EscapeString(text))
}

// plot is a pair of axes within a picture.
type plot struct {
	*svg
	left, top, right, bottom float64
	xHigh, yLow, yHigh       float64
}

func newPlot(width, height, xHigh, yLow, yHigh float64) *plot {
	return &plot{
		svg:  &svg{width: width, height: height},
		left: 56, top: 34, right: width - 16, bottom: height - 46, xHigh: xHigh, yLow: yLow, yHigh: yHigh,
	}
}

func (p *plot) x(v float64) float64 { return p.left + (p.right-p.left)*v/p.xHigh }
func (p *plot) y(v float64) float64 {
	return p.bottom - (p.bottom-p.top)*(v-p.yLow)/(p.yHigh-p.yLow)
}

// axes draws the grid and the labels.
func (p *plot) axes(xStep, yStep float64, xTitle, yTitle string) {
	for v := math.Ceil(p.yLow/yStep) * yStep; v <= p.yHigh+1e-9; v += yStep {
		p.line("grid", p.left, p.y(v), p.right, p.y(v))
		p.text("small soft", "end", p.left-6, p.y(v)+4, fmt.Sprintf("%.1f", v))
	}
	for v := 0.0; v <= p.xHigh+1e-9; v += xStep {
		p.line("axis", p.x(v), p.bottom, p.x(v), p.bottom+4)
		p.text("small soft", "middle", p.x(v), p.bottom+17, number(v))
	}
	p.line("axis", p.left, p.bottom, p.right, p.bottom)
	p.text("small", "middle", (p.left+p.right)/2, p.bottom+36, xTitle)
	p.text("small", "start", 8, 18, yTitle)
}

// whisker is a vertical span with ends.
func (p *plot) whisker(class string, x, low, high float64) {
	p.line(class, p.x(x), p.y(low), p.x(x), p.y(high))
	for _, v := range []float64{low, high} {
		p.line(class, p.x(x)-3, p.y(v), p.x(x)+3, p.y(v))
	}
}
