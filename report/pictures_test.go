package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"bandmate.dev/bandmate/units"
)

// hostile is a name as a malicious file could have it.
const hostile = "\x1b[31mred\x1b]0;title\x07\r\nnew\u202eline\u009b2J"

var longName = strings.Repeat("地震シミュレーション-", 10)

// curvePoints makes points of bandwidth and performance.
func curvePoints(pairs ...[2]float64) []CurvePoint {
	var points []CurvePoint
	for _, p := range pairs {
		points = append(points, CurvePoint{Bandwidth: units.Bandwidth(p[0]), Performance: units.NormalizedPerformance(p[1])})
	}
	return points
}

func triadFamily() CurvePlot {
	p := CurvePlot{Title: "triad"}
	for _, c := range []struct {
		share  units.ReadShare
		points [][2]float64
	}{
		{0.5, [][2]float64{{15.9e9, 0.93}, {31.9e9, 0.78}, {47.8e9, 0.62}, {63.8e9, 0.53}}},
		{0.75, [][2]float64{{14.2e9, 0.97}, {28.4e9, 0.88}, {42.7e9, 0.72}, {56.9e9, 0.6}}},
		{1, [][2]float64{{10.7e9, 0.99}, {21.4e9, 0.95}, {32e9, 0.84}, {42.7e9, 0.67}}},
	} {
		p.Curves = append(p.Curves, Curve{ReadShare: c.share, Points: curvePoints(c.points...)})
	}
	return p
}

func TestCurvePlot(t *testing.T) {
	insensitive := CurvePlot{Title: "floating-point", Curves: []Curve{{
		ReadShare: 0.5,
		Points:    curvePoints([2]float64{2e8, 1.004}, [2]float64{4e8, 0.998}, [2]float64{6e8, math.NaN()}, [2]float64{8e8, 1.001}),
	}}}
	many := CurvePlot{Title: hostile + longName}
	for i := range 11 {
		many.Curves = append(many.Curves, Curve{
			ReadShare: units.ReadShare(float64(i) / 10),
			Pattern:   []string{"sequential", "random", hostile}[i%3],
			Points:    curvePoints([2]float64{5e6, 0.9}, [2]float64{9e6, 0.8 - 0.07*float64(i)}),
		})
	}
	triad := triadFamily()
	t.Run("family", func(t *testing.T) { wantPictures(t, "curves-family", triad.Write) })
	t.Run("insensitive", func(t *testing.T) { wantPictures(t, "curves-insensitive", insensitive.Write) })
	t.Run("many", func(t *testing.T) { wantPictures(t, "curves-many", many.Write) })
}

func TestCurvePlotWithoutPoints(t *testing.T) {
	for name, p := range map[string]CurvePlot{
		"no curves":  {},
		"no points":  {Curves: []Curve{{ReadShare: 1}}},
		"no numbers": {Curves: []Curve{{ReadShare: 1, Points: curvePoints([2]float64{1e9, math.NaN()}, [2]float64{-1, 0.5}, [2]float64{2e9, -1})}}},
	} {
		var b bytes.Buffer
		if err := p.Write(&b, Options{}); err != nil || b.String() != "No points to draw.\n" {
			t.Errorf("%s: got %q, %v", name, b.String(), err)
		}
	}
}

// slowdowns is a made-up matrix in which column j hurts more the later it is.
func slowdowns(i, j int) units.Slowdown {
	if (i+2*j)%13 == 7 {
		return units.Slowdown(math.NaN())
	}
	return units.Slowdown(1 + float64((i*7+j*5)%11)*float64(j+1)/30)
}

