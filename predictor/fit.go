package predictor

import "bandmate.dev/bandmate/units"

// Fit is the curve that predictions read at one read share.
type Fit struct {
	ReadShare units.ReadShare `json:"readShare"`
	// Curve is the bandwidth that the interferer reaches alone and the normalized
	// performance beside it, joined by straight lines from (0, 1).
	Curve [][2]float64 `json:"curve"`
	// HalfWidth is half the width of the 90% interval of Curve, in normalized
	// performance: the doubt of measuring and fitting. Without pressure,
	// performance is 1 by definition and not in doubt.
	HalfWidth float64 `json:"halfWidth"`
}

// Fits returns the fitted curves of a in order of read share; none where it has no
// curves.
func (a *Application) Fits() []Fit {
	fits := []Fit{}
	for i := range a.responses {
		r := &a.responses[i]
		f := Fit{ReadShare: r.share, HalfWidth: normal90 * max(r.performance.Residual(), a.noise)}
		for _, at := range r.performance.Points() {
			f.Curve = append(f.Curve, [2]float64{float64(at.Bandwidth), float64(r.performance.At(at.Bandwidth))})
		}
		fits = append(fits, f)
	}
	return fits
}
