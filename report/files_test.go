package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/units"
)

// picture is what every picture can be written as.
type picture interface {
	Picture() *drawing.Picture
	WriteCSV(w io.Writer) error
}

func pictures() map[string]picture {
	curves := triadFamily()
	for i := range curves.Curves {
		for j := range curves.Curves[i].Points {
			curves.Curves[i].Points[j].Spread = units.NormalizedPerformance(0.004 * float64(j))
		}
	}
	many := CurvePlot{Title: hostile + longName}
	for i := range 11 {
		many.Curves = append(many.Curves, Curve{
			ReadShare: units.ReadShare(float64(i) / 10), Pattern: []string{"sequential", "random", hostile}[i%3],
			Points: curvePoints([2]float64{5e6, 0.9}, [2]float64{9e6, 0.8 - 0.07*float64(i)}),
		})
	}
	fitted := triadFamily()
	fitted.Title = "triad, fitted"
	for i := range fitted.Curves[:2] {
		c := &fitted.Curves[i]
		c.HalfWidth = 0.03
		for j, at := range c.Points {
			c.Points[j].Spread, c.Points[j].Inferred = 0.01, j == 2
			c.Fitted = append(c.Fitted, FittedPoint{at.Bandwidth, at.Performance - 0.02})
		}
	}
	short := []string{"triad", "radix", "stencil", "cg", "chase", "fma"}
	odd := []string{"triad", longName, hostile, "<b>&\"'"}
	timeLine := TimeLine{Title: "xz -9"}
	for i := range 40 {
		timeLine.Samples = append(timeLine.Samples, TimeSample{
			Seconds: 0.1 * float64(i+1), Read: units.Bandwidth(6e9 + 4e9*math.Sin(float64(i)/4)), Write: units.Bandwidth(2e9 + 5e7*float64(i)),
		})
	}
	errorPlot := ErrorPlot{Title: "484 pairs", Methods: []MethodErrors{
		{"default", []float64{0.1, -0.4, 0.7, 1.1, 0.2, -6.2, 0.3, math.NaN()}},
		{"linear-estimated", []float64{1.1, -2.4, 0.9, 3.1, 0.6, -12.2}},
	}}
	return map[string]picture{
		"curves": &curves, "curves-hostile": &many, "curves-empty": &CurvePlot{Title: "nothing"},
		"curves-fitted":  &fitted,
		"slowdowns":      slowdownPlot(),
		"slowdowns-many": manySlowdowns(), "slowdowns-empty": &SlowdownPlot{Series: []string{"predicted"}},
		"heat-map":         &HeatMap{Targets: short, Corunners: short, Slowdown: slowdowns},
		"heat-map-hostile": &HeatMap{Targets: odd, Corunners: odd, Slowdown: slowdowns},
		"heat-map-large":   square(45),
		"time-line":        &timeLine, "time-line-empty": &TimeLine{},
		"errors": &errorPlot, "errors-empty": &ErrorPlot{Methods: []MethodErrors{{Method: "none"}}},
	}
}

// square is a map of n applications whose slowdowns grow with both numbers.
func square(n int) *HeatMap {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("application-%03d", i+1))
	}
	return &HeatMap{Targets: names, Corunners: names, Slowdown: func(i, j int) units.Slowdown {
		return units.Slowdown(1 + float64((i*31+j*17)%97)*float64(i+j)/float64(97*n))
	}}
}

