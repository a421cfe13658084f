package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is written into it, a picture is well-formed and has the text again.
func TestDocumentIsXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "x" + rapid.String().Draw(t, "text")
		p := New(100, 50)
		p.Text(Point{10, 10}, Start, text)
		p.Upward(Point{20, 20}, text)
		p.Box(Point{1, 2}, 3, 4, "#fff", "#000", text)
		p.Line(Stroke{Color: "#000", Width: 2, Dashes: "6 4"}, Point{0, 0}, Point{1, 1})
		p.Line(Stroke{Color: "#000"}, Point{0, 0})
		p.Dot(Point{5, 5}, 2, "none", "#000")
		reader := xml.NewDecoder(strings.NewReader(string(p.Document(text))))
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
		if elements != 9 || texts != 4 {
			t.Fatalf("%d elements, %d texts", elements, texts)
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
		max    float64
		wanted int
		want   []float64
	}{
		{0, 5, []float64{0}},
		{math.NaN(), 5, []float64{0}},
		{math.Inf(1), 5, []float64{0}},
		{1, 5, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{7, 8, []float64{0, 1, 2, 3, 4, 5, 6, 7}},
		{43, 5, []float64{0, 10, 20, 30, 40}},
	} {
		got := Scale{Max: test.max}.Ticks(test.wanted)
		if !slices.EqualFunc(got, test.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%v, %d: %v, want %v", test.max, test.wanted, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, wanted := Scale{Max: rapid.Float64Range(1e-12, 1e12).Draw(t, "max")}, rapid.IntRange(1, 20).Draw(t, "wanted")
		ticks := s.Ticks(wanted)
		if len(ticks) > wanted+1 || ticks[len(ticks)-1] > s.Max*(1+1e-6) || len(ticks) < wanted/3 {
			t.Fatalf("%v", ticks)
		}
	})
}

func TestScaleHoldsWithin(t *testing.T) {
	s := Scale{Max: 10, From: 100, To: 0}
	for v, want := range map[float64]float64{-1: 100, 0: 100, 5: 50, 10: 0, 11: 0} {
		if got := s.At(v); got != want {
			t.Errorf("%v at %v, want %v", v, got, want)
		}
	}
	if got := (Scale{From: 3}).At(1); got != 3 {
		t.Errorf("on a scale of nothing at %v", got)
	}
}
