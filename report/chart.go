package report

import (
	"math"
	"strconv"

	"bandmate.dev/bandmate/units"
)

// chart is a picture of lines in a rectangle of two axes: what curve plots, time
// lines and error plots share. It is drawn as text or as a scene.
type chart struct {
	title          string
	xTitle, yTitle string
	x, y           span
	lines          []chartLine
	// notes stand below the legend of a scene, a line each.
	notes []string
}

// span is the range of an axis, in the unit in which it is labeled.
type span struct {
	low, high float64
	// step is the distance of the labeled values; 0 has the picture choose.
	step float64
	// label prints a value; nil prints four significant digits.
	label func(float64) string
}

func (s span) text(v float64) string {
	if s.label != nil {
		return s.label(v)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// chartLine is one line, with its name in the legend.
type chartLine struct {
	label  string
	points []chartPoint
	// sparse marks some of many points, so that lines can be told apart.
	sparse bool
	// fit is the line that a scene draws in place of that through the points, with
	// a ribbon of fitHalf above and below, but none at its beginning.
	fit     []chartPoint
	fitHalf float64
	// thin is a line that counts less than others.
	thin bool
}

// chartPoint is where a line goes.
type chartPoint struct {
	x, y float64
	// spread is half the length of the whisker; 0 for none.
	spread float64
	// bare is a point without a mark: the line only passes there.
	bare bool
	// hollow is a point that was computed.
	hollow bool
}

// bandwidthSpan is an axis from 0 to highest, with the unit of its labels.
func bandwidthSpan(highest units.Bandwidth) (s span, unit units.Bandwidth, name string) {
	if highest <= 0 {
		highest = units.GigabytePerSecond
	}
	unit, name = bandwidthUnit(highest)
	return span{high: float64(highest / unit)}, unit, name
}

// rounded widens the axis to multiples of the step that divides it into about
// parts parts.
func (s span) rounded(parts int) span {
	s.step = niceStep(s.high-s.low, parts)
	s.low = math.Floor(s.low/s.step+1e-9) * s.step
	s.high = math.Ceil(s.high/s.step-1e-9) * s.step
	return s
}

// bandwidthUnit chooses the unit in which highest is at least 1.
func bandwidthUnit(highest units.Bandwidth) (units.Bandwidth, string) {
	switch {
	case highest >= units.GigabytePerSecond:
		return units.GigabytePerSecond, "GB/s"
	case highest >= units.MegabytePerSecond:
		return units.MegabytePerSecond, "MB/s"
	case highest >= units.KilobytePerSecond:
		return units.KilobytePerSecond, "kB/s"
	default:
		return units.BytePerSecond, "B/s"
	}
}

func twoDecimals(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
