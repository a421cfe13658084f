package predictor

import (
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/predictor/cache"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"

	"gonum.org/v1/gonum/stat"
)

// Points beside an interferer in the cache count where they tell something: their standard
// error is below what most of them lose, they are more than half of those that onboarding
// takes, and one is of a working set of most of the cache. Where such a set does not stay
// in the cache with nothing beside it, others use the cache, or a virtual machine has less
// of it than it reports, and its size is not known. Fewer, noisier and smaller ones made
// predictions of real programs worse than none.
const (
	mostCacheError    = 0.05
	fewestCachePoints = 6
	// mostOfCache is the least part of the cache that one working set takes, and
	// beyondCache the size of the largest, of which nothing stays, relative to the cache.
	mostOfCache = 0.6
	beyondCache = 8
)

// UsableCachePoints returns the points that predictions use: those that are precise enough,
// or none where they are too few or all of small working sets. A point without a spread
// counts as precise.
func UsableCachePoints(points []v1alpha1.CachePoint) []v1alpha1.CachePoint {
	var usable []v1alpha1.CachePoint
	var largest int64
	for _, p := range points {
		largest = max(largest, p.FootprintBytes)
		if p.Spread == nil || *p.Spread/math.Sqrt(float64(max(p.Repeats, 1))) <= mostCacheError {
			usable = append(usable, p)
		}
	}
	fills := func(p v1alpha1.CachePoint) bool {
		return p.FootprintBytes < largest && float64(p.FootprintBytes) >= mostOfCache/beyondCache*float64(largest)
	}
	if len(usable) < fewestCachePoints || !slices.ContainsFunc(usable, fills) {
		return nil
	}
	return usable
}

// compileCache collects the points of an application that shares a cache with the
// interferer.
func (a *Application) compileCache(chosen []v1alpha1.SensitivityCurve, inCache []v1alpha1.CachePoint) {
	inCache = UsableCachePoints(inCache)
	if len(inCache) == 0 {
		return
	}
	total := func(counted *float64) units.Bandwidth {
		if counted == nil {
			return -1
		}
		return units.Bandwidth(*counted)
	}
	var points []cache.Point
	for _, c := range chosen {
		for _, p := range c.Points {
			if p.Inferred || p.AchievedBytesPerSecond == nil || !(*p.AchievedBytesPerSecond > 0) || !(c.ReadShare > 0) {
				continue
			}
			points = append(points, cache.Point{
				ReadShare: units.ReadShare(c.ReadShare), Solo: units.Bandwidth(p.InterfererBytesPerSecond),
				Achieved: units.Bandwidth(*p.AchievedBytesPerSecond), Total: total(p.TotalBytesPerSecond),
				Performance: units.NormalizedPerformance(p.NormalizedPerformance), Interferers: int(math.Ceil(p.Level)),
			})
		}
	}
	if len(points) == 0 {
		return
	}
	for _, p := range inCache {
		points = append(points, cache.Point{
			Footprint: float64(p.FootprintBytes), ReadShare: units.ReadShare(p.ReadShare), Solo: units.Bandwidth(p.AccessedBytesPerSecond),
			Achieved: units.Bandwidth(p.AchievedBytesPerSecond), Total: total(p.TotalBytesPerSecond),
			Performance: units.NormalizedPerformance(p.NormalizedPerformance),
		})
	}
	a.besideCache = points
}

// pointsInCache returns the number of points beside an interferer in the cache.
func (a *Application) pointsInCache() int {
	n := 0
	for i := range a.besideCache {
		if a.besideCache[i].Footprint > 0 {
			n++
		}
	}
	return n
}

// cacheSource returns the data that a model of a shared cache is fitted to; false if they
// are incomplete.
func (a *Application) cacheSource() (cache.Source, bool) {
	if a.besideCache == nil || !a.trafficKnown || a.apart() || a.lossDoubt > 0 {
		return cache.Source{}, false
	}
	return cache.Source{Alone: a.target, Points: a.besideCache}, true
}

// LastLevel describes the last-level caches that cores share.
type LastLevel struct {
	// Bytes is the size of one; 0 without any.
	Bytes int64
	// Count is how many alike are before one memory, 1 or more. An application may use
	// any of them, each as likely, unless In says in which it runs.
	Count int
}

