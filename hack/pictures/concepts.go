package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/units"
)

// subject is the application that the pictures follow, and aggressor the one
// beside it.
const (
	subject   = "sort"
	aggressor = "triad"
)

const giga = float64(units.GigabytePerSecond)

// drawSlowdown shows a run alone and beside another, as bars of time.
func drawSlowdown(e *example) ([]byte, error) {
	p, err := e.profile(subject)
	if err != nil {
		return nil, err
	}
	measured, ok := e.measured[[2]string{subject, aggressor}]
	if !ok {
		return nil, errors.New("the pair was not measured")
	}
	solo := p.Spec.Solo.Seconds
	together := solo / float64(measured)
	s := newSketch(680, 150, "Normalized performance and slowdown of one run beside another")
	const left, perSecond = 140, 1250.0
	for i, bar := range []struct {
		name    string
		seconds float64
	}{{subject + " alone", solo}, {"beside " + aggressor, together}} {
		y := 24 + 44*float64(i)
		s.text("bold", drawing.End, left-10, y+19, bar.name)
		s.rect(drawing.Series(i), 1, left, y, bar.seconds*perSecond, 26)
		s.text("", drawing.Start, left+bar.seconds*perSecond+8, y+18, fmt.Sprintf("%.3f s", bar.seconds))
	}
	s.line(drawing.Stroke{Ink: drawing.SoftInk, Width: 1, Dashes: []float64{5, 5}}, left+solo*perSecond, 16, left+solo*perSecond, 104)
	s.text("small", drawing.Start, left, 134, fmt.Sprintf("normalized performance %.3f ÷ %.3f = %.2f,  slowdown %.3f ÷ %.3f = %.2f×", solo, together, solo/together, together, solo, together/solo))
	return s.SVG(), nil
}

// drawContentiousness shows the traffic of every application, with its
// uncertainty.
func drawContentiousness(e *example) ([]byte, error) {
	profiles := slices.SortedFunc(slices.Values(e.profiles), func(a, b *v1alpha1.ApplicationProfile) int {
		return cmp.Compare(traffic(b), traffic(a))
	})
	const row, left, perGB = 22, 120, 14.0
	s := newSketch(680, 62+row*float64(len(profiles)), "Contentiousness of twelve applications")
	s.text("small", drawing.Start, left, 16, "traffic at the memory alone, GB/s:")
	s.rect(drawing.Series(0), 1, left+215, 7, 12, 10)
	s.text("small", drawing.Start, left+232, 16, "read")
	s.rect(drawing.Series(1), 1, left+275, 7, 12, 10)
	s.text("small", drawing.Start, left+292, 16, "written")
	s.text("small soft", drawing.Start, left+350, 16, "├─┤ 90% interval")
	for v := 0.0; v <= 35; v += 5 {
		s.line(gridStroke, left+v*perGB, 26, left+v*perGB, s.Height-28)
		s.text("small soft", drawing.Middle, left+v*perGB, s.Height-12, strconv.Itoa(int(v)))
	}
	for i, p := range profiles {
		y := 30 + row*float64(i)
		c := p.Spec.Contentiousness
		read, total := c.ReadBytesPerSecond/giga, traffic(p)/giga
		s.text("", drawing.End, left-8, y+13, p.Name)
		s.rect(drawing.Series(0), 1, left, y+2, read*perGB, 14)
		s.rect(drawing.Series(1), 1, left+read*perGB, y+2, (total-read)*perGB, 14)
		if u := c.RelativeUncertainty; u != nil {
			low, high := left+max(0, total*(1-*u))*perGB, left+total*(1+*u)*perGB
			s.Whisker(axisStroke, drawing.At(low, y+9), drawing.At(high, y+9))
		}
	}
	return s.SVG(), nil
}

func traffic(p *v1alpha1.ApplicationProfile) float64 {
	return p.Spec.Contentiousness.ReadBytesPerSecond + p.Spec.Contentiousness.WriteBytesPerSecond
}

// curveAt returns the sequential curve of the subject at a read share.
func (e *example) curveAt(share float64) (v1alpha1.SensitivityCurve, *curves.Curve, error) {
	p, err := e.profile(subject)
	if err != nil {
		return v1alpha1.SensitivityCurve{}, nil, err
	}
	for _, c := range p.Spec.Curves {
		if c.ReadShare != share || c.Pattern == "random" {
			continue
		}
		var points []curves.Point
		for _, q := range c.Points {
			points = append(points, curves.Point{
				Bandwidth: units.Bandwidth(q.InterfererBytesPerSecond), Performance: units.NormalizedPerformance(q.NormalizedPerformance), Weight: float64(q.Repeats),
			})
		}
		fitted, err := curves.Fit(curves.Monotone, points)
		return c, fitted, err
	}
	return v1alpha1.SensitivityCurve{}, nil, fmt.Errorf("%s: no curve at %g", subject, share)
}

func newCurvePlot(title string) plot {
	oneDecimal := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	return newPlot(680, 340, title, drawing.Scale{High: 65, Step: 10}, drawing.Scale{Low: 0.6, High: 1.05, Step: 0.1, Label: oneDecimal},
		"bandwidth that the interferer reaches alone, GB/s", "normalized performance")
}

