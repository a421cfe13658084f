package report

import (
	"strconv"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/units"
)

// chart is a line chart, drawn as text or as a picture.
type chart struct {
	title          string
	xTitle, yTitle string
	x, y           drawing.Scale
	lines          []chartLine
	// notes stand below the legend of a picture, a line each.
	notes []string
}

// chartLine is one line, with its name in the legend.
type chartLine struct {
	label  string
	points []chartPoint
	// sparse marks some of many points only.
	sparse bool
	// fit is the line that a picture draws instead of the one through the points. A
	// ribbon of half width fitHalf surrounds it, except at its start.
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

// bandwidthScale returns an axis from 0 to highest and the unit of its labels.
func bandwidthScale(highest units.Bandwidth) (s drawing.Scale, unit units.Bandwidth, name string) {
	if highest <= 0 {
		highest = units.GigabytePerSecond
	}
	unit, name = bandwidthUnit(highest)
	return drawing.Scale{High: float64(highest / unit)}, unit, name
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
