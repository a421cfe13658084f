package predictor

import (
	"bandmate.dev/bandmate/api/v1alpha1"
)

// Where no point of a profile has a spread, runs are taken to vary by 1% (the
// noise the paper reports for its repeats is of that order).
const silentSpread = 0.01

// minimumSpread keeps a lucky pair of equal runs from outweighing all else.
const minimumSpread = 0.002

// borrowedFreedom is how many degrees of freedom the pooled variance counts
// for beside a point's own. Three repeats say little about their own spread:
// weighting by it alone would trust whichever point happened to agree.
const borrowedFreedom = 4

// pooledVariance returns the variance of a single run over all points that
// have a spread, by degrees of freedom.
func pooledVariance(all []v1alpha1.SensitivityCurve) float64 {
	var sum, freedom float64
	for _, c := range all {
		for _, p := range c.Points {
			if p.Spread != nil && p.Repeats > 1 {
				sum += *p.Spread * *p.Spread * float64(p.Repeats-1)
				freedom += float64(p.Repeats - 1)
			}
		}
	}
	if freedom == 0 {
		return silentSpread * silentSpread
	}
	return max(sum/freedom, minimumSpread*minimumSpread)
}

// variance returns the variance of a point's mean: its own spread shrunk
// towards the pooled one (as Smyth, Stat. Appl. Genet. Mol. Biol. 3(1), 2004,
// does), over the repeats.
func variance(p v1alpha1.CurvePoint, pooled float64) float64 {
	if p.Inferred && p.Spread != nil {
		return max(*p.Spread**p.Spread, minimumSpread*minimumSpread)
	}
	single, repeats := pooled, float64(max(p.Repeats, 1))
	if p.Spread != nil && p.Repeats > 1 {
		own := repeats - 1
		single = (*p.Spread**p.Spread*own + pooled*borrowedFreedom) / (own + borrowedFreedom)
	}
	return single / repeats
}

// inferredVariance returns the mean variance of the points that were inferred
// from others; 0 where every point was measured.
func inferredVariance(all []v1alpha1.SensitivityCurve) float64 {
	var sum, n float64
	for _, c := range all {
		for _, p := range c.Points {
			if p.Inferred && p.Spread != nil {
				sum += *p.Spread * *p.Spread
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}
