package drawing

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is written into it, a picture is well-formed, has the text again and
// is drawn in full size.
func TestDocumentIsXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "x" + rapid.String().Draw(t, "text")
		p := &Picture{Width: 100, Height: 50, Title: text, Description: "none"}
		p.Text(Label{At: At(10, 10), Text: text}, Label{At: At(20, 20), Text: text, Upward: true, Anchor: Middle})
		p.Boxes(Heat(1), 1, Box{X: 1, Y: 2, Width: 3, Height: 4, Hint: text}, Box{X: 5, Y: 2, Width: 3, Height: 4})
		p.Line(Stroke{Width: 2, Dashes: []float64{6, 4}}, At(10, 10), At(30, 20))
		p.Mark(At(5, 5), 4, false)
		var b bytes.Buffer
		if err := p.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		reader := xml.NewDecoder(&b)
		elements, texts := 0, 0
		for {
			token, err := reader.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch token := token.(type) {
			case xml.StartElement:
				elements++
			case xml.CharData:
				if strings.TrimSpace(string(token)) != "" {
					texts++
				}
			}
		}
		if elements != 13 || texts != 6 {
			t.Fatalf("%d elements, %d texts", elements, texts)
		}
		var picture bytes.Buffer
		if err := p.WritePNG(&picture); err != nil {
			t.Fatal(err)
		}
		if config, err := png.DecodeConfig(&picture); err != nil || config.Width != 200 || config.Height != 100 {
			t.Fatalf("%d × %d, %v", config.Width, config.Height, err)
		}
	})
}

func TestEscape(t *testing.T) {
	if got := escape("a<b>&\"c\x1b[0m\u202e"); got != "a&lt;b&gt;&amp;&#34;c\ufffd[0m\ufffd" {
		t.Errorf("%q", got)
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		parts     int
		want      []float64
	}{
		{0, 1, 5, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{0, 7, 8, []float64{0, 1, 2, 3, 4, 5, 6, 7}},
		{-5, 43, 5, []float64{0, 10, 20, 30, 40}},
		{-0.1, 0.1, 2, []float64{-0.1, 0, 0.1}},
	} {
		got := Scale{Low: test.low, High: test.high}.Between(0, 1, test.parts).Ticks()
		if !slices.EqualFunc(got, test.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%v to %v, %d: %v, want %v", test.low, test.high, test.parts, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e3, 1e3).Draw(t, "low")
		s, parts := Scale{Low: low, High: low + rapid.Float64Range(1e-3, 1e6).Draw(t, "span")}, rapid.IntRange(1, 20).Draw(t, "parts")
		if ticks := s.Between(0, 1, parts).Ticks(); len(ticks) > parts+1 || len(ticks) < parts/3 {
			t.Fatalf("%v", ticks)
		}
		rounded := s.Rounded(parts)
		invisible := 1e-6 * (s.High - s.Low)
		if rounded.Low > s.Low+invisible || rounded.High < s.High-invisible || len(rounded.Ticks()) > parts+3 {
			t.Fatalf("%v became %v", s, rounded)
		}
	})
}

func TestScale(t *testing.T) {
	s := Scale{Low: 1, High: 3, From: 100, To: 0}
	for v, want := range map[float64]float64{1: 100, 2: 50, 3: 0, 4: -50} {
		if got := s.At(v); got != want {
			t.Errorf("%v at %v, want %v", v, got, want)
		}
	}
}

func length(line []Point) float64 {
	sum := 0.0
	for i := 1; i < len(line); i++ {
		sum += math.Hypot(line[i].X-line[i-1].X, line[i].Y-line[i-1].Y)
	}
	return sum
}

// Dashes and gaps make up the line, in the lengths that were asked for.
func TestDashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := line{Stroke: Stroke{Dashes: []float64{rapid.Float64Range(1, 20).Draw(t, "dash"), rapid.Float64Range(1, 20).Draw(t, "gap")}}}
		for range rapid.IntRange(2, 6).Draw(t, "points") {
			l.points = append(l.points, Point{rapid.Float64Range(0, 200).Draw(t, "x"), rapid.Float64Range(0, 200).Draw(t, "y")})
		}
		drawn := 0.0
		for _, piece := range l.pieces() {
			if got := length(piece); got > l.Dashes[0]+1e-6 {
				t.Fatalf("a dash of %v, want %v at most", got, l.Dashes[0])
			}
			drawn += length(piece)
		}
		whole, rest := math.Modf(length(l.points) / (l.Dashes[0] + l.Dashes[1]))
		want := whole*l.Dashes[0] + min(rest*(l.Dashes[0]+l.Dashes[1]), l.Dashes[0])
		if math.Abs(drawn-want) > 1e-6 {
			t.Fatalf("%v of %v drawn, want %v", drawn, length(l.points), want)
		}
	})
	whole := line{points: []Point{{1, 2}, {3, 4}, {5, 9}}}
	if got := whole.pieces(); len(got) != 1 || len(got[0]) != 3 {
		t.Errorf("a whole line is in pieces %v", got)
	}
}

func TestNiceStep(t *testing.T) {
	for _, c := range []struct {
		span  float64
		parts int
		want  float64
	}{{1, 5, 0.2}, {0.2, 5, 0.05}, {0.5, 5, 0.1}, {56.9, 6, 10}, {1e-3, 4, 2.5e-4}, {9.1, 1, 10}} {
		if got := NiceStep(c.span, c.parts); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v in %d parts: got %v, want %v", c.span, c.parts, got, c.want)
		}
	}
}
