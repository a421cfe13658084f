package predictor

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/internal/parallel"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/predictor/cache"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// Calibration is a model of the memory of one machine, fitted to the profiles measured
// on it. It is immutable and safe for concurrent use.
type Calibration struct {
	model *memory.Model
	// shared is the model if all co-runners share one link; nil where it is known whether
	// they do.
	shared *memory.Model
	// misfit is the standard deviation of points that the model was not fitted to about
	// what it says of them, without their noise. With lastLevel it is that of applications
	// without points in the cache.
	misfit float64
	// lastLevel is each of so many caches before the memory that applications share; nil
	// without one.
	lastLevel *cache.Model
	caches    int
	// farther is true where co-runners are farther from the memory than a target, which the
	// model of caches does not know.
	farther bool
	// fitted is how many applications the constants of the model were fitted to.
	fitted int
}

// Fitted returns how many applications the constants of the model were fitted to; those
// chosen from more stand for all.
func (c *Calibration) Fitted() int { return c.fitted }

// distantRatio is the median solo time as a co-runner ÷ as a target above which
// co-runners count as distant from the memory.
const distantRatio = 1.03

// Calibrate fits a model to those of apps that were measured on the machine itself and
// have a known contentiousness and curves with achieved bandwidths. link says how
// co-runners reach the memory. Where it is unknown and they are distant, they are taken to
// have a link each, and intervals also hold what one link for all would cause. Calibrate
// fails with memory.ErrNotEnough if the applications are too few, and with ErrNotDescribed
// if the model is wrong about points that it was not fitted to.
func Calibrate(apps []*Application, link memory.Link) (*Calibration, error) {
	var sources []memory.Source
	var ratios []float64
	for _, a := range apps {
		if source, ok := a.memorySource(); ok {
			sources = append(sources, source)
			ratios = append(ratios, a.slowerAway)
		}
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("calibration: %w", memory.ErrNotEnough)
	}
	slices.Sort(ratios)
	undeclared := link == memory.LinkUnknown && ratios[len(ratios)/2] > distantRatio
	if undeclared {
		link = memory.LinkOwn
	}
	model, err := memory.Fit(sources, link)
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	misfits := leaveOut(model, sources)
	if off := typical(misfits); off > worstFit {
		return nil, fmt.Errorf("calibration: %w: points that were left out of the fit lie %.1f points off", ErrNotDescribed, 100*off)
	}
	c := &Calibration{model: model, misfit: cmp.Or(lasting(misfits), unknownMisfit), fitted: min(len(sources), memory.MostFitted)}
	if undeclared {
		c.shared = model.ShareLink()
	}
	return c, nil
}

// unknownMisfit is assumed where no points are left to check a fit with. Simulated
// memories have 0.005 to 0.024.
const unknownMisfit = 0.02

// leastMisfit is the part of the difference between points and the model that counts as
// lasting, whatever their noise.
const leastMisfit = 0.3

// leaveOut returns the misfit of each source.
func leaveOut(m *memory.Model, sources []memory.Source) []misfit {
	all := make([]misfit, len(sources))
	parallel.Each(len(sources), func(i int) { all[i] = leftOut(m, sources[i]) })
	return all
}

// typical returns the lasting misfit of the median application: one that behaves as no
// other does not decide about a machine.
func typical(all []misfit) float64 {
	each := make([]float64, len(all))
	for i := range all {
		each[i] = lasting(all[i : i+1])
	}
	return stats.Median(each)
}

// lasting returns the difference of a model from points that no loop was fitted to, without
// their noise.
func lasting(all []misfit) float64 {
	var sum misfit
	for _, one := range all {
		sum.squares, sum.points = sum.squares+one.squares, sum.points+one.points
		sum.noise, sum.differences = sum.noise+one.noise, sum.differences+one.differences
	}
	if sum.points == 0 {
		return 0
	}
	squares := sum.squares / sum.points
	return math.Sqrt(max(squares-sum.noise/max(sum.differences, 1), leastMisfit*leastMisfit*squares))
}

// misfit holds the sum of squared differences of points from a model, and that of their
// noise, with how many each sum has.
type misfit struct{ squares, points, noise, differences float64 }