func TestHeatMap(t *testing.T) {
	short := []string{"triad", "radix", "stencil", "cg", "chase", "fma"}
	named := HeatMap{Targets: short, Corunners: short, Slowdown: slowdowns}
	var names []string
	for i := range 14 {
		names = append(names, fmt.Sprintf("application-%d", i+1))
	}
	names[3], names[5] = longName, hostile
	numbered := HeatMap{Targets: names, Corunners: names, Slowdown: slowdowns}
	other := HeatMap{
		Targets: short[:2], Corunners: names[:6],
		Slowdown: func(i, j int) units.Slowdown { return units.Slowdown(math.Pow(12, float64(j))) },
	}
	t.Run("named", func(t *testing.T) { wantPictures(t, "heat-map-named", named.Write) })
	t.Run("numbered", func(t *testing.T) { wantPictures(t, "heat-map-numbered", numbered.Write) })
	t.Run("other columns", func(t *testing.T) { wantPictures(t, "heat-map-other-columns", other.Write) })
	t.Run("csv", func(t *testing.T) {
		var b bytes.Buffer
		if err := named.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		wantGolden(t, "heat-map.csv", b.Bytes())
	})
	t.Run("empty", func(t *testing.T) {
		var b bytes.Buffer
		if err := (&HeatMap{}).Write(&b, Options{}); err != nil || !strings.HasPrefix(b.String(), "No applications") {
			t.Errorf("got %q, %v", b.String(), err)
		}
	})
}

func TestHeatOf(t *testing.T) {
	for _, c := range []struct {
		s    units.Slowdown
		want sgr
	}{
		{0.98, heats[0].style},
		{1.05, heats[1].style},
		{1.99, heats[4].style},
		{2, heats[5].style},
		{units.Slowdown(math.Inf(1)), heats[5].style},
		{units.Slowdown(math.NaN()), faint},
	} {
		if got := heatOf(c.s); got != c.want {
			t.Errorf("%v: got %q, want %q", c.s, got, c.want)
		}
	}
}

func evaluation() *Table {
	t := &Table{Columns: []Column{
		{Title: "method", Key: "name"},
		{Title: "remark"},
		{Title: "mean error", Key: "meanAbsError", Numeric: true},
		{Title: "sustained", Key: "bytesPerSecond", Numeric: true},
	}}
	t.Add(Text("estimated"), Text("two curves"), Number("1.2 points", 0.0119), Number("63.8 GB/s", 63.8e9))
	t.Add(Text(hostile), Text(strings.Repeat("a long remark, with commas ", 5)), Number("", math.NaN()), Number("900 MB/s", 9e8))
	t.Add(Text(longName))
	return t
}

func TestTable(t *testing.T) {
	wantPictures(t, "table", evaluation().Write)
	t.Run("csv", func(t *testing.T) {
		var b bytes.Buffer
		if err := evaluation().WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		wantGolden(t, "table.csv", b.Bytes())
	})
	t.Run("numbers are never cut", func(t *testing.T) {
		table := &Table{Columns: []Column{{Title: "name"}}}
		row := []Cell{Text(longName)}
		for range 12 {
			table.Columns = append(table.Columns, Column{Title: "n", Numeric: true})
			row = append(row, Number("12.3 GB/s", 12.3e9))
		}
		table.Add(row...)
		var b bytes.Buffer
		if err := table.Write(&b, Options{Width: 50, Unicode: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "12.3 GB/s"); got != 12 {
			t.Errorf("%d of 12 numbers are whole:\n%s", got, b.String())
		}
	})
}

// failing is a writer that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWritersReportErrors(t *testing.T) {
	p, h, table := triadFamily(), HeatMap{Targets: []string{"a"}, Corunners: []string{"a"}, Slowdown: slowdowns}, evaluation()
	for name, write := range map[string]func() error{
		"curve plot":    func() error { return p.Write(failing{}, Options{}) },
		"heat map":      func() error { return h.Write(failing{}, Options{}) },
		"heat map, CSV": func() error { return h.WriteCSV(failing{}) },
		"table":         func() error { return table.Write(failing{}, Options{}) },
		"table, CSV":    func() error { return table.WriteCSV(failing{}) },
	} {
		if err := write(); err == nil {
			t.Errorf("%s: no error from a writer that fails", name)
		}
	}
}
