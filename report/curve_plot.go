package report

import (
	"io"
	"math"
	"strconv"

	"bandmate.dev/bandmate/internal/drawing"
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
	// Fitted is the curve that predictions read, by ascending bandwidth; empty when
	// unknown. Pictures show it instead of the line through the points.
	Fitted []FittedPoint
	// HalfWidth is the half width of the 90% interval of Fitted; 0 when unknown.
	HalfWidth units.NormalizedPerformance
}

// FittedPoint is where a fitted curve goes; between two it is straight.
type FittedPoint struct {
	// Bandwidth is what the interferer reaches alone, above 0.
	Bandwidth   units.Bandwidth
	Performance units.NormalizedPerformance
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
	// Inferred is true for a point that was computed from those measured.
	Inferred bool
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

// Picture draws the plot for a file, with the spread of its points and the fitted
// curves with their intervals.
func (p *CurvePlot) Picture() *drawing.Picture {
	c, _ := p.chart()
	highest, low, high, _ := p.ranges()
	_, unit, _ := bandwidthScale(highest)
	spread, inferred, fitted, bare := false, false, false, false
	for i, curve := range p.Curves {
		line := &c.lines[i]
		for _, point := range curve.Points {
			if point.known() && point.Spread > 0 {
				spread = true
				low = min(low, float64(point.Performance-point.Spread))
			}
			inferred = inferred || point.known() && point.Inferred
		}
		if len(curve.Fitted) == 0 {
			bare = true
			continue
		}
		fitted = true
		line.fit = []chartPoint{{x: 0, y: 1}}
		line.fitHalf = float64(curve.HalfWidth)
		for _, at := range curve.Fitted {
			line.fit = append(line.fit, chartPoint{x: float64(at.Bandwidth / unit), y: float64(at.Performance)})
			low = min(low, float64(at.Performance-curve.HalfWidth))
		}
	}
	c.y = drawing.Scale{Low: max(low, 0), High: high, Label: twoDecimals}.Rounded(5)
	for i := range c.lines {
		c.lines[i].thin = fitted && len(c.lines[i].fit) == 0
	}
	if fitted {
		c.notes = append(c.notes, "Lines: fitted curves; shaded: their 90% intervals.")
	}
	if fitted && bare {
		c.notes = append(c.notes, "Thin lines join points to which no curve is fitted: no prediction reads them.")
	}
	if spread {
		c.notes = append(c.notes, "Whiskers: standard deviation of the repeats.")
	}
	if inferred {
		c.notes = append(c.notes, "Hollow: not measured, but computed from the points that were.")
	}
	return c.picture()
}

// WriteCSV writes one line per point: readShare, pattern, bytesPerSecond of the
// interferer alone, normalizedPerformance, spread, fitted, fittedLow and fittedHigh
// (performance of the fitted curve and its 90% interval), and inferred. Unknown values
// are empty.
func (p *CurvePlot) WriteCSV(w io.Writer) error {
	t := Table{Columns: []Column{
		{Key: "readShare"},
		{Key: "pattern"},
		{Key: "bytesPerSecond"},
		{Key: "normalizedPerformance"},
		{Key: "spread"},
		{Key: "fitted"},
		{Key: "fittedLow"},
		{Key: "fittedHigh"},
		{Key: "inferred"},
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
			fitted, half := c.fittedAt(point.Bandwidth), math.NaN()
			if c.HalfWidth > 0 {
				half = float64(c.HalfWidth)
			}
			t.Add(Number("", float64(c.ReadShare)), Text(pattern), Number("", float64(point.Bandwidth)),
				Number("", float64(point.Performance)), Number("", spread),
				Number("", fitted), Number("", fitted-half), Number("", fitted+half), Text(strconv.FormatBool(point.Inferred)))
		}
	}
	return t.WriteCSV(w)
}

// fittedAt returns the fitted performance at a bandwidth; NaN where there is no
// fitted curve, and beyond its end.
func (c *Curve) fittedAt(b units.Bandwidth) float64 {
	last := FittedPoint{Performance: 1}
	for _, at := range c.Fitted {
		if b <= at.Bandwidth {
			if at.Bandwidth == last.Bandwidth {
				return float64(at.Performance)
			}
			part := float64((at.Bandwidth - b) / (at.Bandwidth - last.Bandwidth))
			return float64(at.Performance) + part*float64(last.Performance-at.Performance)
		}
		last = at
	}
	return math.NaN()
}

// sequential is the pattern of curves that need not say one.
const sequential = "sequential"

// chart is the plot; found is false where there is no point to draw.
func (p *CurvePlot) chart() (c chart, found bool) {
	highest, low, high, found := p.ranges()
	x, unit, name := bandwidthScale(highest)
	c = chart{
		title: p.Title, yTitle: "normalized performance", xTitle: "bandwidth of the interferer alone, " + name,
		x: x, y: drawing.Scale{Low: low, High: high, Label: twoDecimals}.Rounded(5),
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
			drawn := chartPoint{x: float64(point.Bandwidth / unit), y: float64(point.Performance), hollow: point.Inferred}
			if point.Spread > 0 {
				drawn.spread = float64(point.Spread)
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