// leftOut leaves every other level of each curve out, and fits the loop of the
// application to the rest.
func leftOut(m *memory.Model, s memory.Source) (sum misfit) {
	kept, left := s, s
	kept.Points, left.Points = nil, nil
	// Every other level of a curve is left out; where each curve has one level, every other
	// curve.
	oneEach := true
	for i := 1; i < len(s.Points); i++ {
		oneEach = oneEach && s.Points[i].ReadShare != s.Points[i-1].ReadShare
	}
	for i, place := 0, 0; i < len(s.Points); i, place = i+1, place+1 {
		if !oneEach && i > 0 && s.Points[i].ReadShare != s.Points[i-1].ReadShare {
			place = 0
		}
		if place%2 == 0 {
			left.Points = append(left.Points, s.Points[i])
		} else {
			kept.Points = append(kept.Points, s.Points[i])
		}
	}
	if len(kept.Points) == 0 {
		return misfit{}
	}
	loop, _ := m.FitLoop(kept)
	modeled := m.Beside(s, loop)
	off := make([]float64, len(s.Points))
	for i, p := range s.Points {
		off[i] = float64(p.Performance) - float64(modeled[i])
	}
	for i, p := range m.Beside(left, loop) {
		d := float64(left.Points[i].Performance - p)
		sum.squares, sum.points = sum.squares+d*d, sum.points+1
	}
	for i := 1; i+1 < len(off); i++ {
		if s.Points[i-1].ReadShare == s.Points[i+1].ReadShare {
			d := off[i] - (off[i-1]+off[i+1])/2 // its variance is 3/2 of that of noise
			sum.noise, sum.differences = sum.noise+d*d/1.5, sum.differences+1
		}
	}
	return sum
}

// worstFit is the standard deviation of the points about the model above which an
// application is not calibrated. A machine is not where the points that were left out of
// its median application lie as far off.
const worstFit = 0.15

// ErrNotDescribed is returned for a machine whose memory does not behave as the model
// says.
var ErrNotDescribed = errors.New("the model does not describe the memory of this machine")

// ErrNotCalibrated is returned for an application that a calibration does not fit.
var ErrNotCalibrated = errors.New("the model of the memory does not fit")

// Apply returns a copy of a that is predicted by the model beside others of the same
// calibration. An application without curves counts as undisturbed. Apply fails with
// ErrNotCalibrated if the profile lacks required data or the model does not fit its
// curves.
func (c *Calibration) Apply(a *Application) (*Application, error) {
	calibrated := *a
	if a.family == nil {
		calibrated.calibrated = a.undisturbed(c.model)
		if c.shared != nil {
			calibrated.calibrated.shared = a.undisturbed(c.shared)
		}
		return &calibrated, nil
	}
	if cached, ok, err := c.applyCache(a); ok {
		return cached, err
	}
	source, missing := a.source()
	if missing != "" {
		return nil, fmt.Errorf("%s: %w: %s", a.name, ErrNotCalibrated, missing)
	}
	loop, residual := c.model.FitLoop(source)
	if !(residual <= max(worstFit, 2*a.noise)) {
		return nil, fmt.Errorf("%s: %w: its curves lie %.1f points off", a.name, ErrNotCalibrated, 100*residual)
	}
	calibrated.calibrated = a.calibrate(c.model, source, loop)
	calibrated.calibrated.misfit, calibrated.calibrated.farther = c.misfit, c.farther
	if c.shared != nil {
		calibrated.calibrated.shared = a.calibrate(c.shared, source, loop)
		calibrated.calibrated.shared.misfit = c.misfit
	}
	return &calibrated, nil
}

// Calibrated reports whether a Calibration was applied to a.
func (a *Application) Calibrated() bool { return a.calibrated != nil }

// source returns the data of the application that a model is fitted to, or what is missing
// of them.
func (a *Application) source() (s memory.Source, missing string) {
	switch {
	case a.apart():
		return s, "its curves were measured without its communication, with less traffic"
	case a.family == nil:
		return s, "it has no curves"
	case a.lossDoubt > 0:
		return s, "its curves were transferred from another machine"
	case !a.achievedKnown:
		return s, "some points of its curves lack the bandwidth that the interferer achieved: onboard it again"
	case !a.trafficKnown:
		return s, "its contentiousness is not known: onboard it again"
	}
	switch {
	case a.silent():
		s.Phases = []memory.Phase{{TimeShare: 1, Alone: a.loopTraffic()}}
	case !(a.target.Total() > 0) || !(a.corunner.Total() > 0):
		return s, "it has traffic in one of its roles only, target or co-runner: onboard it again"
	default:
		s.Phases = a.memoryPhases()
		if a.slowerAway != 1 || a.target != a.corunner {
			s.Home = a.target
		}
	}
	for i := range a.responses {
		s.Points = append(s.Points, a.responses[i].points...)
	}
	if len(s.Points) == 0 {
		return s, "no point of its curves was measured beside an interferer that achieved any bandwidth"
	}
	return s, ""
}

