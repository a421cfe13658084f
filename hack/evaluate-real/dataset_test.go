package main

import (
	"math"
	"slices"
	"testing"
)

// The pairs of the data set are in the order of the programs, in both directions,
// each once.
func TestOrderedPairs(t *testing.T) {
	a, b := &result{Performance: 0.9}, &result{Performance: 0.8}
	m := &measured{
		applications: []*onboarded{{Name: "xz"}, {Name: "sort"}},
		pairs: []*pair{
			{First: "xz", Second: "sort", Forward: a, Backward: b},
			{First: "sort", Second: "sort", Forward: a, Backward: a},
			{First: "xz", Second: "xz"},
		},
	}
	want := []ordered{{"xz", "sort", a}, {"sort", "xz", b}, {"sort", "sort", a}}
	if got := m.ordered(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSaveAndLoad(t *testing.T) {
	s, err := openState(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := comparison{Name: "xz", WholeSeconds: 2.5, Whole: []result{{Performance: 0.7}}}
	if known, err := s.load(comparedPrefix+"xz", &comparison{}); err != nil || known {
		t.Errorf("nothing was saved: %v, %v", known, err)
	}
	if err := s.save(comparedPrefix+"xz", want); err != nil {
		t.Fatal(err)
	}
	all, err := loadAll[comparison](s, comparedPrefix)
	if err != nil || len(all) != 1 || all[0].WholeSeconds != want.WholeSeconds || !slices.Equal(all[0].Whole, want.Whole) {
		t.Errorf("%+v, %v; want %+v", all, err, want)
	}
}

// The parts of the mean square error add up to all of it.
func TestPartsAddUp(t *testing.T) {
	errors := map[[2]string]float64{
		{"a", "a"}: 1, {"a", "b"}: 3, {"b", "a"}: -2, {"b", "b"}: 7, {"c", "a"}: 4,
	}
	p := partsOf(errors)
	if want := (1 + 9 + 4 + 49 + 16) / 5.0; math.Abs(p.all-want) > 1e-12 {
		t.Errorf("all is %v, want %v", p.all, want)
	}
	if sum := p.common + p.targets + p.corunners + p.single; math.Abs(sum-p.all) > 1e-12 || min(p.common, p.targets, p.corunners, p.single) < 0 {
		t.Errorf("%+v add up to %v", p, sum)
	}
}

func TestMeanInterval(t *testing.T) {
	m := meanOf([]result{{Performance: 0.5}, {Performance: 0.6}, {Performance: 0.7}})
	// The quantile 0.95 of Student's distribution with 2 degrees of freedom is 2.92.
	if math.Abs(m.mean-0.6) > 1e-12 || math.Abs(m.sd-0.1) > 1e-12 || math.Abs(m.half-2.92*0.1/math.Sqrt(3)) > 1e-3 {
		t.Errorf("%+v", m)
	}
	near, far := interval{mean: 0.7, half: 0.05}, interval{mean: 0.9, half: 0.02}
	if !m.overlaps(near) || m.overlaps(far) {
		t.Errorf("%+v overlaps %+v: %v, %+v: %v", m, near, m.overlaps(near), far, m.overlaps(far))
	}
}
