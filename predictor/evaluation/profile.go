package evaluation

import (
	"math"
	"math/rand/v2"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Profile returns what onboarding would have written, restricted to o.
func (a *App) Profile(o Options) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.APIVersion, p.Kind, p.Name = v1alpha1.APIVersion, v1alpha1.KindApplicationProfile, a.Name
	solo := a.Remote
	if a.Local != nil {
		solo = *a.Local
	}
	p.Spec.Solo = v1alpha1.Timing{Seconds: solo.Seconds, Repeats: 1}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{
		ReadBytesPerSecond:  float64(a.Remote.Traffic.Read),
		WriteBytesPerSecond: float64(a.Remote.Traffic.Write),
		Source:              "imported",
		Timeline:            a.Timeline,
	}
	p.Spec.Curves = restrict(a.Curves, o)
	return p
}

// restrict keeps the curves and points nearest to what o asks for.
func restrict(all []v1alpha1.SensitivityCurve, o Options) []v1alpha1.SensitivityCurve {
	shares := make([]float64, len(o.ReadShares))
	for i, s := range o.ReadShares {
		shares[i] = float64(s)
	}
	var kept []v1alpha1.SensitivityCurve
	for _, i := range nearest(len(all), func(i int) float64 { return all[i].ReadShare }, shares) {
		c := all[i]
		points := make([]v1alpha1.CurvePoint, 0, len(c.Points))
		for _, j := range nearest(len(c.Points), func(j int) float64 { return c.Points[j].Level }, o.Levels) {
			points = append(points, c.Points[j])
		}
		c.Points = points
		kept = append(kept, c)
	}
	return kept
}

// nearest returns the indices, ordered and each once, of the values nearest to
// the wanted ones; all of them when nothing is wanted.
func nearest(n int, value func(int) float64, wanted []float64) []int {
	var indices []int
	if len(wanted) == 0 {
		for i := range n {
			indices = append(indices, i)
		}
		return indices
	}
	for _, w := range wanted {
		best := -1
		for i := range n {
			if best < 0 || math.Abs(value(i)-w) < math.Abs(value(best)-w)-1e-9 {
				best = i
			}
		}
		if best >= 0 {
			indices = append(indices, best)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// noise perturbs curves as runs that do not repeat exactly would.
type noise struct {
	spread float64
	source *rand.Rand
}

// leastNoisy keeps performance above zero whatever the noise.
const leastNoisy = 0.01

// on returns the curves with every performance multiplied by 1 + noise.
func (n *noise) on(all []v1alpha1.SensitivityCurve) []v1alpha1.SensitivityCurve {
	if n.spread == 0 {
		return all
	}
	noisy := slices.Clone(all)
	for i := range noisy {
		points := slices.Clone(noisy[i].Points)
		for j := range points {
			factor := max(1+n.spread*n.source.NormFloat64(), leastNoisy)
			points[j].NormalizedPerformance *= factor
		}
		noisy[i].Points = points
	}
	return noisy
}
