package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/units"
)

func slowdownPlot() *SlowdownPlot {
	return &SlowdownPlot{
		Title: "sort beside triad, numpy", Series: []string{"predicted"}, Limit: 1.3,
		Rows: []SlowdownRow{
			{Name: "sort", Values: []SlowdownValue{{Slowdown: 1.59, Low: 1.42, High: 1.81, Extrapolated: true}}},
			{Name: "triad", Values: []SlowdownValue{{Slowdown: 1.03, Low: 1, High: 1.08}}, Remark: "of another machine"},
			{Name: "without an interval", Values: []SlowdownValue{{Slowdown: 1.2, High: units.Slowdown(math.NaN())}}},
			{Name: "numpy"},
			{Name: "nonsense", Values: []SlowdownValue{{Slowdown: units.Slowdown(math.Inf(1)), Low: 1, High: 2}}},
		},
		Notes: []string{"A note."},
	}
}

// manySlowdowns has more rows than are drawn, and names that are hard to draw.
func manySlowdowns() *SlowdownPlot {
	p := &SlowdownPlot{Title: hostile + longName, Series: []string{hostile, longName}, Notes: []string{longName + longName}}
	for i := range mostRows + 5 {
		p.Rows = append(p.Rows, SlowdownRow{
			Name: fmt.Sprintf("node-%d", i), Values: []SlowdownValue{{Slowdown: units.Slowdown(1 + float64(i)/10)}, {Missing: "nobody there"}},
		})
	}
	p.Rows[1].Name, p.Rows[1].Remark = longName, longName
	p.Rows[2].Name, p.Rows[2].Remark = hostile, hostile
	return p
}

// Of rows beyond those drawn the picture says how many there are, and CSV has them.
func TestSlowdownsAreCut(t *testing.T) {
	p := manySlowdowns()
	svg := string(written(t, p.Picture().WriteSVG))
	if !strings.Contains(svg, ">The first 50 of 55; CSV has all.<") || !strings.Contains(svg, ">node-49<") || strings.Contains(svg, ">node-50<") {
		t.Error("the picture does not show the first 50 rows, or not that there are more")
	}
	if got := strings.Count(string(written(t, p.WriteCSV)), "\n"); got != 1+2*55 {
		t.Errorf("CSV has %d lines", got)
	}
}

// A value lies where the axis says: its mark, the ends of its interval, and 1.
func TestSlowdownPixels(t *testing.T) {
	p := &SlowdownPlot{Series: []string{"predicted"}, Rows: []SlowdownRow{
		{Name: "a", Values: []SlowdownValue{{Slowdown: 1.5, Low: 1.25, High: 2}}},
		{Name: "b", Values: []SlowdownValue{{Slowdown: 1.5, Low: 1.25, High: 2, Extrapolated: true}}},
	}}
	img := decoded(t, p)
	left := slowdownEdge + 40 + 2*drawing.TickGap
	right := chartWidth - slowdownEdge - slowdownValues
	at := func(slowdown float64, row int) uint32 {
		x := left + (slowdown-1)/(2-1)*(right-left)
		y := slowdownHead + (slowdownLine+slowdownGap)*float64(row) + (slowdownLine+slowdownGap)/2
		return rgbOf(img.At(int(2*x), int(2*y)))
	}
	for _, c := range []struct {
		slowdown float64
		row      int
		want     uint32
	}{
		{1, 0, ink},
		{1.5, 0, firstLine},
		{1.25, 0, firstLine},
		{2, 0, firstLine},
		{1.75, 0, firstLine},
		{1.5, 1, paper},
		{1.25, 1, firstLine},
	} {
		if got := at(c.slowdown, c.row); got != c.want {
			t.Errorf("row %d at %.2f is %06x, want %06x", c.row, c.slowdown, got, c.want)
		}
	}
	if got := at(1.1, 0); got == paper || got == firstLine {
		t.Errorf("the bar from 1 to the value is %06x", got)
	}
}
