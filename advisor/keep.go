package advisor

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"

	"bandmate.dev/bandmate/internal/plain"
	"bandmate.dev/bandmate/predictor"
)

// Keeper keeps results that take long to compute.
type Keeper interface {
	// Load returns what Save was given for the same kind and key by the same build of
	// the program, and nothing else.
	Load(kind, key string) ([]byte, bool)
	// Save keeps a result, if it can.
	Save(kind, key string, data []byte)
}

// The kinds of what is kept.
const (
	keptModel        = "memory"       // a predictor.Calibration
	keptApplications = "applications" // states of applications in one
)

// keeping is where the model of one place is kept.
type keeping struct {
	keeper Keeper
	key    string // of the model: all that it is made from
}

// Keep has the models that a fits kept by k, and returns a. Models of profiles whose
// content is not identified are not kept. It must be called before a is asked for
// anything, and SaveKept after that.
func (a *Advisor) Keep(k Keeper) *Advisor {
	for at, f := range a.calibrations.places {
		if key, ok := f.key(at); ok && f.kept == nil {
			f.kept = &keeping{k, key}
		}
	}
	return a
}

// SaveKept keeps what was found out about applications since Keep.
func (a *Advisor) SaveKept() {
	if a.calibrations == nil {
		return
	}
	current := map[string]bool{}
	for _, byMachine := range a.applications {
		for _, h := range byMachine {
			current[h.profile.sum] = true
		}
	}
	for _, f := range a.calibrations.places {
		f.saveStates(current)
	}
}

// key identifies all that a model is made from; false where a profile has no sum.
func (f *fitting) key(at place) (string, bool) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %d %d %d\n", at.machine, at.regime, f.link, f.cache.Bytes, f.cache.Count, len(f.chosen))
	for _, p := range f.chosen {
		if p.sum == "" {
			return "", false
		}
		fmt.Fprintf(sum, "%q\n", p.sum)
	}
	return string(sum.Sum(nil)), true
}

// load takes the model and the states of applications from where they are kept.
func (f *fitting) load() bool {
	if f.kept == nil {
		return false
	}
	data, ok := f.kept.keeper.Load(keptModel, f.kept.key)
	c := &predictor.Calibration{}
	if !ok || c.UnmarshalBinary(data) != nil {
		return false
	}
	f.calibration = c
	if data, ok = f.kept.keeper.Load(keptApplications, f.kept.key); ok {
		f.unpackStates(data)
	}
	return true
}

// saveModel keeps the model.
func (f *fitting) saveModel() {
	if f.kept == nil || f.err != nil {
		return
	}
	if data, err := f.calibration.MarshalBinary(); err == nil {
		f.kept.keeper.Save(keptModel, f.kept.key, data)
	}
}

// state is what was found out about the application of a profile of this sum.
type state struct{ sum, data string }

func (f *fitting) unpackStates(data []byte) {
	var states []state
	if plain.Unmarshal(data, &states) != nil {
		return
	}
	f.states = make(map[string]string, len(states))
	for _, s := range states {
		f.states[s.sum] = s.data
	}
}

// mostStates bounds the time of reading states, of which most answers need few.
const mostStates = 256

// saveStates keeps the states of profiles with current sums, those found out since Keep
// before others.
func (f *fitting) saveStates(current map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fresh) == 0 {
		return
	}
	all := maps.Clone(f.fresh)
	for sum, data := range f.states {
		if current[sum] && len(all) < mostStates {
			all[sum] = data
		}
	}
	var states []state
	for sum, data := range all {
		states = append(states, state{sum, data})
	}
	if data, err := plain.Marshal(&states); err == nil {
		f.kept.keeper.Save(keptApplications, f.kept.key, data)
	}
	f.states, f.fresh = all, nil
}

// applyTo returns app, which a profile of this sum was compiled to, in the model, from the
// state that is kept where there is one.
func (f *fitting) applyTo(sum string, app *predictor.Application) (*predictor.Application, error) {
	if f.kept == nil || sum == "" {
		return f.calibration.Apply(app)
	}
	f.mu.Lock()
	kept, ok := f.states[sum]
	f.mu.Unlock()
	if ok {
		restored, err := f.calibration.Restore(app, []byte(kept))
		if !errors.Is(err, plain.ErrDamaged) {
			return restored, err
		}
	}
	applied, err := f.calibration.Apply(app)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fresh) >= mostStates {
		return applied, nil
	}
	if data, err := f.calibration.State(applied); err == nil {
		if f.fresh == nil {
			f.fresh = map[string]string{}
		}
		f.fresh[sum] = string(data)
	}
	return applied, nil
}
