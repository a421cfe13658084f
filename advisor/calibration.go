package advisor

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/memory"
)

const (
	// leastFitted is the least number of profiles that a model is fitted to: fewer
	// cannot separate the applications from the memory.
	leastFitted = 3
	// mostFitted bounds the time of a fit.
	mostFitted = 64
)

// ErrFewProfiles is returned where a machine has too few profiles to fit a model
// of its memory to.
var ErrFewProfiles = fmt.Errorf("fewer than %d profiles of the machine that say what the interferer achieved: onboard more", leastFitted)

// calibrations are the models of the memories of machines, each fitted to the profiles
// measured there on first use (predictor.Calibrate). They are safe for concurrent use;
// nil has no models.
type calibrations struct {
	places map[place]*fitting
}

// place is the machine and regime of profiles that may be fitted together.
type place struct{ machine, regime string }

func placeOf(p *v1alpha1.ApplicationProfile) place {
	at := place{machine: p.Spec.Machine.Name}
	if r := p.Spec.Measurement.Regime; r != nil {
		at.regime = r.Name
	}
	return at
}

// fitting is the model of one place.
type fitting struct {
	chosen   []*Profile
	profiles int // that it was chosen from
	link     memory.Link
	cache    predictor.LastLevel

	once        sync.Once
	calibration *predictor.Calibration
	err         error
	applied     sync.Map // of *predictor.Application to *applied

	kept *keeping // nil where nothing is
	mu   sync.Mutex
	// states are those of applications as loaded, fresh those since, both by sum.
	states, fresh map[string]string
}

// applied is an application with the model applied to it.
type applied struct {
	once        sync.Once
	application *predictor.Application
	err         error
}

// next prepares models from the profiles that can be used, in any order, one of each
// application; links are how co-runners reach the memory of each machine, caches those that
// several cores share. It keeps the models of c whose profiles are the same objects.
func (c *calibrations) next(profiles []*Profile, links map[string]memory.Link, caches map[string]predictor.LastLevel) *calibrations {
	candidates := map[place]map[string]*Profile{} // by application
	for _, p := range profiles {
		if !p.serves {
			continue
		}
		if candidates[p.place] == nil {
			candidates[p.place] = map[string]*Profile{}
		}
		if other := candidates[p.place][p.application]; other == nil || p.precedes(other) {
			candidates[p.place][p.application] = p
		}
	}
	n := &calibrations{places: make(map[place]*fitting, len(candidates))}
	for at, all := range candidates {
		if len(all) < leastFitted {
			continue
		}
		chosen, link := choose(slices.Collect(maps.Values(all))), links[at.machine]
		if old := c.at(at); old != nil && old.link == link && old.cache == caches[at.machine] && slices.EqualFunc(old.chosen, chosen, (*Profile).same) {
			n.places[at] = old
			continue
		}
		n.places[at] = &fitting{chosen: chosen, profiles: len(all), link: link, cache: caches[at.machine]}
	}
	return n
}

// forget drops the calibrations of all applications but those in use. One that is looked up
// meanwhile is calibrated again.
func (c *calibrations) forget(used map[*predictor.Application]bool) {
	for _, f := range c.places {
		for app := range f.applied.Range {
			if !used[app.(*predictor.Application)] { //nolint:errcheck,forcetypeassert // nothing else is stored
				f.applied.Delete(app)
			}
		}
	}
}

// serves reports whether a model can be fitted to p: its traffic is known, and
// at least one point was measured that says what the interferer achieved.
func serves(p *v1alpha1.ApplicationProfile) bool {
	c := &p.Spec.Contentiousness
	if p.Spec.Transferred != nil || len(p.Spec.Cache) == 0 && !(c.ReadBytesPerSecond+c.WriteBytesPerSecond > 0) {
		return false
	}
	return slices.ContainsFunc(p.Spec.Curves, func(c v1alpha1.SensitivityCurve) bool {
		return slices.ContainsFunc(c.Points, func(point v1alpha1.CurvePoint) bool {
			return !point.Inferred && point.AchievedBytesPerSecond != nil && *point.AchievedBytesPerSecond > 0
		})
	})
}

// choose returns all profiles, or else mostFitted valid ones, by a hash of the application,
// so that adding or removing one seldom changes the choice. No two are of one application.
func choose(all []*Profile) []*Profile {
	type ranked struct {
		hash    uint64
		profile *Profile
	}
	order := make([]ranked, len(all))
	for i, p := range all {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.application)) // never fails
		order[i] = ranked{h.Sum64(), p}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.profile.application, b.profile.application))
	})
	chosen := make([]*Profile, 0, min(len(order), mostFitted))
	for _, r := range order {
		if len(order) <= mostFitted || r.profile.valid() {
			chosen = append(chosen, r.profile)
		}
		if len(chosen) == mostFitted {
			break
		}
	}
	return chosen
}