// CalibrateCache is Calibrate for applications that were measured in one last-level cache,
// shared with the interferer: it fits a model of the cache and of the memory behind it. It
// fails with memory.ErrNotEnough if too few of them were measured beside an interferer in
// the cache. link is that of Calibrate: the model takes co-runners to be as near the memory as
// a target, and predictions say so where they are not.
func CalibrateCache(apps []*Application, caches LastLevel, link memory.Link) (*Calibration, error) {
	var sources []cache.Source
	var others []memory.Source // without points in the cache
	var ratios []float64       // of those that were measured in both roles
	for _, a := range apps {
		if s, ok := a.cacheSource(); ok {
			sources = append(sources, s)
			if a.distanceKnown {
				ratios = append(ratios, a.slowerAway)
			}
		} else if s, ok := a.memorySource(); ok {
			others = append(others, s)
		}
	}
	lastLevel, model, err := cache.Fit(sources, float64(caches.Bytes))
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	return &Calibration{
		model: model, misfit: max(lasting(leaveOut(model, others)), unknownMisfit),
		lastLevel: lastLevel, caches: max(caches.Count, 1), farther: 2*len(ratios) > len(sources) && farther(ratios, link),
		fitted: lastLevel.Fitted(),
	}, nil
}

// farther reports whether co-runners are farther from the memory than a target: as a machine
// says, or else by the solo times of some applications in both roles.
func farther(ratios []float64, link memory.Link) bool {
	if link != memory.LinkUnknown {
		return link.Distant()
	}
	return stats.Median(ratios) > distantRatio
}

// SharesCache reports whether a is predicted by a model of a cache that it shares, which
// tables of it do not know.
func (a *Application) SharesCache() bool { return a.calibrated != nil && a.calibrated.cached != nil }

// LastLevelCache returns the size in bytes of the cache that all share; false where none is
// modeled.
func (c *Calibration) LastLevelCache() (float64, bool) {
	if c.lastLevel == nil {
		return 0, false
	}
	return c.lastLevel.Bytes(), true
}

// applyCache returns a copy of a that is predicted by the model of the cache; false where
// it was not measured beside an interferer in the cache.
func (c *Calibration) applyCache(a *Application) (*Application, bool, error) {
	if c.lastLevel == nil {
		return nil, false, nil
	}
	source, ok := a.cacheSource()
	if !ok {
		return nil, false, nil
	}
	fitted, residual := c.lastLevel.FitApplication(c.model, source)
	if !(residual <= max(worstFit, 2*a.noise)) {
		return nil, true, fmt.Errorf("%s: %w: its points lie %.1f points off", a.name, ErrNotCalibrated, 100*residual)
	}
	applied := *a
	applied.calibrated = &calibrated{model: c.model, lastLevel: c.lastLevel, caches: c.caches, farther: c.farther, cached: fitted, residual: residual}
	return &applied, true, nil
}

// sharesCache reports whether a model of a shared cache describes one of the applications.
func (s *modelSolver) sharesCache() bool {
	for _, a := range s.apps {
		if a.SharesCache() {
			return true
		}
	}
	return false
}

// solveShared sets the performances of applications that share a cache. They are taken at
// their means over the run, and where there are several caches, at their means over the
// placements. What is predicted is the mean over worlds that are about as likely: the points
// of an application leave several descriptions of it, and some applications lose nearly
// nothing in a cache and nearly all in one that is a little smaller.
func (s *modelSolver) solveShared() {
	s.sharing = resized(s.sharing, len(s.apps))
	for i, a := range s.apps {
		s.sharing[i] = cache.Member{}
		if c := a.calibrated; c != nil && c.cached != nil {
			s.lastLevel, s.caches = c.lastLevel, c.caches
			continue
		}
		s.sharing[i].Stream, s.sharing[i].Alone = a.memberIn(s.model, -1, s.atHome(i)), a.corunner
		if s.atHome(i) {
			s.sharing[i].Alone = a.target
		}
	}
	s.choosePlaceable()
	s.shares, s.inWorld = resized(s.shares, len(s.apps)), resized(s.inWorld, len(s.apps))
	clear(s.shares)
	for w, size := range worldSizes {
		for i, a := range s.apps {
			if c := a.calibrated; c != nil && c.cached != nil {
				s.sharing[i].Application = c.cached[w%len(c.cached)]
			}
		}
		spread, solved := s.averagePlacements(s.lastLevel.Resized(size), s.inWorld)
		if w == 0 {
			// In the others the last step serves.
			s.placementSpread, s.unsolved = spread, !solved
		}
		for i := range s.shares {
			s.shares[i] = s.shares[i].Add(s.inWorld[i], 1.0/float64(len(worldSizes)))
		}
		s.byWorld[w] = s.inWorld[0].Performance
	}
	s.rates = resized(s.rates, len(s.apps))
	for i, a := range s.apps {
		s.rates[i] = s.shares[i].Performance
		lowest := units.NormalizedPerformance(curves.Floor)
		if len(s.apps) == 2 {
			lowest = max(lowest, a.lowestBeside(s.apps[1-i]))
		}
		s.performance[i] = min(max(units.NormalizedPerformance(s.rates[i]), lowest), 1)
	}
}