func written(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Pictures in files are the same each time, well formed, fetch nothing, and are
// drawn within their frames. BANDMATE_TEST_PICTURES names a folder for the PNGs.
func TestPicturesInFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector finds nothing in one goroutine")
	}
	for name, p := range pictures() {
		t.Run(name, func(t *testing.T) {
			svg := written(t, p.Picture().WriteSVG)
			wantGolden(t, name+".svg", svg)
			checkSVG(t, svg)
			first := written(t, p.Picture().WritePNG)
			if !bytes.Equal(first, written(t, p.Picture().WritePNG)) {
				t.Error("two PNGs of one picture differ")
			}
			config, err := png.DecodeConfig(bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			if box := viewBox(t, svg); math.Abs(float64(config.Width)-2*box[0]) > 1 || math.Abs(float64(config.Height)-2*box[1]) > 1 {
				t.Errorf("PNG of %d × %d for an SVG of %v", config.Width, config.Height, box)
			}
			if folder := os.Getenv("BANDMATE_TEST_PICTURES"); folder != "" {
				if err := os.WriteFile(filepath.Join(folder, name+".png"), first, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// checkSVG fails on what is no XML, on elements beyond drawing, and on links.
func checkSVG(t *testing.T, data []byte) {
	t.Helper()
	allowed := " svg title desc style rect path text "
	decoder := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.Contains(allowed, " "+element.Name.Local+" ") {
			t.Errorf("element %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s: %s=%q", element.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

func viewBox(t *testing.T, svg []byte) (size [2]float64) {
	t.Helper()
	_, rest, _ := strings.Cut(string(svg), `viewBox="0 0 `)
	if _, err := fmt.Sscanf(rest, "%g %g", &size[0], &size[1]); err != nil {
		t.Fatal(err)
	}
	return size
}

func TestTerminalPicturesOfFiles(t *testing.T) {
	all := pictures()
	for _, name := range []string{"time-line", "errors"} {
		drawn, ok := all[name].(interface {
			Write(w io.Writer, o Options) error
		})
		if !ok {
			t.Fatalf("%s is not drawn in a terminal", name)
		}
		t.Run(name, func(t *testing.T) { wantPictures(t, name, drawn.Write) })
	}
	for _, name := range []string{"curves", "curves-fitted", "slowdowns", "time-line", "errors"} {
		wantGolden(t, name+".csv", written(t, all[name].WriteCSV))
	}
}

func decoded(t *testing.T, p picture) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(written(t, p.Picture().WritePNG)))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// Colors of the light theme.
const (
	ink, paper, unknown, firstLine = 0x17202a, 0xffffff, 0xf6f7f9, 0x0b5fa5
)

func rgbOf(c color.Color) uint32 {
	r, g, b, _ := c.RGBA()
	return r>>8<<16 | g>>8<<8 | b>>8
}

// The pixels are what the numbers say: every cell has the color of its class.
func TestHeatMapPixels(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector finds nothing in one goroutine")
	}
	for _, n := range []int{6, 50} {
		m := square(n)
		if n == 6 {
			m.Slowdown = func(i, j int) units.Slowdown {
				return []units.Slowdown{1, 1.1, 1.2, 1.5, 1.9, 3, units.Slowdown(math.NaN())}[(i+j)%7]
			}
		}
		img, d := decoded(t, m), m.sides()
		wrong := 0
		for i := range n {
			for j := range n {
				// Near a corner, beside the number.
				x, y := 2*(d.left+float64(j)*d.cellWidth+3), 2*(d.top+float64(i)*d.cellHeight+3)
				want := uint32(unknown)
				if class := heatIndex(m.Slowdown(i, j)); class >= 0 {
					want = []uint32{0xf1f5f2, 0xffffd7, 0xffd787, 0xffaf5f, 0xd70000, 0x870000}[class]
				}
				if got := rgbOf(img.At(int(x), int(y))); got != want {
					wrong++
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%d of %d cells have the wrong color", wrong, n*n)
		}
	}
}

// A mark lies where its point does, and text is drawn in ink.
func TestCurvePixels(t *testing.T) {
	p := triadFamily()
	img := decoded(t, &p)
	// The last point of the first curve: highest bandwidth, performance 0.53 on
	// an axis from 0.5 to 1.
	x, y := chartWidth-chartRight, chartTop+(1-0.53)/0.5*chartPlotHeight
	if got := rgbOf(img.At(int(2*x), int(2*y))); got != firstLine {
		t.Errorf("the mark at (%.0f, %.0f) is %06x", x, y, got)
	}
	dark := 0
	for px := range 200 {
		for py := range 60 {
			if rgbOf(img.At(2*int(chartLeft)+px, py)) == ink {
				dark++
			}
		}
	}
	if dark < 50 {
		t.Errorf("the title has %d dark pixels", dark)
	}
}

// 500 applications stay a file that can be looked at.
func TestManyApplications(t *testing.T) {
	m := square(500)
	svg := written(t, m.Picture().WriteSVG)
	if len(svg) > 10<<20 {
		t.Errorf("SVG of %d bytes", len(svg))
	}
	for _, name := range []string{">application-001<", ">application-500<"} {
		if strings.Count(string(svg), name) != 2 {
			t.Errorf("%s is not at a row and a column", name)
		}
	}
	// Names of nine pixels can be read.
	if scale := m.Picture().PNGScale(); scale*smallText < 9 {
		t.Errorf("the PNG has %.2f pixels for one", scale)
	}
	tall := HeatMap{Targets: m.Targets, Corunners: m.Targets[:1], Slowdown: m.Slowdown}
	config, err := png.DecodeConfig(bytes.NewReader(written(t, tall.Picture().WritePNG)))
	if err != nil || config.Height != drawing.MaxPNGSide {
		t.Errorf("PNG of %d × %d, %v", config.Width, config.Height, err)
	}
}

func TestBusiest(t *testing.T) {
	names := []string{"calm", "victim", "quiet", "bully"}
	m := &HeatMap{Targets: names, Corunners: names, Slowdown: func(i, j int) units.Slowdown {
		switch {
		case i == 1 && j == 3:
			return 2
		case i == 2:
			return units.Slowdown(math.NaN())
		}
		return 1
	}}
	part, left := m.Busiest(2)
	if left != 2 || strings.Join(part.Targets, " ") != "victim bully" || part.Slowdown(0, 1) != 2 || part.Slowdown(1, 0) != 1 {
		t.Errorf("%v, %d left out", part.Targets, left)
	}
	for _, n := range []int{0, 4, 9} {
		if part, left := m.Busiest(n); part != m || left != 0 {
			t.Errorf("of %d: %v, %d left out", n, part.Targets, left)
		}
	}
}

func TestPictureWritersReportErrors(t *testing.T) {
	for name, p := range pictures() {
		if p.Picture().WriteSVG(failing{}) == nil || p.Picture().WritePNG(failing{}) == nil || p.WriteCSV(failing{}) == nil {
			t.Errorf("%s: no error from a writer that fails", name)
		}
	}
}
