package predictor

import (
	"cmp"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// response is the response of an application to one read share of the interferer: its
// performance and the interferer's achieved bandwidth, against the interferer's bandwidth
// alone.
type response struct {
	share       units.ReadShare
	performance *curves.Curve
	// knots relate solo to achieved bandwidth, from (0, 0), both strictly
	// increasing; nil where the achieved bandwidth was not recorded.
	knots []knot
	// steps is performance against what the interferer transferred, the curve
	// read at the level that achieved it: from (0, 1), joined by straight lines.
	steps []step
	// points are those that recorded what the interferer achieved, for a
	// Calibration.
	points []memory.Point
}

// step is what the others transfer and how the application then performs.
type step struct {
	actual      units.Bandwidth
	performance units.NormalizedPerformance
}

// knot is the interferer alone and beside the application.
type knot struct {
	solo, achieved units.Bandwidth
}

// slopeAtLeast is the least slope of achieved against solo bandwidth. It keeps the
// inverse continuous where memory is saturated.
const slopeAtLeast = 0.02

// compileResponses builds one response per read share from the profile's
// curves and their weighted points.
func compileResponses(chosen []v1alpha1.SensitivityCurve, sets []curves.Set) (*curves.Family, []response, error) {
	family, err := curves.FitFamily(curves.Monotone, sets)
	if err != nil {
		return nil, nil, err
	}
	responses := make([]response, family.Len())
	for i := range responses {
		share, curve := family.Member(i)
		var points []v1alpha1.CurvePoint
		for _, c := range chosen {
			if units.ReadShare(c.ReadShare) == share {
				points = append(points, c.Points...)
			}
		}
		responses[i] = response{share: share, performance: curve, knots: achievedKnots(points)}
		responses[i].compileSteps()
		responses[i].points = calibrationPoints(share, points)
	}
	return family, responses, nil
}

// calibrationPoints returns the measured points with a known achieved bandwidth, in
// order of the interferer's bandwidth.
func calibrationPoints(share units.ReadShare, points []v1alpha1.CurvePoint) []memory.Point {
	var known []memory.Point
	for _, p := range points {
		if p.Inferred || p.AchievedBytesPerSecond == nil || !(*p.AchievedBytesPerSecond > 0) || !(p.InterfererBytesPerSecond > 0) {
			continue
		}
		known = append(known, memory.Point{
			ReadShare: share, Solo: units.Bandwidth(p.InterfererBytesPerSecond), Achieved: units.Bandwidth(*p.AchievedBytesPerSecond),
			Performance: units.NormalizedPerformance(p.NormalizedPerformance), Interferers: int(math.Ceil(p.Level)),
		})
	}
	slices.SortStableFunc(known, func(a, b memory.Point) int { return cmp.Compare(a.Solo, b.Solo) })
	return known
}

// achievedKnots returns nil unless every point recorded what was achieved.
func achievedKnots(points []v1alpha1.CurvePoint) []knot {
	ordered := slices.Clone(points)
	slices.SortStableFunc(ordered, func(a, b v1alpha1.CurvePoint) int {
		return cmp.Compare(a.InterfererBytesPerSecond, b.InterfererBytesPerSecond)
	})
	knots := []knot{{0, 0}}
	for _, p := range ordered {
		if p.AchievedBytesPerSecond == nil {
			return nil
		}
		last := knots[len(knots)-1]
		solo := units.Bandwidth(p.InterfererBytesPerSecond)
		if solo <= last.solo {
			continue
		}
		least := last.achieved + slopeAtLeast*(solo-last.solo)
		knots = append(knots, knot{solo, max(units.Bandwidth(*p.AchievedBytesPerSecond), least)})
	}
	if len(knots) == 1 {
		return nil
	}
	return knots
}

// compileSteps joins knots and curve, which bend at the same levels.
func (r *response) compileSteps() {
	r.steps = []step{{0, 1}}
	if r.knots == nil {
		for _, p := range r.performance.Points() {
			r.steps = append(r.steps, step{p.Bandwidth, r.performance.At(p.Bandwidth)})
		}
		return
	}
	for _, k := range r.knots[1:] {
		r.steps = append(r.steps, step{k.achieved, r.performance.At(k.solo)})
	}
}

// top returns the highest measured pressure.
func (r *response) top() units.Bandwidth { return r.steps[len(r.steps)-1].actual }

// at returns the performance beside the actual traffic of others; beyond the
// highest measured pressure it returns the one there.
func (r *response) at(actual units.Bandwidth) units.NormalizedPerformance {
	low := r.steps[0]
	for _, high := range r.steps[1:] {
		if actual < high.actual {
			part := units.NormalizedPerformance((actual - low.actual) / (high.actual - low.actual))
			return low.performance + part*(high.performance-low.performance)
		}
		low = high
	}
	return low.performance
}

// level returns the bandwidth of the interferer alone at which it achieved the
// actual bandwidth beside the application, by linear interpolation; beyond the
// highest level it returns that level.
// Without recorded achievement, actual is taken as what is reached alone.
func (r *response) level(actual units.Bandwidth) units.Bandwidth {
	if r.knots == nil {
		_, highest := r.performance.Domain()
		return min(actual, highest)
	}
	last := r.knots[len(r.knots)-1]
	if actual >= last.achieved {
		return last.solo
	}
	i, _ := slices.BinarySearchFunc(r.knots, actual, func(k knot, b units.Bandwidth) int {
		return cmp.Compare(k.achieved, b)
	})
	if i == 0 {
		return 0
	}
	low, high := r.knots[i-1], r.knots[i]
	part := (actual - low.achieved) / (high.achieved - low.achieved)
	return low.solo + part*(high.solo-low.solo)
}

// outcome is a response to traffic, and where it was read.
type outcome struct {
	others      units.Traffic
	performance units.NormalizedPerformance
	// measured is the performance at the highest measured pressure where
	// performance is extrapolated, else performance.
	measured units.NormalizedPerformance
	bracket  curves.Bracket
	beyond   units.Bandwidth // traffic beyond the measured pressure
}

// respond reads the curves at the traffic that the others really transfer, by
// the paper's eq. 3 between all measured read shares, and extrapolates beyond
// the measured pressure.
func (a *Application) respond(traffic units.Traffic, capacity units.Bandwidth) outcome {
	share, known := traffic.ReadShare()
	if !known || a.family == nil {
		return outcome{others: traffic, performance: 1, measured: 1}
	}
	total := traffic.Total()
	o := outcome{others: traffic, bracket: a.family.Bracket(share)}
	lower, upper := &a.responses[o.bracket.Lower], &a.responses[o.bracket.Upper]
	// The highest pressure of a read share between two is between theirs.
	top := lower.top() + units.Bandwidth(o.bracket.Scale)*(upper.top()-lower.top())
	measured := min(total, top)
	o.measured = o.bracket.Mix(lower.at(measured), upper.at(measured))
	o.performance = o.measured
	if total > top {
		o.beyond = total - top
		o.performance = a.extrapolate(o.measured, top, total, capacity)
	}
	return o
}

// Beside returns the normalized performance that the curves give beside steady
// traffic of others, extrapolated beyond the highest measured pressure.
func (a *Application) Beside(others units.Traffic) units.NormalizedPerformance {
	return a.respond(others, max(a.observedCapacity(), others.Total())*headroom).performance
}

// away translates performance where the curves were measured into performance as a
// co-runner. The delays by distance and by contention overlap in part, so they are added
// in quadrature,
//
//	(time away)² = ratio² + (1/p)² − 1
//
// in units of the undisturbed time at home.
func (a *Application) away(p units.NormalizedPerformance) units.NormalizedPerformance {
	if a.slowerAway == 1 {
		return p
	}
	home := 1 / float64(p)
	square := a.slowerAway*a.slowerAway + max(home*home-1, 0)
	return units.NormalizedPerformance(a.slowerAway / math.Sqrt(square))
}

// inPhase translates performance averaged over a run into that of a phase:
// contention adds time per byte transferred.
func (a *Application) inPhase(p units.NormalizedPerformance, in *phase) units.NormalizedPerformance {
	if in.total == 1 {
		return p
	}
	return max(1/(1+(1/p-1)*units.NormalizedPerformance(in.total)), curves.Floor)
}

// HighestPressure returns the highest traffic that the application was measured
// beside: what the interferer transferred where that was recorded, else what it
// reaches alone. Zero without curves. Beyond it predictions are extrapolated.
func (a *Application) HighestPressure() units.Bandwidth {
	var highest units.Bandwidth
	for i := range a.responses {
		highest = max(highest, a.responses[i].top())
	}
	return highest
}

// Fit is the curve that predictions read at one read share.
type Fit struct {
	ReadShare units.ReadShare `json:"readShare"`
	// Curve is the bandwidth that the interferer reaches alone and the normalized
	// performance beside it, joined by straight lines from (0, 1).
	Curve [][2]float64 `json:"curve"`
	// HalfWidth is the half width of the 90% interval of Curve, in normalized
	// performance, except without pressure.
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
