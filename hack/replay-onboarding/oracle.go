package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves/design"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// oracle runs an application beside the interferer by looking it up.
type oracle struct {
	app *evaluation.App
	// noise is the standard deviation of the time of a run, relative.
	noise  float64
	random *rand.Rand
}

// point is the measured point nearest to a setting.
func (o *oracle) point(s design.Setting) v1alpha1.CurvePoint {
	i := nearest(len(o.app.Curves), func(i int) float64 { return o.app.Curves[i].ReadShare - float64(s.ReadShare) })
	points := o.app.Curves[i].Points
	return points[nearest(len(points), func(i int) float64 { return points[i].Level - s.Level })]
}

func nearest(n int, distance func(int) float64) int {
	best := 0
	for i := range n {
		if math.Abs(distance(i)) < math.Abs(distance(best)) {
			best = i
		}
	}
	return best
}

// disturbed is a time of 1 as a run would take it.
func (o *oracle) disturbed() float64 {
	if o.noise == 0 {
		return 1
	}
	return math.Max(1+o.noise*o.random.NormFloat64(), 0.5)
}

// run presses an application for a part of the time, and reads off how it fared
// meanwhile.
func (o *oracle) run(s design.Setting, duty float64) (design.Observation, v1alpha1.CurvePoint) {
	p := o.point(s)
	cost := design.Cost(p.NormalizedPerformance, duty) * o.disturbed()
	p.NormalizedPerformance = math.Max(1-(1-1/cost)/duty, 0.01)
	noise := math.Max(o.noise, leastNoise)
	return design.Observation{
		Setting: s, Performance: units.NormalizedPerformance(p.NormalizedPerformance),
		Achieved: units.Bandwidth(*p.AchievedBytesPerSecond), Cost: cost, Noise: noise / (cost * duty),
	}, p
}

// leastNoise is what a simulated run varies by without any noise added.
const leastNoise = 0.005

// sweep runs an application once beside several settings by turns, watching its
// progress: each gets an equal part of the work. A part of the work is timed
// with the noise of a run of its length.
func (o *oracle) sweep(settings []design.Setting) (points []v1alpha1.CurvePoint, cost float64) {
	for _, s := range settings {
		p := o.point(s)
		one := oracle{app: o.app, noise: o.noise * math.Sqrt(float64(len(settings))), random: o.random}
		time := one.disturbed() / p.NormalizedPerformance
		p.NormalizedPerformance = 1 / time
		points = append(points, p)
		cost += time / float64(len(settings))
	}
	return points, cost
}

// family puts points into curves, ordered.
type family map[float64][]v1alpha1.CurvePoint

func (f family) add(share units.ReadShare, p v1alpha1.CurvePoint) {
	f[float64(share)] = append(f[float64(share)], p)
}

func (f family) curves() []v1alpha1.SensitivityCurve {
	var all []v1alpha1.SensitivityCurve
	for share, points := range f {
		slices.SortFunc(points, func(a, b v1alpha1.CurvePoint) int {
			return cmp.Compare(a.InterfererBytesPerSecond, b.InterfererBytesPerSecond)
		})
		all = append(all, v1alpha1.SensitivityCurve{ReadShare: share, Points: points})
	}
	slices.SortFunc(all, func(a, b v1alpha1.SensitivityCurve) int { return cmp.Compare(a.ReadShare, b.ReadShare) })
	return all
}