// evidenceOfCache is how far a prediction may lie below the lowest performance that was
// measured, with one co-runner that causes no more traffic than the interferer did. On the
// simulated platform with a shared cache no such pair is below it.
const evidenceOfCache = 0.02

// lowestBeside returns the performance that a keeps beside one other application; 0 where
// the points of a do not tell. An interferer that streams or keeps working sets in the cache
// presses as hard as one co-runner of as much traffic can.
func (a *Application) lowestBeside(other *Application) units.NormalizedPerformance {
	if a.besideCache == nil || other.target.Scale(other.peak()).Total() > a.HighestPressure() {
		return 0
	}
	lowest := units.NormalizedPerformance(1)
	for i := range a.besideCache {
		lowest = min(lowest, a.besideCache[i].Performance)
	}
	return lowest - evidenceOfCache
}

// worldSizes are the sizes of the cache in each world, relative; each also takes another
// description of each application, as far as there are.
var worldSizes = [cache.MostAlternatives]float64{1, 1 - sharedSizeError, 1 + sharedSizeError}

// sharedTraffic returns what the others transfer beside application i.
func (s *modelSolver) sharedTraffic(i int) units.Traffic {
	var sum units.Traffic
	for j := range s.shares {
		if j != i {
			sum = sum.Add(s.shares[j].Traffic)
		}
	}
	return sum
}

// Errors of the model of a shared cache, as standard deviations.
const (
	// sharedBaseError is the repeatability of a run.
	sharedBaseError = 0.01
	// sharedSizeError is that of what everyone holds, relative. Where little more of the
	// cache makes an application so fast that it keeps its lines, it matters much.
	sharedSizeError = 0.06
	// sharedFitError is per unit of the standard deviation of the application's points
	// about the model, where at least sharedDeep is lost.
	sharedFitError = 0.6
	sharedDeep     = 0.05
	// sharedSpread is the error per unit of lost performance. It increases more slowly
	// where more than modelDeep is lost.
	sharedSpread = 0.18
)

// sharedDoubt returns the doubt in the performance of a target that shares a cache.
func (s *modelSolver) sharedDoubt() doubt {
	target := s.apps[0]
	lost := float64(1 - s.performance[0])
	spread := sharedSpread * math.Pow(float64(len(s.apps)-1), modelGroup)
	d := doubt{
		model:    math.Hypot(sharedBaseError, spread*lost/(1+lost/modelDeep)),
		pressure: stat.StdDev(s.byWorld[:], nil),
		transfer: target.lossDoubt * lost,

		placement: s.placementSpread,
	}
	if c := target.calibrated; c != nil {
		d.fit = sharedFitError * c.residual * min(lost/sharedDeep, 1)
	}
	return d
}

// warnFarther says that a link is left out.
func (p *Prediction) warnFarther(apps []*Application) {
	if slices.ContainsFunc(apps, func(a *Application) bool { return a.calibrated != nil && a.calibrated.farther }) {
		p.warn("co-runners are farther from the memory than the target: the model of the shared cache leaves their link out, " +
			"and takes them to be as near")
	}
}

// explainShared says how much of what the target loses is cache, and how much bandwidth.
func (s *modelSolver) explainShared() string {
	share := s.shares[0]
	if c := s.apps[0].calibrated; c == nil || c.cached == nil {
		return fmt.Sprintf("the shared cache is taken from others only; bandwidth: %.4f", share.Performance) + s.explainBound()
	}
	text := fmt.Sprintf("the target holds %s of a cache of %s; by bandwidth alone %.4f, with the cache that it loses %.4f",
		bytesText(share.Held), bytesText(s.lastLevel.Bytes()), share.Kept, share.Performance)
	switch {
	case s.caches <= 1:
	case !slices.ContainsFunc(s.apps, func(a *Application) bool { return a.in.Len() != 1 }):
		text += fmt.Sprintf("; it is known who uses which of %d caches", s.caches)
	default:
		text += fmt.Sprintf("; means over placements in %d caches, standard deviation %.4f", s.caches, s.placementSpread)
	}
	return text + s.explainBound()
}

// explainBound says where the prediction differs from what the model says.
func (s *modelSolver) explainBound() string {
	p := s.performance[0]
	switch bounded := units.NormalizedPerformance(s.rates[0]); {
	case p > bounded:
		return fmt.Sprintf("; no lower than beside any interferer: %.4f", p)
	case p < bounded:
		return fmt.Sprintf("; at most undisturbed: %.4f", p)
	}
	return ""
}

// bytesText returns a size for people.
func bytesText(bytes float64) string {
	const mebi = 1 << 20
	return fmt.Sprintf("%.2f MiB", bytes/mebi)
}
