package predictor

import (
	"math"

	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/units"
)

// normal90 is the half width of the 90% interval of a normal distribution in
// standard deviations.
const normal90 = 1.645

// The error of the method, as standard deviations on the open half of the simulated data
// with exact curves and contentiousness. TestIntervalCoverage checks them.
const (
	// baseError is the repeatability of a run.
	baseError = 0.006
	// depthError is per unit of lost performance.
	depthError = 0.06
	// groupDepthError adds to depthError with two co-runners or more.
	groupDepthError = 0.12
	// trafficError is the relative error of the neighbors' traffic beside the target.
	trafficError = 0.06
	// undisturbedTrafficError replaces it where the neighbors' own slowdown is
	// neglected, as in the paper's methods.
	undisturbedTrafficError = 0.15
	// extrapolationError is per unit of performance lost beyond the measured
	// pressure.
	extrapolationError = 0.5
)

// doubt holds the independent parts of the standard deviation of a predicted normalized
// performance.
type doubt struct {
	fit           float64 // points about their curve, or their repeats
	pressure      float64 // contentiousness and its change under contention
	readShare     float64 // which curve to read
	model         float64 // see baseError, depthError
	capacity      float64 // of the memory, see modelCapacityError
	extrapolation float64 // see extrapolationError
	transfer      float64 // curves measured on another machine
	placement     float64 // which of several caches each will use
}

// interval returns the slowdowns within 90% of p. They are 1 or more: a run
// cannot gain from neighbors but by noise.
func (d doubt) interval(p units.NormalizedPerformance) Interval {
	variance := d.fit*d.fit + d.pressure*d.pressure + d.readShare*d.readShare +
		d.model*d.model + d.capacity*d.capacity + d.extrapolation*d.extrapolation + d.transfer*d.transfer + d.placement*d.placement
	half := units.NormalizedPerformance(normal90 * math.Sqrt(variance))
	return Interval{
		Low:  min(p+half, 1).Slowdown(),
		High: max(p-half, curves.Floor).Slowdown(),
	}
}

// contentiousnessDoubt returns the standard deviation of the co-runners' total
// bandwidth, relative, and of their read share. Their errors are taken as
// independent.
func contentiousnessDoubt(corunners []*Application) (bandwidth, readShare float64) {
	var total, squares, shares float64
	for _, c := range corunners {
		traffic := float64(c.corunner.Total())
		total += traffic
		squares += traffic * c.uncertainty.bandwidth * traffic * c.uncertainty.bandwidth
		shares += traffic * c.uncertainty.readShare * traffic * c.uncertainty.readShare
	}
	if total == 0 {
		return 0, 0
	}
	return math.Sqrt(squares) / total / normal90, math.Sqrt(shares) / total / normal90
}

// newDoubt collects the doubt in a reading of the target's curves. read returns the
// performance at a pressure, residual is that of the curves, and modelTraffic is the
// relative error of the pressure that the method leaves.
func newDoubt(
	target *Application, corunners []*Application, pressure units.Traffic,
	performance units.NormalizedPerformance, residual, modelTraffic float64,
	read func(units.Traffic) units.NormalizedPerformance,
) doubt {
	bandwidth, readShare := contentiousnessDoubt(corunners)
	bandwidth = math.Hypot(bandwidth, modelTraffic)
	switch {
	case len(corunners) == 0:
		return doubt{}
	case pressure.Total() == 0:
		return doubt{fit: max(residual, target.noise), model: baseError}
	}
	share, _ := pressure.ReadShare()
	at := func(share float64) units.NormalizedPerformance {
		return read(units.TrafficOf(pressure.Total(), units.ReadShare(min(max(share, 0), 1))))
	}
	return doubt{
		fit:       max(residual, target.noise),
		pressure:  halfSpan(read(pressure.Scale(1-min(bandwidth, 1))), read(pressure.Scale(1+bandwidth))),
		readShare: math.Hypot(halfSpan(at(float64(share)-readShare), at(float64(share)+readShare)), target.heldDoubt(float64(share), at)),
		model:     math.Hypot(baseError, depthError*(1-float64(performance))),
		transfer:  target.lossDoubt * (1 - float64(performance)),
	}
}

// heldDoubt returns the standard deviation by a read share outside the measured ones,
// where the nearest curve is read: as far as the target's performance would go on
// changing, or the performance lost per unit of read share if that is more.
func (a *Application) heldDoubt(share float64, at func(share float64) units.NormalizedPerformance) float64 {
	b := a.family.Bracket(units.ReadShare(share))
	if !b.Held {
		return 0
	}
	nearest, _ := a.family.Member(b.Lower)
	first, _ := a.family.Member(0)
	last, _ := a.family.Member(a.family.Len() - 1)
	slope := 1 - float64(at(float64(nearest)))
	if first < last {
		slope = max(slope, math.Abs(float64(at(float64(first))-at(float64(last))))/float64(last-first))
	}
	return slope * math.Abs(share-float64(nearest))
}

