package predictor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// predictDefault predicts by the model of the memory that all applications are
// calibrated to, else by their curves.
func predictDefault(target *Application, corunners []*Application, o Options) Prediction {
	p := newPrediction(target, corunners, o.Method)
	// Where the iteration does not converge, its end depends on the order of the
	// applications; in a fixed one, it does not depend on the caller's.
	corunners = slices.SortedStableFunc(slices.Values(corunners), byName)
	apps := make([]*Application, 0, len(corunners)+1)
	apps = append(append(apps, target), corunners...)
	model := sharedModel(apps)
	if model != nil && len(corunners) > 0 && p.predictByModel(apps, model, o) {
		return p
	}
	if model != nil && len(corunners) > 0 {
		p.warn("the model of the memory has no solution for these applications: predicted from their curves")
	}
	p.predictByCurves(apps, o)
	return p
}

// byName orders applications by name, those of one name by traffic, and then by place.
func byName(a, b *Application) int {
	return cmp.Or(
		cmp.Compare(a.name, b.name),
		cmp.Compare(a.corunner.Read, b.corunner.Read),
		cmp.Compare(a.corunner.Write, b.corunner.Write),
		cmp.Compare(a.in, b.in),
	)
}

// predictByCurves fills in a prediction by the curves of apps, target first.
func (p *Prediction) predictByCurves(apps []*Application, o Options) {
	var s curveSolver
	s.reset(apps, true)
	mean := s.solveInPhases(o.Explain)
	p.Basis = Curves
	p.warnDefault(apps, mean)
	p.warnBeyond(apps[0], s.furthest)
	if !s.solved {
		p.warn(fmt.Sprintf("no convergence after %d steps: the last one is given", maxIterations))
	}
	p.setAll(apps, func(i int) units.NormalizedPerformance { return s.hereOf(i, s.performance[i]) })
	p.Interval = s.doubt(mean).interval(p.NormalizedPerformance)
	if o.Explain {
		p.Explanation = s.explain(mean)
	}
}

// predictByModel fills in a prediction by the model of the memory that apps, target
// first, are calibrated to. It returns false, and fills nothing in, where that has no
// solution.
func (p *Prediction) predictByModel(apps []*Application, model *memory.Model, o Options) bool {
	var s modelSolver
	s.reset(apps, model, true)
	if !o.Together || s.sharesCache() || !s.runTogether() {
		s.solve()
	}
	if s.unsolved {
		return false
	}
	others := s.traffic(0)
	read := apps[0].respond(others, capacityOf(apps))
	p.Basis = MemoryModel
	p.warnDefault(apps, read)
	p.warnBeyond(apps[0], read)
	p.setAll(apps, func(i int) units.NormalizedPerformance { return s.performance[i] })
	p.Interval = s.doubt(others).interval(p.NormalizedPerformance)
	p.coverSharedLink(apps)
	p.warnFarther(apps)
	if s.sharesCache() && s.caches > 1 {
		p.warnPlaces(apps, s.caches)
	}
	if o.Explain {
		p.Explanation = s.explain(read)
	}
	return true
}

// warnPlaces says of whom it is not known which of several caches they use.
func (p *Prediction) warnPlaces(apps []*Application, caches int) {
	var unknown []string
	for _, a := range apps {
		if a.in.Len() != 1 && !slices.Contains(unknown, a.name) {
			unknown = append(unknown, a.name)
		}
	}
	const mean = "the slowdown is the mean over their placements, whose spread widens the interval"
	switch {
	case !slices.ContainsFunc(apps, func(a *Application) bool { return a.in != AnyCache }):
		p.warn(fmt.Sprintf("which of %d shared caches each application will use is unknown: %s", caches, mean))
	case len(unknown) > 0:
		p.warn(fmt.Sprintf("which of several shared caches %s will use is unknown: %s", strings.Join(unknown, ", "), mean))
	}
}

// coverSharedLink extends the interval to what one link for all co-runners would cause,
// where nobody knows whether they share one.
func (p *Prediction) coverSharedLink(apps []*Application) {
	apps, unknown := sharing(apps)
	if !unknown {
		return
	}
	var s modelSolver
	s.reset(apps, sharedModel(apps), true)
	s.solve()
	if s.unsolved {
		return
	}
	other := s.doubt(s.traffic(0)).interval(s.performance[0])
	p.Interval = Interval{Low: min(p.Interval.Low, other.Low), High: max(p.Interval.High, other.High)}
	p.warn("whether co-runners share one link to the memory is unknown: each is taken to have one of its own, and the " +
		"interval holds both; declare it as spec.link of the machine")
}

// setAll sets the performances of the target and of its co-runners.
func (p *Prediction) setAll(apps []*Application, performance func(i int) units.NormalizedPerformance) {
	p.set(performance(0))
	p.setCorunners(apps, performance)
}

