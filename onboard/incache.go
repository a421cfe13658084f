package onboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

const (
	// inCacheShare is the time for points in the cache ÷ what the application took before.
	inCacheShare = 0.4
	// lengthsShare is the part of it for slices of two lengths.
	lengthsShare = 0.25
	// fewestInCache is the fewest readings of a point that is kept; fewestLong and mostLong
	// bound those of one in longer slices.
	fewestInCache        = 3
	fewestLong, mostLong = 4, 24
)

// inCache measures an application beside working sets in the cache that it shares with the
// interferer.
type inCache struct {
	*ticked
	pressure.Holding
	// stage has the interferer on the CPUs that load the working sets.
	stage  *bench.Stage
	second *bench.Stream
	target *bench.Program
	class  regime.Class
	// budget is the time for everything.
	budget time.Duration
}

// addInCache adds to a profile the points in the cache that the application and the
// interferer share. It adds nothing where they share none. What goes wrong becomes a
// warning, because the rest of the profile is complete without it.
func (t *ticked) addInCache(ctx context.Context, target *bench.Program, class regime.Class, spent time.Duration, profile *v1alpha1.ApplicationProfile) error {
	h, shared := t.holding(class)
	if !shared {
		return nil
	}
	c := &inCache{ticked: t, Holding: h, target: target, class: class, budget: time.Duration(inCacheShare * float64(spent))}
	t.schedule.expected[caching] = c.budget
	target.WatchOccupancy()
	points, alone, warnings, err := c.measure(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	profile.Spec.Cache, profile.Spec.CacheOccupancyBytes = points, alone
	profile.Spec.Warnings = append(profile.Spec.Warnings, warnings...)
	if err != nil {
		profile.Spec.Warnings = append(profile.Spec.Warnings, fmt.Sprintf("cache: measuring beside the application: %v", err))
	}
	return nil
}

// holding says how the interferer keeps part of the application's cache; false where they
// share none that a machine's profile describes. A virtual machine may be told of a cache
// that its CPUs do not share at the time.
func (t *ticked) holding(class regime.Class) (pressure.Holding, bool) {
	s := t.Onboarding.Session
	if s.Machine.VirtualMachine && class == regime.CrossComplex || sharedCache(s.Machine) == nil {
		return pressure.Holding{}, false
	}
	h, shared := pressure.HoldingOn(s.Machine, s.Placement.Target, s.InterfererCPUs())
	return h, shared && len(h.Pressures()) > 0
}

// open starts the interferer that keeps the working sets, unless it is the session's.
func (c *inCache) open(ctx context.Context) (closed func() error, err error) {
	s := c.Onboarding.Session
	if c.CPUs.Equals(s.Placement.Interferer) && s.Count() == 1 {
		c.stage = c.ticked.Stage
		return func() error { return nil }, nil
	}
	c.stage, closed, err = c.ticked.Elsewhere(ctx, c.CPUs)
	return closed, err
}

// measure returns the points, what the application holds of the cache alone, and warnings.
func (c *inCache) measure(ctx context.Context) (points []v1alpha1.CachePoint, alone *float64, warnings []string, err error) {
	begin := time.Now()
	closed, err := c.open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	wanted := append(c.Pressures(), c.Beyond(), c.Resident())
	measured, err := c.stage.MeasurePressures(ctx, wanted)
	if err != nil {
		return nil, nil, nil, err
	}
	last := len(measured) - 1
	pressures, resident := measured[:last], measured[last]
	if reasons := c.cannotHold(pressures, resident); reasons != nil {
		return nil, nil, []string{"cache: " + strings.Join(reasons, "; ") + "; nothing was measured in it"}, nil
	}
	plan, err := c.plan(pressures, resident)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := c.target.Start(ctx); err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, c.target.Stop()) }()
	plan.Budget = max(time.Duration((1-lengthsShare)*float64(c.budget))-time.Since(begin), time.Nanosecond)
	if err := c.stage.Run(ctx, plan); err != nil {
		return nil, nil, nil, err
	}
	e := &estimator{readings: plan.Outcome.Readings[c.class], session: c.stage.Session}
	kept, dropped := e.heldPoints(c.Application.Name, c.Holding, pressures, resident)
	if dropped != "" {
		warnings = append(warnings, "cache: "+dropped)
	}
	if alone, err = c.addOccupancy(ctx, plan.Bench.Slicing, kept); err != nil {
		warnings = append(warnings, fmt.Sprintf("cache: %v", err))
	}
	for _, k := range kept {
		points = append(points, k.point)
	}
	slow, err := c.compareLengths(ctx, plan, kept)
	if slow != "" {
		warnings = append(warnings, slow)
	}
	return points, alone, warnings, err
}

