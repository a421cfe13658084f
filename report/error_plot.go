package report

import (
	"io"
	"math"
	"slices"
	"strconv"

	"bandmate.dev/bandmate/internal/drawing"
)

// ErrorPlot shows the cumulative distribution of the prediction errors of several
// methods.
type ErrorPlot struct {
	Title   string
	Methods []MethodErrors
}

// MethodErrors are the errors of one method.
type MethodErrors struct {
	Method string
	// Points are errors in percentage points of normalized performance, in any
	// order and of either sign. NaN is left out.
	Points []float64
}

// Write draws the plot, 21 lines or a few more when the legend is long.
func (p *ErrorPlot) Write(w io.Writer, o Options) error {
	c, found := p.chart()
	if !found {
		return c.writeEmpty(w, o)
	}
	return c.write(w, o)
}

// Picture draws the plot for a file.
func (p *ErrorPlot) Picture() *drawing.Picture {
	c, _ := p.chart()
	return c.picture()
}

// WriteCSV writes one line per prediction: method, errorPoints without its sign,
// and part, the part of the method's predictions with at most that error.
func (p *ErrorPlot) WriteCSV(w io.Writer) error {
	t := Table{Columns: []Column{{Key: "method"}, {Key: "errorPoints"}, {Key: "part"}}}
	for _, m := range p.Methods {
		sizes := m.sizes()
		for i, v := range sizes {
			t.Add(Text(m.Method), Number("", v), Number("", float64(i+1)/float64(len(sizes))))
		}
	}
	return t.WriteCSV(w)
}

// sizes are the errors without their signs, in order.
func (m MethodErrors) sizes() []float64 {
	var sizes []float64
	for _, v := range m.Points {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			sizes = append(sizes, math.Abs(v))
		}
	}
	slices.Sort(sizes)
	return sizes
}

// chart draws a line per method; found is false where there is no error to show.
func (p *ErrorPlot) chart() (c chart, found bool) {
	percent := func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) + "%" }
	c = chart{
		title: p.Title, yTitle: "part of the predictions with at most this error",
		xTitle: "absolute error, points of normalized performance",
		y:      drawing.Scale{High: 100, Step: 25, Label: percent},
	}
	for _, m := range p.Methods {
		sizes := m.sizes()
		line := chartLine{label: m.Method, sparse: true}
		if len(sizes) > 0 {
			line.points = append(line.points, chartPoint{bare: true})
		}
		for i, v := range sizes {
			found = true
			c.x.High = max(c.x.High, v)
			line.points = append(line.points, chartPoint{x: v, y: 100 * float64(i+1) / float64(len(sizes))})
		}
		c.lines = append(c.lines, line)
	}
	if c.x.High == 0 {
		c.x.High = 1
	}
	return c, found
}