// fit fits the model once. Invalid profiles are left out.
func (f *fitting) fit() {
	f.once.Do(func() {
		if f.load() {
			return
		}
		defer f.saveModel()
		var apps []*predictor.Application
		for _, chosen := range f.chosen {
			if !chosen.valid() {
				continue
			}
			p, err := chosen.load()
			if err != nil {
				f.kept = nil // that is for all of them
				continue
			}
			if a, err := predictor.Compile(p); err == nil {
				apps = append(apps, a)
			}
		}
		f.calibration, f.err = calibrate(apps, f.link, f.cache)
	})
}

// calibrate fits a model of the memory, and of the caches before it that they share, if
// enough of the applications were measured beside an interferer in the cache. It fails with
// ErrFewProfiles if the memory alone is left and too few applications tell about it.
func calibrate(apps []*predictor.Application, link memory.Link, cache predictor.LastLevel) (*predictor.Calibration, error) {
	if cache.Bytes > 0 {
		c, err := predictor.CalibrateCache(apps, cache, link)
		if !errors.Is(err, memory.ErrNotEnough) {
			return c, err
		}
	}
	apps = slices.DeleteFunc(slices.Clone(apps), func(a *predictor.Application) bool { return !a.Fittable() })
	if len(apps) < leastFitted {
		return nil, ErrFewProfiles
	}
	return predictor.Calibrate(apps, link)
}

// at returns the model of a place; nil where it has too few profiles.
func (c *calibrations) at(p place) *fitting {
	if c == nil {
		return nil
	}
	return c.places[p]
}

// apply returns app, which p of this sum was compiled to, calibrated to the model of its
// place.
// Otherwise it returns app itself, which predicts from curves alone, and the reason:
// ErrFewProfiles, predictor.ErrNotCalibrated, or an error of predictor.Calibrate.
func (c *calibrations) apply(p *v1alpha1.ApplicationProfile, sum string, app *predictor.Application) (*predictor.Application, error) {
	f, err := c.model(p)
	if err != nil {
		return app, err
	}
	value, ok := f.applied.Load(app)
	if !ok {
		value, _ = f.applied.LoadOrStore(app, &applied{})
	}
	d := value.(*applied) //nolint:errcheck,forcetypeassert // nothing else is stored
	d.once.Do(func() {
		if d.application, d.err = f.applyTo(sum, app); d.err != nil {
			d.application = app
		}
	})
	return d.application, d.err
}

// applyOnce is apply for an application that is predicted once: nothing of it is kept.
func (c *calibrations) applyOnce(p *v1alpha1.ApplicationProfile, app *predictor.Application) (*predictor.Application, error) {
	f, err := c.model(p)
	if err != nil {
		return app, err
	}
	calibrated, err := f.calibration.Apply(app)
	if err != nil {
		return app, err
	}
	return calibrated, nil
}

// model returns the fitted model of p's place.
func (c *calibrations) model(p *v1alpha1.ApplicationProfile) (*fitting, error) {
	f := c.at(placeOf(p))
	if f == nil {
		return nil, ErrFewProfiles
	}
	if p.Spec.Transferred != nil {
		return nil, fmt.Errorf("%s: %w: transferred from another machine", v1alpha1.ApplicationOf(p), predictor.ErrNotCalibrated)
	}
	if f.fit(); f.err != nil {
		return nil, f.err
	}
	return f, nil
}

// fitted returns the number of profiles that the model of p's place was fitted to, and
// the number that they were chosen from; 0 without a model.
func (c *calibrations) fitted(p *v1alpha1.ApplicationProfile) (fitted, of int) {
	f := c.at(placeOf(p))
	if f == nil {
		return 0, 0
	}
	if f.fit(); f.err != nil {
		return 0, 0
	}
	return f.calibration.Fitted(), f.profiles
}

// lastLevelCache returns the size in bytes of the cache that the model of p's place has
// before the memory; false without one.
func (c *calibrations) lastLevelCache(p *v1alpha1.ApplicationProfile) (float64, bool) {
	f := c.at(placeOf(p))
	if f == nil {
		return 0, false
	}
	if f.fit(); f.err != nil {
		return 0, false
	}
	return f.calibration.LastLevelCache()
}

// calibrated returns e calibrated to the model of its machine's memory, if there is one.
// An application without curves needs no calibration.
func (a *Advisor) calibrated(e Entry) Entry {
	if e.Application != nil && len(e.Profile.Spec.Curves) > 0 {
		e.Application, e.Uncalibrated = a.calibrations.apply(e.Profile, e.sum, e.Application)
	}
	return e
}
