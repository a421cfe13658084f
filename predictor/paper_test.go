package predictor

import (
	"math"
	"strings"
	"testing"
)

func TestMethodsOfThePaperByHand(t *testing.T) {
	// Straight lines of slope −0.02 and −0.01 per GB/s, and a bent one.
	full := withCurve(profileOf("target", 10, 0.75), 0.5, 1, 0.9, 0.8, 0.7, 0.6)
	withCurve(full, 0.75, 1, 0.9, 0.85, 0.8, 0.4)
	withCurve(full, 1, 1, 0.95, 0.9, 0.85, 0.8)
	no75 := withCurve(profileOf("target", 10, 0.75), 0.5, 1, 0.9, 0.8, 0.7, 0.6)
	withCurve(no75, 1, 1, 0.95, 0.9, 0.85, 0.8)
	only75 := withCurve(profileOf("target", 10, 0.75), 0.75, 1, 0.9, 0.8, 0.7, 0.6)

	tests := []struct {
		name      string
		method    Method
		target    string
		gbps      float64
		readShare float64
		want      float64
		warning   string
	}{
		{"memgen ignores the read share", Memgen, "full", 17.5, 1, 0.6, ""},
		{"memgen without a curve at 75%", Memgen, "no75", 10, 0.5, 0.85, "no curve at 75% reads"},
		{"the right curve is the nearest", Interpolation, "full", 10, 0.6, 0.8, ""},
		{"the right curve for reads", Interpolation, "full", 10, 0.95, 0.9, ""},
		{"a line of the right curve", Linear, "full", 12.5, 0.5, 0.75, ""},
		{"a line goes on, and says so", Linear, "full", 30, 0.5, 0.4, "above the 20.0 GB/s"},
		{"a parabola of a line is the line", Polynomial, "full", 12.5, 0.5, 0.75, ""},
		// Eq. 3: scale = (0.6 − 0.5) ÷ 0.5 = 0.2; 0.8·0.8 + 0.9·0.2.
		{"eq. 3 interpolated", InterpolationEstimated, "full", 10, 0.6, 0.82, ""},
		{"eq. 3 linear", LinearEstimated, "full", 10, 0.6, 0.82, ""},
		{"eq. 3 polynomial", PolynomialEstimated, "full", 10, 0.6, 0.82, ""},
		{"eq. 3 below half reads holds 50%", LinearEstimated, "full", 10, 0.2, 0.8, ""},
		{"eq. 3 with one curve", LinearEstimated, "only75", 10, 0.6, 0.8, "those at 75% and 75%"},
		{"no traffic", LinearEstimated, "full", 0, 0.6, 1, ""},
	}
	targets := map[string]*Application{"full": compiled(t, full), "no75": compiled(t, no75), "only75": compiled(t, only75)}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other := compiled(t, profileOf("other", test.gbps, test.readShare))
			p, err := Predict(targets[test.target], []*Application{other}, Options{Method: test.method, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(float64(p.NormalizedPerformance)-test.want) > 1e-9 {
				t.Errorf("%v, want %v: %s", p.NormalizedPerformance, test.want, p.Explanation.Equation)
			}
			if got := strings.Join(p.Warnings, "\n"); !strings.Contains(got, test.warning) {
				t.Errorf("warnings %q, want %q", got, test.warning)
			}
		})
	}
}

func TestSampleLevels(t *testing.T) {
	c := withCurve(profileOf("a", 1, 1), 1, 0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2).Spec.Curves[0]
	if got := sampleLevels(c.Points); len(got) != 4 || got[0] != 1 || got[1] != 3 || got[2] != 5 || got[3] != 7 {
		t.Errorf("of eight levels: %v, want 1 3 5 7", got)
	}
	if got := sampleLevels(c.Points[:1]); len(got) != 1 {
		t.Errorf("of one level: %v, want it once", got)
	}
	if got := sampleLevels(nil); got != nil {
		t.Errorf("of none: %v", got)
	}
}

func TestParseMethod(t *testing.T) {
	for _, m := range Methods() {
		if got, err := ParseMethod(string(m)); err != nil || got != m {
			t.Errorf("%s: %v, %v", m, got, err)
		}
	}
	if got, err := ParseMethod(""); err != nil || got != Default {
		t.Errorf("empty: %v, %v", got, err)
	}
	if _, err := ParseMethod("oracle"); err == nil || !strings.Contains(err.Error(), "memgen") {
		t.Errorf("unknown: %v, want the methods listed", err)
	}
}
