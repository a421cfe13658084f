package predictor

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/predictor/cache"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/units"
)

// Application is a compiled profile. It is immutable and safe for concurrent use.
type Application struct {
	name         string
	trafficKnown bool
	corunner     units.Traffic // alone, as a co-runner
	target       units.Traffic // alone, as a target
	slowerAway   float64       // solo time as a co-runner ÷ as a target
	// distanceKnown is true where both roles were measured.
	distanceKnown bool
	uncertainty   uncertainty
	phases        []phase         // at least one
	sequence      []segment       // of the phases; nil when unknown
	seconds       float64         // alone, as a target; 0 when unknown
	calibrated    *calibrated     // nil without a Calibration
	paper         *paperCurves    // nil without curves
	family        *curves.Family  // Monotone; nil without curves
	responses     []response      // of family, in its order
	noise         float64         // standard deviation of a measured point
	lossDoubt     float64         // relative standard deviation of the loss, where transferred
	capacity      units.Bandwidth // of the memory, where transferred; 0 when unknown
	// achievedKnown is true when every curve recorded what the interferer
	// achieved beside the application.
	achievedKnown bool
	// mostLevel is the highest level of the curves: how many interferers made it.
	mostLevel float64
	// mostBesideInterferer is the highest traffic of the interferer, alone or
	// together with the application.
	mostBesideInterferer units.Bandwidth
	warnings             []string // about the profile, when a target
	// besideCache is a beside interferers in a cache that both share, and beside
	// streams; nil unless both were measured.
	besideCache []cache.Point
	// in are the caches where it may run, anywhere is what In was asked of; nil for
	// AnyCache.
	in       Caches
	anywhere *Application
	// communication is what the profile says, load what that is for a machine; nil
	// where it says nothing.
	communication *v1alpha1.Communication
	load          *communication.Load
}

// uncertainty is that of the contentiousness of a profile.
type uncertainty struct {
	bandwidth float64 // half width of the 90% interval ÷ total
	readShare float64 // half width of the 90% interval
}

// Name returns the metadata.name of the profile.
func (a *Application) Name() string { return a.name }

// Contentiousness returns the traffic the application causes alone, as a
// co-runner; false when the profile does not know it.
func (a *Application) Contentiousness() (units.Traffic, bool) {
	return a.corunner, a.trafficKnown
}

// Compile compiles a profile of any read shares and levels. A profile without curves is
// usable for a co-runner only, one of unknown contentiousness (no source and no traffic)
// for a target only. The error joins every fault with its place in the profile.
func Compile(p *v1alpha1.ApplicationProfile) (*Application, error) {
	a := &Application{name: p.Name, slowerAway: 1}
	var faults []error
	if p.Name == "" {
		faults = append(faults, errors.New("metadata.name is empty: name the application"))
	}
	faults = append(faults, a.compileContentiousness(p.Spec.Contentiousness))
	faults = append(faults, a.compileDistance(&p.Spec))
	faults = append(faults, a.compileCommunication(p.Spec.Communication))
	phases, err := compilePhases(&p.Spec)
	if err != nil {
		faults = append(faults, err)
	}
	if a.silent() {
		phases = steady[:] // phases of no traffic are all alike
	}
	a.phases, a.seconds = phases, p.Spec.Solo.Seconds
	if err == nil {
		a.sequence = compileSequence(&p.Spec, phases)
	}
	if c := p.Spec.Transferred; c != nil {
		a.lossDoubt = c.LossUncertainty
		if c.CapacityBytesPerSecond != nil {
			a.capacity = units.Bandwidth(*c.CapacityBytesPerSecond)
		}
	}
	if len(p.Spec.Curves) > 0 {
		faults = append(faults, a.compileCurves(p.Spec.Curves, p.Spec.Cache))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("profile %q: %w", p.Name, err)
	}
	return a, nil
}

// Defaults where a profile states no uncertainty. Counters of the memory controller are
// accurate to about 5% (the paper, section 4.1).
const (
	silentBandwidthUncertainty = 0.05
	silentReadShareUncertainty = 0.02
)

func (a *Application) compileContentiousness(c v1alpha1.Contentiousness) error {
	const place = "spec.contentiousness"
	traffic := units.Traffic{
		Read:  units.Bandwidth(c.ReadBytesPerSecond),
		Write: units.Bandwidth(c.WriteBytesPerSecond),
	}
	if !traffic.Read.Valid() || !traffic.Write.Valid() {
		return fmt.Errorf("%s: read %v and write %v: want finite rates of 0 or more",
			place, c.ReadBytesPerSecond, c.WriteBytesPerSecond)
	}
	a.corunner, a.target = traffic, traffic
	a.trafficKnown = c.Source != "" || traffic.Total() > 0
	a.uncertainty = uncertainty{silentBandwidthUncertainty, silentReadShareUncertainty}
	for _, u := range []struct {
		name  string
		value *float64
		into  *float64
	}{
		{"relativeUncertainty", c.RelativeUncertainty, &a.uncertainty.bandwidth},
		{"readShareUncertainty", c.ReadShareUncertainty, &a.uncertainty.readShare},
	} {
		if u.value == nil {
			continue
		}
		if !(*u.value >= 0) || math.IsInf(*u.value, 0) {
			return fmt.Errorf("%s.%s %v: want a finite number of 0 or more", place, u.name, *u.value)
		}
		*u.into = *u.value
	}
	return nil
}