// memorySource is source for the fit of a model, which an application without traffic tells
// nothing about.
func (a *Application) memorySource() (memory.Source, bool) {
	s, missing := a.source()
	return s, missing == "" && !a.silent()
}

// Fittable reports whether Calibrate fits its model to a.
func (a *Application) Fittable() bool {
	_, ok := a.memorySource()
	return ok
}

// silent reports whether the application is known to cause no traffic.
func (a *Application) silent() bool {
	return a.trafficKnown && a.quiet()
}

// leastTraffic is what a silent application is assumed to read, relative to the highest
// traffic of the interferer: too little to slow anyone down, and enough to fit a loop.
const leastTraffic = 1e-3

// loopTraffic returns the traffic alone that the loop of a is made of.
func (a *Application) loopTraffic() units.Traffic {
	if !a.silent() {
		return a.corunner
	}
	var most units.Bandwidth
	for i := range a.responses {
		_, high := a.responses[i].performance.Domain()
		most = max(most, high)
	}
	return units.Traffic{Read: most * leastTraffic}
}

// memoryPhases returns the phases as a co-runner.
func (a *Application) memoryPhases() []memory.Phase {
	phases := make([]memory.Phase, len(a.phases))
	for i, p := range a.phases {
		phases[i] = memory.Phase{TimeShare: p.timeShare, Alone: p.of(a.corunner)}
	}
	return phases
}

// calibrated is the state of an application in a model.
type calibrated struct {
	model *memory.Model
	// home and away are its phases as a target and as a co-runner, steady ones its
	// mean over the run.
	home, away             []memory.Member
	steadyHome, steadyAway memory.Member
	homeShares             []float64    // of the time as a target
	corrections            []correction // by response; nil without curves
	// residual is the standard deviation of the measured points about what is
	// predicted beside the interferer.
	residual float64
	// misfit is that of the Calibration.
	misfit float64
	// shared is the state if all co-runners share one link; nil where it is known
	// whether they do.
	shared *calibrated
	// cached are descriptions of the application before a last-level cache that is shared,
	// the best first; nil without one. The fields from home to corrections are then unset.
	cached    []*cache.Application
	lastLevel *cache.Model
	caches    int
	farther   bool // that of the Calibration
}

// sharing returns copies of apps in the models in which all co-runners share one link;
// false where it is known whether they do, or there are none to share it.
func sharing(apps []*Application) ([]*Application, bool) {
	const fewest = 3 // the target, and two who share
	if len(apps) < fewest {
		return nil, false
	}
	all := make([]*Application, len(apps))
	for i, a := range apps {
		all[i] = a
		if a.calibrated == nil {
			continue // undisturbed in any model
		}
		if a.calibrated.shared == nil {
			return nil, false
		}
		other := *a
		other.calibrated = a.calibrated.shared
		all[i] = &other
	}
	return all, true
}

func (a *Application) calibrate(m *memory.Model, s memory.Source, l memory.Loop) *calibrated {
	c := &calibrated{model: m}
	roles := m.Place(s.Phases, s.Home, l)
	c.home, c.away, c.homeShares = roles.Home, roles.Away, roles.HomeShares
	steady := m.Place([]memory.Phase{{TimeShare: 1, Alone: a.loopTraffic()}}, s.Home, l)
	c.steadyHome, c.steadyAway = steady.Home[0], steady.Away[0]
	c.corrections, c.residual = a.correctionsTo(m.Beside(s, l))
	return c
}

// undisturbed returns an application that keeps its traffic whatever the delay.
func (a *Application) undisturbed(m *memory.Model) *calibrated {
	c := &calibrated{model: m, steadyHome: m.Constant(a.target), steadyAway: m.Constant(a.corunner)}
	for i := range a.phases {
		c.homeShares = append(c.homeShares, a.phases[i].timeShare)
		c.home = append(c.home, m.Constant(a.phases[i].of(a.target)))
		c.away = append(c.away, m.Constant(a.phases[i].of(a.corunner)))
	}
	return c
}

