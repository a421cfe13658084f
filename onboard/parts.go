package onboard

import (
	"slices"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/regime"
)

// part is what one plan measures: two applications beside each other, or one beside the
// interferer.
type part struct {
	// target and corunner index the applications; corunner may be theInterferer.
	target, corunner int
}

const theInterferer = -1

func (r *trial) parts() []part {
	var all []part
	for i := range r.Applications {
		all = append(all, r.partsOf(i)...)
	}
	return all
}

// partsOf returns those of a target: beside the interferer, and beside itself and the
// applications after it.
func (r *trial) partsOf(target int) []part {
	of := []part{{target, theInterferer}}
	for j := target; j < len(r.Applications); j++ {
		of = append(of, part{target, j})
	}
	return of
}

func (p part) weight() int {
	if p.corunner == theInterferer {
		return curvesWeight
	}
	return 1
}

func weightOf(parts []part) int {
	sum := 0
	for _, p := range parts {
		sum += p.weight()
	}
	return sum
}

// points returns those of a part; second makes the pressure.
func (r *trial) points(p part, second *bench.Stream) []modulation.Point {
	a := r.Applications[p.target]
	if p.corunner != theInterferer {
		return []modulation.Point{pairPoint(a, r.Applications[p.corunner])}
	}
	var points []modulation.Point
	for _, pressed := range r.experiment.Pressures {
		points = append(points, pressurePoint(a.Name, pressed, second))
	}
	return append(points, controlPoint(a.Name))
}

// had returns the weight of the parts that have been measured in a regime.
func (r *trial) had(class regime.Class) int {
	return weightOf(slices.DeleteFunc(r.parts(), func(p part) bool { return !r.has(class, p) }))
}

// has reports whether every comparison of a part has the fewest readings in a regime.
func (r *trial) has(class regime.Class, p part) bool {
	return precise(r.outcome, class, r.points(p, &bench.Stream{}), r.Precision.WithDefaults().Fewest)
}

// poorest returns a part that has too few readings in a regime, of the running target if
// there is one. If there is none, it returns the part whose standard errors would fall most
// with one more reading; with n readings, a standard error falls by about 1/(2n) of itself.
// It returns false if all parts are precise.
func (r *trial) poorest(class regime.Class) (poorest part, ok bool) {
	lacks := func(p part) bool { return !r.has(class, p) }
	if r.target != nil {
		if own := r.partsOf(r.running); slices.ContainsFunc(own, lacks) {
			return own[slices.IndexFunc(own, lacks)], true
		}
	}
	if all := r.parts(); slices.ContainsFunc(all, lacks) {
		return all[slices.IndexFunc(all, lacks)], true
	}
	precision := r.Precision.WithDefaults()
	e := &estimator{readings: r.outcome.Readings[class], session: r.Stage.Session}
	most := 0.0
	for _, p := range r.parts() {
		gain, n := 0.0, 0
		for _, point := range r.points(p, &bench.Stream{}) {
			for _, c := range point.Compare {
				n++
				if estimate, readings, ok := e.of(c.Name); ok && len(readings) < precision.Most && estimate.StandardError > precision.StandardError {
					gain += estimate.StandardError / float64(len(readings))
				}
			}
		}
		if gain /= float64(n); gain > most {
			poorest, most = p, gain
		}
	}
	return poorest, most > 0
}