// compileDistance reads the traffic as a target and how much longer the application
// takes as a co-runner.
func (a *Application) compileDistance(spec *v1alpha1.ApplicationProfileSpec) error {
	if spec.Distance == nil {
		return nil
	}
	target := units.Traffic{
		Read:  units.Bandwidth(spec.Distance.TargetReadBytesPerSecond),
		Write: units.Bandwidth(spec.Distance.TargetWriteBytesPerSecond),
	}
	ratio := spec.Distance.CorunnerSolo.Seconds / spec.Solo.Seconds
	var faults []error
	if !target.Read.Valid() || !target.Write.Valid() {
		faults = append(faults, fmt.Errorf("target traffic %+v: want finite rates of 0 or more", target))
	}
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		faults = append(faults, fmt.Errorf("time ratio %v: want a finite number above 0", ratio))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("spec.distance: %w", err)
	}
	a.target, a.slowerAway, a.distanceKnown = target, ratio, true
	return nil
}

func (a *Application) compileCurves(profileCurves []v1alpha1.SensitivityCurve, inCache []v1alpha1.CachePoint) error {
	chosen, warnings := choosePattern(profileCurves)
	a.warnings = warnings
	sets, err := pointSets(chosen)
	if err != nil {
		return fmt.Errorf("spec.curves: %w", err)
	}
	if a.family, a.responses, err = compileResponses(chosen, sets); err != nil {
		return fmt.Errorf("spec.curves: %w", err)
	}
	if a.paper, err = newPaperCurves(chosen, sets); err != nil {
		return fmt.Errorf("spec.curves: %w", err)
	}
	for _, c := range chosen {
		for _, p := range c.Points {
			a.mostLevel = max(a.mostLevel, p.Level)
		}
	}
	a.compileCache(chosen, inCache)
	a.noise = math.Sqrt(pooledVariance(chosen) + inferredVariance(chosen))
	a.achievedKnown = !slices.ContainsFunc(a.responses, func(r response) bool { return r.knots == nil })
	a.compileObserved()
	return nil
}

const sequential = "sequential"

// choosePattern keeps the curves of one access pattern: sequential, the papers'
// interferer, or else the first one listed.
func choosePattern(all []v1alpha1.SensitivityCurve) (chosen []v1alpha1.SensitivityCurve, warnings []string) {
	byPattern := func(pattern string) []v1alpha1.SensitivityCurve {
		var some []v1alpha1.SensitivityCurve
		for _, c := range all {
			if patternOf(c) == pattern {
				some = append(some, c)
			}
		}
		return some
	}
	if chosen = byPattern(sequential); len(chosen) > 0 {
		return chosen, nil
	}
	pattern := patternOf(all[0])
	return byPattern(pattern), []string{fmt.Sprintf(
		"no curve was measured with a sequential interferer: those of the %s pattern are used", pattern)}
}

func patternOf(c v1alpha1.SensitivityCurve) string {
	if c.Pattern == "" {
		return sequential
	}
	return c.Pattern
}

// pointSets turns curves into weighted points.
func pointSets(chosen []v1alpha1.SensitivityCurve) (sets []curves.Set, err error) {
	pooled := pooledVariance(chosen)
	var faults []error
	for _, c := range chosen {
		share := units.ReadShare(c.ReadShare)
		points := make([]curves.Point, len(c.Points))
		for i, p := range c.Points {
			points[i] = curves.Point{
				Bandwidth:   units.Bandwidth(p.InterfererBytesPerSecond),
				Performance: units.NormalizedPerformance(p.NormalizedPerformance),
				Weight:      1 / variance(p, pooled),
			}
			if err := checkPoint(p); err != nil {
				faults = append(faults, fmt.Errorf("read share %v, point %d: %w", share, i, err))
			}
		}
		sets = append(sets, curves.Set{ReadShare: share, Points: points})
	}
	return sets, errors.Join(faults...)
}

func checkPoint(p v1alpha1.CurvePoint) error {
	var faults []error
	if !(p.Level > 0 && p.Level <= v1alpha1.MaxLevel) {
		faults = append(faults, fmt.Errorf("level %v: want above 0 to %v", p.Level, v1alpha1.MaxLevel))
	}
	if p.AchievedBytesPerSecond != nil && !units.Bandwidth(*p.AchievedBytesPerSecond).Valid() {
		faults = append(faults, fmt.Errorf("achievedBytesPerSecond %v: want a finite rate of 0 or more", *p.AchievedBytesPerSecond))
	}
	if p.Spread != nil && (!(*p.Spread >= 0) || math.IsInf(*p.Spread, 0)) {
		faults = append(faults, fmt.Errorf("spread %v: want a finite number of 0 or more", *p.Spread))
	}
	return errors.Join(faults...)
}

// sampledLevels are the four levels of Memgen and of the paper's estimated
// curves, as shares of the sustained bandwidth.
var sampledLevels = [...]float64{0.25, 0.5, 0.75, 1}

// sampleLevels returns the indices of the points nearest to the sampled levels,
// each once, in order of level; of two equally near the lower one.
func sampleLevels(points []v1alpha1.CurvePoint) []int {
	var indices []int
	for _, level := range sampledLevels {
		best := -1
		for i, p := range points {
			if best < 0 {
				best = i
				continue
			}
			d, least := math.Abs(p.Level-level), math.Abs(points[best].Level-level)
			const tie = 1e-9
			if d < least-tie || (d < least+tie && p.Level < points[best].Level) {
				best = i
			}
		}
		if best >= 0 && !slices.Contains(indices, best) {
			indices = append(indices, best)
		}
	}
	return indices
}
