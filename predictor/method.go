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
	// InterpolationEstimated reads the curves at 50% and 100% reads with four
	// levels each, joined by the paper's eq. 3.
	InterpolationEstimated Method = "interpolation-estimated"
	// LinearEstimated is the paper's chosen method: as InterpolationEstimated,
	// with a least-squares line through each curve's four points.
	LinearEstimated Method = "linear-estimated"
	// PolynomialEstimated is the same with a least-squares parabola.
	PolynomialEstimated Method = "polynomial-estimated"
	// Default also lets the co-runners slow down: it finds the state in which
	// every application runs at the speed its curves give beside what the
	// others then really transfer. It reads all measured curves.
	Default Method = "default"
)

// Methods lists every Method, the simplest first.
func Methods() []Method {
	return []Method{
		Memgen, Interpolation, Linear, Polynomial,
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
	rightCurve selection = iota // nearest read share, all levels
	single75                    // 75% reads, sampled levels
	estimated                   // 50% and 100% reads, sampled levels
)

// paperMethod is one row of the paper's Tables 1 to 3.
type paperMethod struct {
	kind      curves.Kind
	selection selection
}

// paperMethod returns how the paper builds m; false for Default.
func (m Method) paperMethod() (paperMethod, bool) {
	switch m {
	case Memgen:
		return paperMethod{curves.Interpolation, single75}, true
	case Interpolation:
		return paperMethod{curves.Interpolation, rightCurve}, true
	case Linear:
		return paperMethod{curves.Line, rightCurve}, true
	case Polynomial:
		return paperMethod{curves.Polynomial, rightCurve}, true
	case InterpolationEstimated:
		return paperMethod{curves.Interpolation, estimated}, true
	case LinearEstimated:
		return paperMethod{curves.Line, estimated}, true
	case PolynomialEstimated:
		return paperMethod{curves.Polynomial, estimated}, true
	default:
		return paperMethod{}, false
	}
}

// Reads returns how many read shares, and levels at each, the method reads of
// a profile that has so many.
func (m Method) Reads(readShares, levels int) (usedShares, usedLevels int) {
	method, ofPaper := m.paperMethod()
	if !ofPaper || method.selection == rightCurve {
		return readShares, levels
	}
	if method.selection == single75 {
		return min(1, readShares), min(len(sampledLevels), levels)
	}
	return min(2, readShares), min(len(sampledLevels), levels)
}
