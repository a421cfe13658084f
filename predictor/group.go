package predictor

import (
	"math"
	"slices"

	"bandmate.dev/bandmate/units"
)

// group is applications that share a memory domain, the target first, each in one
// of its phases. The solvers have it in common.
type group struct {
	apps []*Application
	// targetFirst is true where the first application is in the role of the target,
	// at the memory where its curves were measured, and not in that of a co-runner.
	targetFirst bool
	// averaged is true for an application that is taken at its mean over the run.
	averaged    []bool
	combination []int // the phase of each application
	// performance is the solution: as a target where the application's curves were
	// measured.
	performance []units.NormalizedPerformance
	rates       []float64 // performance before bounds and corrections

	// Scratch of averageOverPhases: lasts is how long the phase of each application
	// lasts in the current combination, reference how long those of the others lasted
	// together in the first; both as natural logarithms.
	means            []phaseMeans
	lasts, reference []float64
}

// phaseMeans collects, for each phase of an application, what it gets done in it
// and how long the others take meanwhile.
type phaseMeans [maxPhases]struct{ progress, duration float64 }

// reset makes g the undisturbed apps at their means. What it allocated serves again.
func (g *group) reset(apps []*Application, targetFirst bool) {
	g.apps, g.targetFirst = apps, targetFirst
	n := len(apps)
	g.averaged = resized(g.averaged, n)
	g.combination = resized(g.combination, n)
	g.performance = resized(g.performance, n)
	for i := range apps {
		g.averaged[i], g.performance[i] = true, 1
	}
}

// resized returns a slice of length n, in the memory of s where that is enough. Its
// elements are undefined.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// atHome reports whether application i is where its curves were measured.
func (g *group) atHome(i int) bool { return i == 0 && g.targetFirst }

// nextCombination counts up; it returns false after the last combination.
func (g *group) nextCombination() bool {
	for i, a := range g.apps {
		if g.averaged[i] {
			continue
		}
		if g.combination[i]++; g.combination[i] < len(a.phases) {
			return true
		}
		g.combination[i] = 0
	}
	return false
}

// phaseSolver solves a group in one combination of its phases.
type phaseSolver interface {
	// solvePhases returns the performances in the current combination, relative to
	// where the curves were measured and relative to where each application is.
	solvePhases() (home, here []units.NormalizedPerformance)
	// timeShare returns the share of its time alone that an application spends in a
	// phase.
	timeShare(app, phase int) float64
}

// longest bounds the natural logarithm of the duration of a combination ÷ that of the
// first one, because products over thousands of co-runners overflow.
const longest = 300

// averageOverPhases sets the rates to their means over co-run time when phases coincide at
// random, each combination for as long as the phases then last.
func (g *group) averageOverPhases(s phaseSolver) {
	n := len(g.apps)
	g.rates, g.means = resized(g.rates, n), resized(g.means, n)
	g.lasts, g.reference = resized(g.lasts, n), resized(g.reference, n)
	clear(g.means)
	clear(g.combination)
	for first := true; first || g.nextCombination(); first = false {
		home, here := s.solvePhases()
		var all float64
		for i, phase := range g.combination {
			g.lasts[i] = math.Log(g.timeShare(s, i, phase) / float64(here[i]))
			all += g.lasts[i]
		}
		for i, phase := range g.combination {
			others := all - g.lasts[i]
			if first {
				g.reference[i] = others
			}
			duration := math.Exp(min(max(others-g.reference[i], -longest), longest))
			mean := &g.means[i][phase]
			mean.progress += duration * float64(home[i])
			mean.duration += duration
		}
	}
	for i, a := range g.apps {
		phases := len(a.phases)
		if g.averaged[i] {
			phases = 1
		}
		var time float64 // of the co-run, in units of the solo run
		for phase := range phases {
			mean := &g.means[i][phase]
			time += g.timeShare(s, i, phase) * mean.duration / mean.progress
		}
		g.rates[i] = 1 / time
	}
}

func (g *group) timeShare(s phaseSolver, app, phase int) float64 {
	if g.averaged[app] {
		return 1
	}
	return s.timeShare(app, phase)
}
