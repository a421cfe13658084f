package report

import (
	"io"
	"math"
	"strconv"

	"bandmate.dev/bandmate/internal/drawing"
)

// LatencyPlot is the latency of a service against its load, one line per situation.
type LatencyPlot struct {
	Title string
	// Quantile names the latency, such as "p99".
	Quantile string
	Lines    []LatencyLine
}

// LatencyLine is one line of a LatencyPlot, by ascending load.
type LatencyLine struct {
	Name   string
	Points []LatencyPoint
}

// LatencyPoint is the latency at a load.
type LatencyPoint struct {
	// RequestsPerSecond is the load, 0 or more.
	RequestsPerSecond float64
	// Seconds is the latency, above 0.
	Seconds float64
	// Measured says that it was not computed.
	Measured bool
}

func (p LatencyPoint) known() bool {
	return p.RequestsPerSecond >= 0 && p.Seconds > 0 && !math.IsInf(p.RequestsPerSecond+p.Seconds, 0)
}

// Write draws the plot, 21 lines.
func (p *LatencyPlot) Write(w io.Writer, o Options) error {
	c, found := p.chart()
	if !found {
		return c.writeEmpty(w, o)
	}
	return c.write(w, o)
}

// Picture draws the plot for a file.
func (p *LatencyPlot) Picture() *drawing.Picture {
	c, _ := p.chart()
	return c.picture()
}

// WriteCSV writes one line per point: line, requestsPerSecond, seconds, measured.
func (p *LatencyPlot) WriteCSV(w io.Writer) error {
	t := Table{Columns: []Column{{Key: "line"}, {Key: "requestsPerSecond"}, {Key: "seconds"}, {Key: "measured"}}}
	for _, l := range p.Lines {
		for _, point := range l.Points {
			if point.known() {
				t.Add(Text(l.Name), Number("", point.RequestsPerSecond), Number("", point.Seconds), Text(strconv.FormatBool(point.Measured)))
			}
		}
	}
	return t.WriteCSV(w)
}

// chart is the plot in milliseconds; found is false where there is no point to draw.
func (p *LatencyPlot) chart() (c chart, found bool) {
	const perSecond = 1e3
	load, latency := 0.0, 0.0
	for _, l := range p.Lines {
		line := chartLine{label: l.Name}
		for _, point := range l.Points {
			if !point.known() {
				continue
			}
			found = true
			load, latency = max(load, point.RequestsPerSecond), max(latency, perSecond*point.Seconds)
			line.points = append(line.points, chartPoint{x: point.RequestsPerSecond, y: perSecond * point.Seconds, bare: !point.Measured})
		}
		c.lines = append(c.lines, line)
	}
	if !found {
		load, latency = 1, 1
	}
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	c.title, c.xTitle, c.yTitle = p.Title, "load, requests per second", p.Quantile+", ms"
	c.x = drawing.Scale{High: load, Label: func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }}
	c.y = drawing.Scale{High: latency, Label: short}.Rounded(5)
	return c, found
}
