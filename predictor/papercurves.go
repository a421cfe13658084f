package predictor

import (
	"slices"
	"sync"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// familyKey names the curves that a method of the paper reads.
type familyKey struct {
	kind    curves.Kind
	sampled bool
}

// paperCurves are the curves that the methods of the paper read. They are fitted when
// one of these methods is first used: the default method reads none of them, and they
// would be most of the memory of an application. It is safe for concurrent use.
type paperCurves struct {
	points []paperPoint
	fit    sync.Once
	byKey  map[familyKey]*curves.Family
}

// paperPoint is a measured point at a read share.
type paperPoint struct {
	share units.ReadShare
	curves.Point
	sampled bool // near one of the sampledLevels
}

// newPaperCurves returns the curves of points that were measured, by curve of a profile.
// An error is one that a fit of the sampled points would have, others are those of any
// fit of all points.
func newPaperCurves(chosen []v1alpha1.SensitivityCurve, sets []curves.Set) (*paperCurves, error) {
	p := &paperCurves{}
	for i, set := range sets {
		levels := sampleLevels(chosen[i].Points)
		for j, point := range set.Points {
			p.points = append(p.points, paperPoint{set.ReadShare, point, slices.Contains(levels, j)})
		}
	}
	if _, err := curves.FitFamily(curves.Interpolation, p.sets(true)); err != nil {
		return nil, err
	}
	return p, nil
}

// sets returns all points, or those sampled at four levels.
func (p *paperCurves) sets(sampled bool) []curves.Set {
	var sets []curves.Set
	for i, point := range p.points {
		if i == 0 || point.share != p.points[i-1].share {
			sets = append(sets, curves.Set{ReadShare: point.share})
		}
		if last := &sets[len(sets)-1]; point.sampled || !sampled {
			last.Points = append(last.Points, point.Point)
		}
	}
	return sets
}

// family returns the curves that a method reads.
func (p *paperCurves) family(key familyKey) *curves.Family {
	p.fit.Do(func() {
		p.byKey = map[familyKey]*curves.Family{}
		for _, kind := range []curves.Kind{curves.Interpolation, curves.Line, curves.Polynomial} {
			for _, sampled := range []bool{false, true} {
				// What could not be fitted failed when the profile was compiled.
				p.byKey[familyKey{kind, sampled}], _ = curves.FitFamily(kind, p.sets(sampled))
			}
		}
	})
	return p.byKey[key]
}
