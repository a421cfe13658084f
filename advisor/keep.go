package advisor

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"

	"bandmate.dev/bandmate/api/v1alpha1"
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
	sums   map[*v1alpha1.ApplicationProfile]string
	key    string // of the model: all that it is made from
}

// Keep has the models that a fits kept by k, and returns a. sums identify the content of
// profiles that were validated as they were read; models of others are not kept. It must
// be called before a is asked for anything, and SaveKept after that.
func (a *Advisor) Keep(k Keeper, sums map[*v1alpha1.ApplicationProfile]string) *Advisor {
	for _, byMachine := range a.applications {
		for _, h := range byMachine {
			_, h.sound = sums[h.profile]
		}
	}
	for at, f := range a.calibrations.places {
		if key, ok := f.key(at, sums); ok && f.kept == nil {
			f.kept = &keeping{k, sums, key}
		}
	}
	return a
}

// SaveKept keeps what was found out about applications since Keep.
func (a *Advisor) SaveKept() {
	if a.calibrations == nil {
		return
	}
	for _, f := range a.calibrations.places {
		f.saveStates()
	}
}

// key identifies all that a model is made from; false where a profile has no sum.
func (f *fitting) key(at place, sums map[*v1alpha1.ApplicationProfile]string) (string, bool) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %d %d\n", at.machine, at.regime, f.link, f.cache, len(f.chosen))
	for _, p := range f.chosen {
		of, ok := sums[p]
		if !ok {
			return "", false
		}
		fmt.Fprintf(sum, "%q\n", of)
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

func (f *fitting) saveStates() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fresh) == 0 {
		return
	}
	current := map[string]bool{}
	for _, sum := range f.kept.sums {
		current[sum] = true
	}
	all := maps.Clone(f.fresh)
	for sum, data := range f.states {
		if current[sum] {
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

// applyTo returns app, which p was compiled to, in the model, from the state that is kept
// where there is one.
func (f *fitting) applyTo(p *v1alpha1.ApplicationProfile, app *predictor.Application) (*predictor.Application, error) {
	var sum string
	if f.kept != nil {
		sum = f.kept.sums[p]
	}
	if sum == "" {
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
	if data, err := f.calibration.State(applied); err == nil {
		f.mu.Lock()
		if f.fresh == nil {
			f.fresh = map[string]string{}
		}
		f.fresh[sum] = string(data)
		f.mu.Unlock()
	}
	return applied, nil
}