// member returns the application in a phase; phase −1 is its mean over the run.
func (c *calibrated) member(phase int, home bool) *memory.Member {
	switch {
	case phase < 0 && home:
		return &c.steadyHome
	case phase < 0:
		return &c.steadyAway
	case home:
		return &c.home[phase]
	default:
		return &c.away[phase]
	}
}

// memberIn returns the application in a phase, as member does. One without curves
// that no calibration was applied to keeps its traffic whatever the delay.
func (a *Application) memberIn(m *memory.Model, phase int, home bool) memory.Member {
	if a.calibrated != nil {
		return *a.calibrated.member(phase, home)
	}
	traffic := a.corunner
	if home {
		traffic = a.target
	}
	if phase >= 0 {
		traffic = a.phases[phase].of(traffic)
	}
	return m.Constant(traffic)
}

// timeShare returns the share of a phase of the run alone.
func (a *Application) timeShare(phase int, home bool) float64 {
	if home && a.calibrated != nil {
		return a.calibrated.homeShares[phase]
	}
	return a.phases[phase].timeShare
}

// sharedModel returns the model that all of apps with curves are calibrated to; nil
// where there is none.
func sharedModel(apps []*Application) *memory.Model {
	var model *memory.Model
	for _, a := range apps {
		switch {
		case a.calibrated == nil && a.family == nil:
			continue // undisturbed in any model
		case a.calibrated == nil || model != nil && a.calibrated.model != model:
			return nil
		}
		model = a.calibrated.model
	}
	return model
}

// correction is the difference between a measured curve and the model:
// ln(measured ÷ modeled) performance, by modeled performance.
type correction []corrected // modeled falls, from 1

// corrected is a modeled performance and the logarithm of what corrects it.
type corrected struct{ modeled, factor float64 }

// at returns the factor, by linear interpolation; beyond the measured performance
// it stays.
func (c correction) at(p float64) float64 {
	last := c[0]
	for _, next := range c[1:] {
		if p >= next.modeled {
			part := (last.modeled - p) / (last.modeled - next.modeled)
			return last.factor + part*(next.factor-last.factor)
		}
		last = next
	}
	return last.factor
}

// leastDifference is that between two modeled performances of a correction.
const leastDifference = 1e-4

// correctionsTo returns the correction of each curve, given the modeled performance of
// its points, and the remaining standard deviation. Only the part of the difference that
// neighboring levels have in common is corrected: the rest is noise.
func (a *Application) correctionsTo(modeled []units.NormalizedPerformance) (all []correction, residual float64) {
	var squares, noise, noises, n float64
	for i := range a.responses {
		r := &a.responses[i]
		off := make([]float64, len(r.points))
		c := make(correction, 1, len(r.points)+1)
		c[0].modeled = 1
		for j, p := range r.points {
			s := float64(modeled[j])
			off[j] = float64(p.Performance) - s
			squares += off[j] * off[j]
			if s < c[len(c)-1].modeled-leastDifference {
				c = append(c, corrected{s, math.Log(float64(r.performance.At(p.Solo)) / s)})
			}
		}
		for j := 1; j+1 < len(off); j++ {
			d := off[j] - (off[j-1]+off[j+1])/2 // its variance is 3/2 of that of noise
			noise += d * d / 1.5
			noises++
		}
		n += float64(len(off))
		modeled = modeled[len(r.points):]
		all = append(all, c)
	}
	var lasting float64
	if noises > 0 && squares > 0 {
		lasting = max(1-noise/noises/(squares/n), 0)
	}
	for i := range all {
		for j := range all[i] {
			all[i][j].factor *= lasting
		}
	}
	return all, math.Sqrt(squares / n * (1 - lasting))
}

// corrected returns a modeled performance beside traffic of others, corrected by the
// curves.
func (a *Application) corrected(p float64, others units.Traffic) units.NormalizedPerformance {
	share, known := others.ReadShare()
	if !known || a.calibrated == nil || a.calibrated.corrections == nil {
		return units.NormalizedPerformance(p)
	}
	b := a.family.Bracket(share)
	factor := a.calibrated.corrections[b.Lower].at(p)*(1-b.Scale) + a.calibrated.corrections[b.Upper].at(p)*b.Scale
	return units.NormalizedPerformance(min(p*math.Exp(factor), 1))
}
