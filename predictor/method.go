package predictor

import (
	"fmt"
	"slices"

	"bandmate.dev/bandmate/curves"
)

// Method is a way to predict.
type Method string

const (
	// Memgen reads the curve at 75% reads, interpolated between four levels of
	// pressure: the state of the art the paper compares itself with.
	Memgen Method = "memgen"
	// Interpolation reads the right curve, the one measured at the read share
	// nearest to the co-runners', interpolated between all its points.
	Interpolation Method = "interpolation"
	// Linear is a least-squares line through the points of the right curve.
	Linear Method = "linear"
	// Polynomial is a least-squares parabola through the right curve's points.
	Polynomial Method = "polynomial"
	// InterpolationSampled is Interpolation from four levels of the curve.
	InterpolationSampled Method = "interpolation-sampled"
	// LinearSampled is Linear from four levels of the curve.
	LinearSampled Method = "linear-sampled"
	// PolynomialSampled is Polynomial from four levels of the curve.
	PolynomialSampled Method = "polynomial-sampled"
	// InterpolationEstimated reads the curves at 50% and 100% reads with four
	// levels each, joined by the paper's eq. 3.
	InterpolationEstimated Method = "interpolation-estimated"
	// LinearEstimated is the paper's chosen method: as InterpolationEstimated,
	// with a least-squares line through each curve's four points.
	LinearEstimated Method = "linear-estimated"
	// PolynomialEstimated is the same with a least-squares parabola.
	PolynomialEstimated Method = "polynomial-estimated"
	// Default also lets the co-runners slow down: it finds the fixed point at which
	// every application runs at the speed that its curves, or a model of the memory,
	// give beside what the others then really transfer. It reads all measured curves.
	Default Method = "default"
)

// Methods lists every Method, the simplest first.
func Methods() []Method {
	return []Method{
		Memgen, Interpolation, Linear, Polynomial,
		InterpolationSampled, LinearSampled, PolynomialSampled,
		InterpolationEstimated, LinearEstimated, PolynomialEstimated, Default,
	}
}

// ParseMethod reads the name of a method; the empty name means Default.
func ParseMethod(name string) (Method, error) {
	m := Method(name)
	if m == "" {
		return Default, nil
	}
	if !slices.Contains(Methods(), m) {
		return "", fmt.Errorf("method %q: want one of %v", name, Methods())
	}
	return m, nil
}

// selection says which curves and levels a method of the paper uses.
type selection int

const (
	rightCurve   selection = iota // nearest read share, all levels
	rightSampled                  // nearest read share, sampled levels
	single75                      // 75% reads, sampled levels
	estimated                     // 50% and 100% reads, sampled levels
)

// paperMethod is one row of the paper's Tables 1 to 3.
type paperMethod struct {
	kind      curves.Kind
	selection selection
}

// family names the curves that the method reads.
func (m paperMethod) family() familyKey { return familyKey{m.kind, m.selection != rightCurve} }

// paperMethod returns how the paper builds m; false for Default.
func (m Method) paperMethod() (paperMethod, bool) {
	kinds := map[Method]paperMethod{
		Memgen:                 {curves.Interpolation, single75},
		Interpolation:          {curves.Interpolation, rightCurve},
		Linear:                 {curves.Line, rightCurve},
		Polynomial:             {curves.Polynomial, rightCurve},
		InterpolationSampled:   {curves.Interpolation, rightSampled},
		LinearSampled:          {curves.Line, rightSampled},
		PolynomialSampled:      {curves.Polynomial, rightSampled},
		InterpolationEstimated: {curves.Interpolation, estimated},
		LinearEstimated:        {curves.Line, estimated},
		PolynomialEstimated:    {curves.Polynomial, estimated},
	}
	method, ofPaper := kinds[m]
	return method, ofPaper
}

// Reads is how much of a profile a method reads.
type Reads struct {
	// ReadShares is how many curves, Levels how many points of the longest, and
	// Points how many points of all.
	ReadShares, Levels, Points int
}

// Reads returns how much of the application's curves a method reads, which is
// what would have to be measured for it; nothing without curves. It fails on an
// unknown method.
func (a *Application) Reads(m Method) (Reads, error) {
	m, err := ParseMethod(string(m))
	if err != nil || a.family == nil {
		return Reads{}, err
	}
	method, ofPaper := m.paperMethod()
	if !ofPaper {
		reads := readsOf(a.family, all(a.family)...)
		if a.SharesCache() {
			reads.Points += a.pointsInCache()
		}
		return reads, nil
	}
	family := a.paper.family(method.family())
	var bracket curves.Bracket
	switch method.selection {
	case single75:
		bracket, _ = bracketAt75(a, family)
	case estimated:
		// Which of the two curves counts more depends on the co-runner, but
		// both have to be there.
		bracket, _ = bracketEstimated(a, family, 0.75)
	default:
		return readsOf(family, all(family)...), nil
	}
	if bracket.Lower == bracket.Upper {
		return readsOf(family, bracket.Lower), nil
	}
	return readsOf(family, bracket.Lower, bracket.Upper), nil
}

func all(family *curves.Family) []int {
	members := make([]int, family.Len())
	for i := range members {
		members[i] = i
	}
	return members
}

func readsOf(family *curves.Family, members ...int) Reads {
	reads := Reads{ReadShares: len(members)}
	for _, i := range members {
		_, curve := family.Member(i)
		points := len(curve.Points())
		reads.Levels, reads.Points = max(reads.Levels, points), reads.Points+points
	}
	return reads
}
