package report

import (
	"io"
	"math"
	"strconv"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/units"
)

// TimeLine is the traffic of an application or a machine over time.
type TimeLine struct {
	// Title is usually the command or the source.
	Title string
	// Samples are consecutive intervals, the first one from time 0.
	Samples []TimeSample
}

// TimeSample is the mean traffic of one interval.
type TimeSample struct {
	// Seconds is the end of the interval; it starts where the previous one ends.
	Seconds     float64
	Read, Write units.Bandwidth
}

func (s TimeSample) known() bool {
	return s.Seconds > 0 && !math.IsInf(s.Seconds, 0) && s.Read.Valid() && s.Write.Valid()
}

// Write draws the time line, 21 lines.
func (l *TimeLine) Write(w io.Writer, o Options) error {
	c, found := l.chart()
	if !found {
		return c.writeEmpty(w, o)
	}
	return c.write(w, o)
}

// Picture draws the time line for a file.
func (l *TimeLine) Picture() *drawing.Picture {
	c, _ := l.chart()
	return c.picture()
}

// WriteCSV writes one line per interval: seconds at its end, readBytesPerSecond,
// writeBytesPerSecond.
func (l *TimeLine) WriteCSV(w io.Writer) error {
	t := Table{Columns: []Column{{Key: "seconds"}, {Key: "readBytesPerSecond"}, {Key: "writeBytesPerSecond"}}}
	for _, s := range l.Samples {
		t.Add(Number("", s.Seconds), Number("", float64(s.Read)), Number("", float64(s.Write)))
	}
	return t.WriteCSV(w)
}

// chart draws reads, writes and their sum as steps; found is false where there is
// no interval to draw.
func (l *TimeLine) chart() (c chart, found bool) {
	highest, end := units.Bandwidth(0), 0.0
	for _, s := range l.Samples {
		if s.known() {
			found = true
			highest, end = max(highest, s.Read+s.Write), max(end, s.Seconds)
		}
	}
	if end == 0 {
		end = 1
	}
	y, unit, name := bandwidthScale(highest)
	y.Label = func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	c = chart{title: l.Title, yTitle: "memory traffic, " + name, xTitle: "time, s", x: drawing.Scale{High: end}, y: y.Rounded(5)}
	for _, part := range []struct {
		label string
		of    func(TimeSample) units.Bandwidth
	}{
		{"total", func(s TimeSample) units.Bandwidth { return s.Read + s.Write }},
		{"reads", func(s TimeSample) units.Bandwidth { return s.Read }},
		{"writes", func(s TimeSample) units.Bandwidth { return s.Write }},
	} {
		line := chartLine{label: part.label, sparse: true}
		from := 0.0
		for _, s := range l.Samples {
			if s.known() && s.Seconds > from {
				v := float64(part.of(s) / unit)
				line.points = append(line.points, chartPoint{x: from, y: v, bare: true}, chartPoint{x: s.Seconds, y: v})
				from = s.Seconds
			}
		}
		c.lines = append(c.lines, line)
	}
	return c, found
}