// cannotHold returns why the largest working set did not stay in the cache before the
// application was started; nil where it did. Without a point of that set, predictions use
// none ([predictor.UsableCachePoints]).
func (c *inCache) cannotHold(pressures []pressure.Measured, resident pressure.Measured) []string {
	out, reasons := (&estimator{}).outside(c.Application.Name, c.Holding, pressures, resident)
	all := c.Pressures()
	if !out[all[len(all)-1].Footprint] {
		return nil
	}
	return reasons
}

// plan measures the application beside every pressure, and the resident working set alone.
func (c *inCache) plan(pressures []pressure.Measured, resident pressure.Measured) (*modulation.Plan, error) {
	slicing, err := modulation.SlicingFor(c.perSecond)
	if err != nil {
		return nil, err
	}
	c.second = c.stage.Stream()
	c.stage.Parties = [2]modulation.Party{c.target, c.second}
	precision := c.Ticking.Precision
	precision.Fewest = fewestInCache
	largest, memory := c.largest(pressures)
	slicing = pressure.Filled(slicing, pressure.FillTime(largest, memory, resident.Alone.Total()))
	plan := &modulation.Plan{
		Bench:     c.stage.Bench(slicing.Max(c.slicing)),
		Precision: precision, Probe: c.stage.Probe, Again: c.target.Again,
		Report: func(done float64) {
			c.tell(caching, (1-lengthsShare)*done, c.Application.Name+" beside a working set in the cache")
		},
	}
	for _, p := range pressures {
		plan.Points = append(plan.Points, pressurePoint(c.Application.Name, p, c.second))
	}
	plan.Points = append(plan.Points, modulation.Point{
		States:  []modulation.State{bench.SecondAlone},
		Compare: []modulation.Comparison{{Name: resident.String(), Party: 1}},
		Prepare: func() error { c.second.Does = resident.Settings(); return nil },
	})
	return plan, nil
}

// largest returns the size of the largest working set that is to stay in the cache, and the
// rate at which the memory answers.
func (c *inCache) largest(pressures []pressure.Measured) (bytes int64, memory units.Bandwidth) {
	for _, p := range pressures {
		if p.Pressure == c.Beyond() {
			memory = p.Alone.Total()
			continue
		}
		bytes = max(bytes, c.Total(p.Pressure))
	}
	return bytes, memory
}

// heldPoint is a point in the cache that was kept, and its pressure.
type heldPoint struct {
	pressure pressure.Measured
	point    v1alpha1.CachePoint
}

// heldPoints returns the points in the cache, and why others were left out.
//
// A working set counts if it was in the cache with nothing beside it, as the time of its
// accesses tells. What it loses beside the application is part of the measurement: it is
// what the application takes of the cache.
func (e *estimator) heldPoints(application string, h pressure.Holding, pressures []pressure.Measured, resident pressure.Measured) (kept []heldPoint, dropped string) {
	out, reasons := e.outside(application, h, pressures, resident)
	inside, few := false, 0
	for _, p := range pressures {
		if out[p.Footprint] {
			continue
		}
		result, ok := e.result(application, p.String())
		if !ok || result.Repeats < fewestInCache {
			few++
			continue
		}
		inside = inside || p.Pressure != h.Beyond()
		accessed, achieved := p.ModulatedBandwidths(result)
		kept = append(kept, heldPoint{p, v1alpha1.CachePoint{
			FootprintBytes: h.Total(p.Pressure), ReadShare: float64(p.ReadShare), Level: p.Level,
			AccessedBytesPerSecond: accessed, AchievedBytesPerSecond: achieved,
			NormalizedPerformance: float64(result.NormalizedPerformance), Repeats: result.Repeats, Spread: result.Spread,
		}})
	}
	if few > 0 {
		reasons = append(reasons, fmt.Sprintf("too few readings of %d of %d points, in the time for them and the placement of the profile", few, len(pressures)))
	}
	if !inside {
		kept = nil
	}
	return kept, strings.Join(reasons, "; ")
}