// sensitivity draws curve i with its points.
func (p plot) sensitivity(i int, c v1alpha1.SensitivityCurve, fitted *curves.Curve, spread bool) {
	_, end := fitted.Domain()
	var line []drawing.Point
	for step := range 201 {
		b := float64(end) * float64(step) / 200
		line = append(line, p.Point(b/giga, float64(fitted.At(units.Bandwidth(b)))))
	}
	p.Line(series(i), line...)
	for _, q := range c.Points {
		x := q.InterfererBytesPerSecond / giga
		if spread && q.Spread != nil {
			p.whisker(drawing.Stroke{Ink: drawing.Series(i), Width: 1}, x, q.NormalizedPerformance-*q.Spread, min(p.Y.High, q.NormalizedPerformance+*q.Spread))
		}
		p.mark(i, p.x(x), p.y(q.NormalizedPerformance))
	}
}

// drawCurve shows one sensitivity curve, its points and their spread.
func drawCurve(e *example) ([]byte, error) {
	c, fitted, err := e.curveAt(1)
	if err != nil {
		return nil, err
	}
	p := newCurvePlot("A sensitivity curve")
	p.sensitivity(0, c, fitted, true)
	last := c.Points[len(c.Points)-1]
	x := last.InterfererBytesPerSecond / giga
	p.text("small", drawing.Start, p.x(x)+10, p.y(last.NormalizedPerformance)-6, "a point: median of the repeats,")
	p.text("small", drawing.Start, p.x(x)+10, p.y(last.NormalizedPerformance)+8, "with their standard deviation")
	p.text("small", drawing.Start, p.x(1), p.y(1)-8, "alone: 1")
	p.text("small soft", drawing.Start, p.left+8, p.bottom-10, subject+" beside an interferer that only reads")
	return p.SVG(), nil
}

// drawFamily shows the curves of an application at each read share.
func drawFamily(e *example) ([]byte, error) {
	p := newCurvePlot("A curve family")
	for i, share := range []float64{0.5, 0.75, 1} {
		c, fitted, err := e.curveAt(share)
		if err != nil {
			return nil, err
		}
		p.sensitivity(i, c, fitted, false)
		p.mark(i, p.left+20+120*float64(i), p.bottom-14)
		p.text("small", drawing.Start, p.left+30+120*float64(i), p.bottom-10, fmt.Sprintf("%g%% reads", 100*share))
	}
	return p.SVG(), nil
}

// drawReadShare shows eq. 3 of the paper between two curves.
func drawReadShare(e *example) ([]byte, error) {
	neighbor, err := e.profile(aggressor)
	if err != nil {
		return nil, err
	}
	b := traffic(neighbor)
	share := neighbor.Spec.Contentiousness.ReadBytesPerSecond / b
	p := newCurvePlot("Between two read shares: equation 3")
	var at [2]float64
	for i, of := range []float64{0.5, 1} {
		c, fitted, err := e.curveAt(of)
		if err != nil {
			return nil, err
		}
		p.sensitivity(i, c, fitted, false)
		at[i] = float64(fitted.At(units.Bandwidth(b)))
		p.mark(i, p.left+20+120*float64(i), p.bottom-14)
		p.text("small", drawing.Start, p.left+30+120*float64(i), p.bottom-10, fmt.Sprintf("%g%% reads", 100*of))
	}
	scale := (share - 0.5) / 0.5
	mixed := at[0]*(1-scale) + at[1]*scale
	x := p.x(b / giga)
	p.line(drawing.Stroke{Ink: drawing.SoftInk, Width: 1, Dashes: []float64{5, 5}}, x, p.bottom, x, p.top)
	p.text("small", drawing.Start, x+6, p.top+8, fmt.Sprintf("%s alone: %.1f GB/s, %.0f%% reads", aggressor, b/giga, 100*share))
	p.mark(2, x, p.y(mixed))
	p.text("small", drawing.Start, x+6, p.top+26, fmt.Sprintf("%.2f · %.3f + %.2f · %.3f = %.3f", 1-scale, at[0], scale, at[1], mixed))
	return p.SVG(), nil
}

// drawReading goes from a neighbor's traffic to a slowdown.
func drawReading(e *example) ([]byte, error) {
	prediction, err := e.predict(true, subject, aggressor)
	if err != nil {
		return nil, err
	}
	c, fitted, err := e.curveAt(0.75)
	if err != nil {
		return nil, err
	}
	p := newCurvePlot("Reading a curve")
	b := float64(prediction.Pressure.BytesPerSecond) / giga
	low, high := 1/float64(prediction.Interval.High), 1/float64(prediction.Interval.Low)
	p.rect(drawing.Series(0), 0.15, p.left, p.y(high), p.x(b)-p.left, p.y(low)-p.y(high))
	p.sensitivity(0, c, fitted, false)
	is := float64(prediction.NormalizedPerformance)
	p.arrow(series(1), p.x(b), p.bottom, p.x(b), p.y(is))
	p.arrow(series(1), p.x(b), p.y(is), p.left+4, p.y(is))
	p.text("small", drawing.Start, p.x(b)+8, p.bottom-10, fmt.Sprintf("1: %s causes %.1f GB/s", aggressor, b))
	p.text("small", drawing.Start, p.left+10, p.y(is)-6, fmt.Sprintf("2: performance %.2f, so %s", is, prediction.Slowdown))
	p.text("small", drawing.Start, p.left+10, p.y(low)+14, fmt.Sprintf("90%% interval: %s to %s", prediction.Interval.Low, prediction.Interval.High))
	return p.SVG(), nil
}