// setCorunners sets the performances of the co-runners alone.
func (p *Prediction) setCorunners(apps []*Application, performance func(i int) units.NormalizedPerformance) {
	for i, c := range apps[1:] {
		if reason := unpredictable(c, apps[0]); reason != "" {
			p.warn(reason)
			continue
		}
		p.CorunnerSlowdowns[c.name] = performance(i + 1).Slowdown()
	}
}

// warnDefault says what is doubtful about a prediction of the default method, whose
// target was read as given.
func (p *Prediction) warnDefault(apps []*Application, read outcome) {
	target, corunners := apps[0], apps[1:]
	p.warn(target.warnings...)
	if len(corunners) == 0 {
		return
	}
	if !target.achievedKnown {
		p.warn(target.soloPressureWarning())
	}
	if !target.trafficKnown {
		p.warn(fmt.Sprintf("contentiousness of %s is unknown: its co-runners are taken as undisturbed by it", target.name))
	}
	for _, c := range corunners {
		if c.family == nil {
			p.warn(fmt.Sprintf("%s has no sensitivity curves: it is taken as undisturbed", c.name))
		}
	}
	share, known := read.others.ReadShare()
	if known && read.bracket.Held {
		measured, _ := target.family.Member(read.bracket.Lower)
		p.warn(fmt.Sprintf("%s: read share of %v lies outside the measured ones: the curve at %v is used", target.name, share, measured))
	}
}

// warnBeyond says that the target's curves were read beyond the highest measured
// pressure, if they were.
func (p *Prediction) warnBeyond(target *Application, read outcome) {
	if read.beyond > 0 {
		p.Extrapolated = read.beyond
		p.warn(target.beyondWarning(read))
	}
}

func (a *Application) soloPressureWarning() string {
	return fmt.Sprintf("%s: the interferer's achieved bandwidth was not recorded, so its curves are read at the co-runners' "+
		"solo bandwidth, which overstates their pressure; onboard it again", a.name)
}

// beyondWarning returns the warning about extrapolation, with the pressure to measure.
func (a *Application) beyondWarning(read outcome) string {
	measured := read.others.Total() - read.beyond
	warning := fmt.Sprintf("%s: pressure is %v above the highest measured: extrapolated", a.name, read.beyond)
	if measured <= 0 {
		return warning
	}
	level := math.Ceil(10*float64(read.others.Total()/measured)) / 10 // 1.02 is not written as 1.0
	return warning + fmt.Sprintf("; to measure it, onboard with pressure up to %.1f times as high (%d interferers)",
		level, int(math.Ceil(level*a.mostLevel)))
}

// explainReading shows the target's curves read as given.
func (a *Application) explainReading(read outcome) *Explanation {
	// Beyond the highest measured pressure the curves are read there.
	pressure := read.others.Total() - read.beyond
	result := answer{performance: read.measured}
	add := func(i int, weight float64) {
		if weight == 0 {
			return
		}
		r := a.responses[i]
		b := r.level(pressure)
		reading := newReading(r.share, r.performance, weight, b, r.performance.At(b))
		reading.ActualBytesPerSecond = read.others.Total()
		result.readings = append(result.readings, reading)
	}
	if pressure > 0 {
		add(read.bracket.Lower, 1-read.bracket.Scale)
		add(read.bracket.Upper, read.bracket.Scale)
	}
	return result.explain(read.others)
}

// explain shows the target's curves in the solution at mean traffic.
func (s *curveSolver) explain(read outcome) *Explanation {
	x := s.apps[0].explainReading(read)
	steps := []string{x.Equation}
	if read.beyond > 0 {
		steps = append(steps, fmt.Sprintf("extrapolated %v further: %.4f", read.beyond, read.performance))
	}
	if n := s.combinations(); n > 1 {
		steps = append(steps, fmt.Sprintf("mean over %d combinations of phases: %.4f", n, s.performance[0]))
	}
	if len(s.compounded) == len(s.apps) && s.compounded[0] <= s.performance[0] {
		steps = append(steps, fmt.Sprintf("product over its pairs: %.4f", s.compounded[0]))
	}
	x.Equation = strings.Join(steps, "; ")
	x.Iterations = slices.Clone(s.iterations)
	return x
}

// explain shows the target's curves read as given, and the model.
func (s *modelSolver) explain(read outcome) *Explanation {
	a := s.apps[0]
	x := a.explainReading(read)
	own := a.target.Total() * units.Bandwidth(s.rates[0])
	if len(s.shares) > 0 {
		x.Equation += "; " + s.explainShared()
		return x
	}
	share, _ := read.others.ReadShare()
	x.Equation += fmt.Sprintf("; model of the memory: %v of %v carried, P = %.4f; corrected by the curves: %.4f",
		own+read.others.Total(), s.model.Capacity(share), s.rates[0], s.performance[0])
	return x
}