// outside returns the working sets that were not in the cache with nothing beside them, by
// footprint, and why.
func (e *estimator) outside(application string, h pressure.Holding, pressures []pressure.Measured, resident pressure.Measured) (out map[int64]bool, reasons []string) {
	rates := map[int64]units.Bandwidth{}
	for _, p := range pressures {
		if p.Settings().Unpaced() {
			rates[p.Footprint] = e.alone(p, besideName(p.String(), application))
		}
	}
	hits, memory := e.alone(resident, resident.String()), rates[h.Beyond().Footprint]
	out = map[int64]bool{}
	var missed []string
	told := true
	for _, p := range pressures {
		if out[p.Footprint] || p.Pressure == h.Beyond() {
			continue
		}
		bytes := h.Total(p.Pressure)
		held, known := interferer.Held(bytes, hits, memory, rates[p.Footprint])
		told = told && known
		if !known || float64(held) < leastHeld*float64(bytes) {
			out[p.Footprint] = true
			missed = append(missed, fmt.Sprintf("%.1f of %.1f MiB", float64(held)/mebi, float64(bytes)/mebi))
		}
	}
	switch {
	case !told:
		reasons = append(reasons, fmt.Sprintf("accesses of a working set (%v) are hardly faster than those of the memory (%v), so that it cannot be told what stays in the cache", hits, memory))
	case len(missed) > 0:
		reasons = append(reasons, strings.Join(missed, ", ")+" stayed in the cache with nothing beside them: other programs use the cache or the CPUs, or it is smaller than the kernel says")
	}
	return out, reasons
}

// mebi is a MiB, in bytes.
const mebi = 1 << 20

// alone returns the rate of a pressure with nothing beside it: that of a comparison, or
// without readings that from before.
func (e *estimator) alone(p pressure.Measured, comparison string) units.Bandwidth {
	readings := e.readings[comparison]
	if len(readings) == 0 {
		return p.Alone.Total()
	}
	alone, _ := medianRates(readings)
	return units.Bandwidth(alone)
}

// leastHeld is the part of a working set that has to be in the cache where nothing else is.
const leastHeld = 0.75

// compareLengths measures the strongest of the points once more in longer slices. It returns
// a warning where the effect takes longer than a slice.
func (c *inCache) compareLengths(ctx context.Context, short *modulation.Plan, kept []heldPoint) (string, error) {
	lowest, strongest := math.Inf(1), pressure.Measured{}
	for _, k := range kept {
		if k.pressure.Pressure != c.Beyond() && k.point.NormalizedPerformance < lowest {
			lowest, strongest = k.point.NormalizedPerformance, k.pressure
		}
	}
	if math.IsInf(lowest, 1) {
		return "", nil
	}
	s := short.Bench.Slicing
	long := s.Longer().Length
	budget := time.Duration(lengthsShare * float64(c.budget) * float64(long) / float64(s.Length+long))
	l := modulation.Lengths{Fewest: fewestLong, Most: mostLong, Budget: budget, Run: c.stage.Run}
	slow, err := c.slow(ctx, short, withoutSpeed(pressurePoint(c.Application.Name, strongest, c.second)), c.class, l)
	if slow != "" {
		slow = "slices: beside a working set in the cache " + slow + "; the points in the cache show a part of it"
	}
	return slow, err
}
