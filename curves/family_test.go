package curves

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

func family(t *testing.T, sets ...Set) *Family {
	t.Helper()
	f, err := FitFamily(Interpolation, sets)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFamilyAt(t *testing.T) {
	halfAndAll := family(t, Set{1, points(10, 0.9)}, Set{0.5, points(10, 0.5)})
	three := family(t, Set{0.5, points(10, 0.5)}, Set{0.75, points(10, 0.6)}, Set{1, points(10, 0.9)})
	tests := []struct {
		name   string
		family *Family
		share  units.ReadShare
		want   float64
		held   bool
	}{
		// Eq. 3: scale = (0.75 − 0.5) ÷ 0.5.
		{"the paper's eq. 3", halfAndAll, 0.75, 0.7, false},
		{"a quarter of the way", halfAndAll, 0.625, 0.6, false},
		{"on the lower curve", halfAndAll, 0.5, 0.5, false},
		{"on the upper curve", halfAndAll, 1, 0.9, false},
		{"below all", halfAndAll, 0.2, 0.5, true},
		{"above by less than counts", halfAndAll, 1.0005, 0.9, false},
		{"on a middle curve", three, 0.75, 0.6, false},
		{"between the nearest two", three, 0.875, 0.75, false},
		{"not a number", three, units.ReadShare(math.NaN()), 0.5, true},
	}
	for _, test := range tests {
		got, bracket := at(test.family, test.share, 10e9)
		if math.Abs(float64(got)-test.want) > 1e-9 || bracket.Held != test.held {
			t.Errorf("%s: %v held %v, want %v held %v", test.name, got, bracket.Held, test.want, test.held)
		}
	}
}

func TestNearest(t *testing.T) {
	f := family(t, Set{0.5, points(10, 0.5)}, Set{0.75, points(10, 0.6)}, Set{1, points(10, 0.9)})
	for share, want := range map[units.ReadShare]units.ReadShare{0: 0.5, 0.6: 0.5, 0.625: 0.5, 0.7: 0.75, 0.9: 1, 1: 1} {
		if got, _ := f.Member(f.Nearest(share)); got != want {
			t.Errorf("nearest to %v: %v, want %v", share, got, want)
		}
	}
}

func TestFamilyJoinsSetsOfOneReadShare(t *testing.T) {
	f := family(t, Set{0.5, points(10, 0.5)}, Set{0.5, points(20, 0.3)})
	if f.Len() != 1 {
		t.Fatalf("%d curves, want 1", f.Len())
	}
	if got, _ := at(f, 0.5, 15e9); math.Abs(float64(got)-0.4) > 1e-9 {
		t.Errorf("between the joined points: %v, want 0.4", got)
	}
}

func TestFitFamilyRefuses(t *testing.T) {
	tests := []struct {
		name string
		sets []Set
		want []string
	}{
		{"nothing", nil, []string{"no curves"}},
		{"every fault at once", []Set{{1.5, points(10, 0.5)}, {0.5, nil}}, []string{"read share 1.5", "50%"}},
		{"a share that is not a number", []Set{{units.ReadShare(math.NaN()), points(10, 0.5)}}, []string{"NaN"}},
	}
	for _, test := range tests {
		_, err := FitFamily(Line, test.sets)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", test.name, err, want)
			}
		}
	}
}

func TestFamilyLiesBetweenItsCurves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := FitFamily(Monotone, []Set{{0.5, drawPoints(t)}, {0.8, drawPoints(t)}, {1, drawPoints(t)}})
		if err != nil {
			t.Fatal(err)
		}
		share := units.ReadShare(rapid.Float64Range(0, 1).Draw(t, "share"))
		b := drawBandwidth(t)
		got, bracket := at(f, share, b)
		_, lower := f.Member(bracket.Lower)
		_, upper := f.Member(bracket.Upper)
		low, high := lower.At(b), upper.At(b)
		const rounding = 1e-12
		if got < min(low, high)-rounding || got > max(low, high)+rounding {
			t.Fatalf("%v reads at %v: %v, outside %v and %v", share, b, got, low, high)
		}
	})
}

func at(f *Family, share units.ReadShare, b units.Bandwidth) (units.NormalizedPerformance, Bracket) {
	bracket := f.Bracket(share)
	_, lower := f.Member(bracket.Lower)
	_, upper := f.Member(bracket.Upper)
	return bracket.Mix(lower.At(b), upper.At(b)), bracket
}
