package report

import (
	"io"
	"math"

	"bandmate.dev/bandmate/units"
)

// CurvePlot is the curve family of one application: normalized performance
// against the bandwidth the interferer reaches alone, one curve per read share
// and access pattern.
type CurvePlot struct {
	// Title is usually the application's name.
	Title  string
	Curves []Curve
}

// Curve is one line of a CurvePlot. Drawing begins at performance 1 without
// pressure, as every sensitivity curve does.
type Curve struct {
	// ReadShare is the interferer's, 0 to 1.
	ReadShare units.ReadShare
	// Pattern is the interferer's order of lines; empty for sequential.
	Pattern string
	// Points are ordered by bandwidth. Points that are not valid (NaN,
	// infinite or negative) are left out.
	Points []CurvePoint
}

// CurvePoint is one measured point of a Curve.
type CurvePoint struct {
	// Bandwidth is what the interferer reaches alone, 0 or more.
	Bandwidth units.Bandwidth
	// Performance is that of the application beside it, 0 or more.
	Performance units.NormalizedPerformance
	// Spread is the standard deviation of Performance over repeats; 0 or NaN
	// where it is not known. Only pictures in files show it.
	Spread units.NormalizedPerformance
}

func (p CurvePoint) known() bool {
	return p.Bandwidth.Valid() && p.Performance >= 0 && !math.IsInf(float64(p.Performance), 0)
}

// minSpan is the least range of performance shown, so that the noise of an
// application that does not suffer stays small.
const minSpan = 0.2

// Write draws the plot, 21 lines or a few more when the legend is long. Where
// curves meet, the one listed last shows.
func (p *CurvePlot) Write(w io.Writer, o Options) error {
	c, found := p.chart()
	if !found {
		return c.writeEmpty(w, o)
	}
	return c.write(w, o)
}

// WriteSVG draws the plot with the spread of its points.
func (p *CurvePlot) WriteSVG(w io.Writer) error {
	c, _ := p.chart()
	return c.scene().writeSVG(w)
}

// WritePNG draws the same picture as WriteSVG.
func (p *CurvePlot) WritePNG(w io.Writer) error {
	c, _ := p.chart()
	return c.scene().writePNG(w)
}

// WriteCSV writes one line per point: readShare, pattern, bytesPerSecond of the
// interferer alone, normalizedPerformance, and spread, empty where not known.
func (p *CurvePlot) WriteCSV(w io.Writer) error {
	t := Table{Columns: []Column{
		{Key: "readShare"}, {Key: "pattern"}, {Key: "bytesPerSecond"}, {Key: "normalizedPerformance"}, {Key: "spread"},
	}}
	for _, c := range p.Curves {
		pattern := c.Pattern
		if pattern == "" {
			pattern = sequential
		}
		for _, point := range c.Points {
			if !point.known() {
				continue
			}
			spread := math.NaN()
			if point.Spread > 0 {
				spread = float64(point.Spread)
			}
			t.Add(Number("", float64(c.ReadShare)), Text(pattern), Number("", float64(point.Bandwidth)),
				Number("", float64(point.Performance)), Number("", spread))
		}
	}
	return t.WriteCSV(w)
}

// sequential is the pattern of curves that need not say one.
const sequential = "sequential"

// chart is the plot; found is false where there is no point to draw.
func (p *CurvePlot) chart() (c chart, found bool) {
	highest, low, high, found := p.ranges()
	x, unit, name := bandwidthSpan(highest)
	c = chart{
		title: p.Title, yTitle: "normalized performance", xTitle: "bandwidth of the interferer alone, " + name,
		x: x, y: span{low: low, high: high, label: twoDecimals}.rounded(5),
	}
	for _, curve := range p.Curves {
		line := chartLine{label: ReadShare(curve.ReadShare)}
		if curve.Pattern != "" && curve.Pattern != sequential {
			line.label += ", " + curve.Pattern
		}
		for _, point := range curve.Points {
			if !point.known() {
				continue
			}
			if len(line.points) == 0 {
				line.points = append(line.points, chartPoint{x: 0, y: 1, bare: true})
			}
			drawn := chartPoint{x: float64(point.Bandwidth / unit), y: float64(point.Performance)}
			if point.Spread > 0 {
				drawn.spread = float64(point.Spread)
				c.note = "Whiskers: standard deviation of the repeats."
			}
			line.points = append(line.points, drawn)
		}
		c.lines = append(c.lines, line)
	}
	return c, found
}

// ranges returns the highest bandwidth and the range of performance to show.
func (p *CurvePlot) ranges() (highest units.Bandwidth, low, high float64, found bool) {
	low, high = 1, 1
	for _, curve := range p.Curves {
		for _, point := range curve.Points {
			if !point.known() {
				continue
			}
			found = true
			highest = max(highest, point.Bandwidth)
			low = min(low, float64(point.Performance))
			high = max(high, float64(point.Performance))
		}
	}
	return highest, min(low, high-minSpan), high, found
}