func halfSpan(a, b units.NormalizedPerformance) float64 { return math.Abs(float64(a-b)) / 2 }

// doubt returns the doubt in the performance of the target, whose curves are read as given
// at mean traffic.
func (s *curveSolver) doubt(read outcome) doubt {
	target, p := s.apps[0], s.performance[0]
	traffic := trafficError
	if !target.achievedKnown {
		traffic = undisturbedTrafficError
	}
	residual := math.Max(
		target.responses[read.bracket.Lower].performance.Residual(),
		target.responses[read.bracket.Upper].performance.Residual(),
	)
	d := newDoubt(target, s.apps[1:], s.traffic(0), p, residual, traffic,
		func(t units.Traffic) units.NormalizedPerformance { return target.respond(t, s.capacity).performance })
	if len(s.apps) > 2 {
		d.model = math.Hypot(d.model, groupDepthError*(1-float64(p)))
	}
	d.extrapolation = extrapolationError * s.extrapolated
	return d
}

// doubt returns the doubt in a reading by a method of the paper.
func (m paperMethod) doubt(target *Application, corunners []*Application, pressure units.Traffic, read answer) doubt {
	family := target.paper.family(m.family())
	var residual float64
	for i := range family.Len() {
		_, curve := family.Member(i)
		residual = max(residual, curve.Residual())
	}
	return newDoubt(target, corunners, pressure, read.performance, residual, undisturbedTrafficError,
		func(t units.Traffic) units.NormalizedPerformance { return m.read(target, t).performance })
}

// Errors of the model of the memory, as standard deviations. Those by a factor of the
// misfit scale with how well the model says points of the machine's curves that it was not
// fitted to (Calibration), and were chosen on the platforms of docs/results/simulated.md.
// TestIntervalCoverage checks them.
const (
	// modelBaseError is the repeatability of a run.
	modelBaseError = 0.0045
	// modelTrafficError is that of the modeled traffic, relative.
	modelTrafficError = 0.01
	// modelSpread is the error per unit of lost performance and of the square root of the
	// misfit. It increases more slowly where more than modelDeep is lost, because the
	// capacity of the memory then says what is left.
	modelSpread = 2.35
	modelDeep   = 0.25
	// modelCapacityError is that of the capacity, relative, per square root of the misfit.
	modelCapacityError = 0.22
	// modelGroup is the power of the number of co-runners that both increase with: no
	// single interferer measured them.
	modelGroup = 0.33
	// modelBeyondError is per unit of performance lost beyond the most that the
	// target was seen to lose.
	modelBeyondError = 0.4
	// modelPoints is the number of points above which the error of a loop decreases.
	modelPoints = 4
)

// doubt returns the doubt in the performance of the target.
func (s *modelSolver) doubt(others units.Traffic) doubt {
	if len(s.shares) > 0 {
		return s.sharedDoubt()
	}
	target := s.apps[0]
	p := s.performance[0]
	capacity := capacityOf(s.apps)
	d := newDoubt(target, s.apps[1:], others, p, 0, modelTrafficError,
		func(t units.Traffic) units.NormalizedPerformance { return target.respond(t, capacity).measured })
	points := 0
	for i := range target.responses {
		points += len(target.responses[i].points)
	}
	few := math.Sqrt(modelPoints / float64(max(points, 1)))
	d.fit = target.calibrated.residual * min(few, 1)
	lost := float64(1 - p)
	scale := math.Sqrt(target.calibrated.misfit) * math.Pow(float64(len(s.apps)-1), modelGroup)
	d.model = math.Hypot(modelBaseError, scale*modelSpread*lost/(1+lost/modelDeep))
	d.capacity = scale * modelCapacityError * s.capacityEffect()
	d.extrapolation = modelBeyondError * max(target.lowest()-float64(p), 0)
	return d
}

// capacityEffect returns the performance that the target loses per unit of capacity,
// relative, everyone at the mean over the run. It is high where the memory is nearly full.
func (s *modelSolver) capacityEffect() float64 {
	const less = 1.01
	for i, a := range s.apps {
		s.members[i] = a.memberIn(s.model, -1, s.atHome(i))
	}
	solution := make([]units.NormalizedPerformance, len(s.apps))
	s.model.Solve(s.members, solution)
	before := solution[0]
	s.model.Narrower(less).Solve(s.members, solution)
	return float64(before-solution[0]) / (less - 1)
}
