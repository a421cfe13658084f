package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/store"
)

// profileSource is where profiles are found by name: a store.Store, or a
// store.Snapshot of a folder or a cluster.
type profileSource interface {
	Application(name, machine string) (*v1alpha1.ApplicationProfile, error)
	Applications() (profiles []*v1alpha1.ApplicationProfile, broken []error, err error)
	Machine(name string) (*v1alpha1.MachineProfile, error)
	Machines() (profiles []*v1alpha1.MachineProfile, broken []error, err error)
}

// knowledge is profiles and what was computed from them: the one way from names
// to predictions, for commands and for the server. It is safe for concurrent use
// where its source is.
type knowledge struct {
	profileSource

	compiled sync.Map // of *v1alpha1.ApplicationProfile to *predictor.Application

	calibrating  sync.Once
	calibrations *advisor.Calibrations // before calibrate: what to keep of older ones
	err          error
}

func newKnowledge(s profileSource) *knowledge {
	return &knowledge{profileSource: s, calibrations: &advisor.Calibrations{}}
}

// next is newKnowledge, but keeps what k computed from profiles that are still the
// same objects.
func (k *knowledge) next(s profileSource) (*knowledge, error) {
	n := newKnowledge(s)
	if kept, err := k.calibrate(); err == nil {
		n.calibrations = kept
	}
	profiles, _, err := s.Applications()
	if err != nil {
		return nil, err
	}
	for _, p := range profiles {
		// What communicates also depends on the machine's profile.
		if a, ok := k.compiled.Load(p); ok && p.Spec.Communication == nil {
			n.compiled.Store(p, a)
		}
	}
	return n, nil
}

// calibrate returns models of the memory, fitted to all profiles when first asked
// for an application.
func (k *knowledge) calibrate() (*advisor.Calibrations, error) {
	k.calibrating.Do(func() {
		all, _, err := k.Applications() // those asked about are sound, others do not matter
		if k.err = err; err == nil {
			k.calibrations = k.calibrations.Next(all)
		}
	})
	return k.calibrations, k.err
}

// compile is predictor.Compile, once for a profile.
func (k *knowledge) compile(p *v1alpha1.ApplicationProfile) (*predictor.Application, error) {
	a, ok := k.compiled.Load(p)
	if !ok {
		compiled, err := predictor.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.Name, err)
		}
		if compiled, err = k.connect(compiled, p); err != nil {
			return nil, err
		}
		a, _ = k.compiled.LoadOrStore(p, compiled)
	}
	return a.(*predictor.Application), nil //nolint:errcheck,forcetypeassert // nothing else is stored
}

// connect returns an application as it communicates on its machine, as far as a
// profile of the machine tells.
func (k *knowledge) connect(a *predictor.Application, p *v1alpha1.ApplicationProfile) (*predictor.Application, error) {
	if p.Spec.Communication == nil {
		return a, nil
	}
	machine, err := k.Machine(p.Spec.Machine.Name)
	if errors.Is(err, store.ErrNotFound) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the network of %s: %w", p.Name, err)
	}
	network, err := communication.NewMachine(machine)
	if err != nil {
		return nil, err
	}
	return a.WithMachine(network), nil
}

// predictables are applications, as profiles and ready to predict.
type predictables struct {
	method   predictor.Method
	profiles []*v1alpha1.ApplicationProfile
	compiled []*predictor.Application
	// basis says for people what the default method rests on; empty for the others.
	basis string
}

// find prepares the named applications.
func (k *knowledge) find(names []string, f predictionFlags) (predictables, error) {
	method, err := f.parse()
	if err != nil {
		return predictables{}, err
	}
	profiles, err := loadForPrediction(k, names, f.machine)
	if err != nil {
		return predictables{}, err
	}
	return k.prepare(profiles, method)
}

// prepare compiles profiles. For the default method they become applications that
// the model of their machine's memory describes, where there are enough profiles
// in all to fit one.
func (k *knowledge) prepare(profiles []*v1alpha1.ApplicationProfile, method predictor.Method) (predictables, error) {
	p := predictables{method: method, profiles: profiles}
	for _, profile := range profiles {
		a, err := k.compile(profile)
		if err != nil {
			return p, err
		}
		p.compiled = append(p.compiled, a)
	}
	if method != predictor.Default {
		return p, nil
	}
	calibrations, err := k.calibrate()
	if err != nil {
		return p, err
	}
	p.describe(calibrations)
	return p, nil
}

// describe turns the applications into those that the models describe.
func (p *predictables) describe(calibrations *advisor.Calibrations) {
	if len(p.compiled) == 0 {
		return
	}
	why := make([]error, len(p.compiled))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				p.compiled[i], why[i] = calibrations.Apply(p.profiles[i], p.compiled[i])
			}
		})
	}
	for i := range p.compiled {
		next <- i
	}
	close(next)
	workers.Wait()
	p.basis = explainBasis(p.profiles, why, calibrations)
}

// predict is `bandmate predict`: the first name beside the others. The basis says
// for people what it rests on.
func (k *knowledge) predict(names []string, f predictionFlags, explain bool) (p predictor.Prediction, basis string, err error) {
	known, err := k.find(names, f)
	if err != nil {
		return p, "", err
	}
	p, err = predictor.Predict(known.compiled[0], known.compiled[1:], predictor.Options{Method: known.method, Explain: explain})
	if err != nil {
		return p, "", err
	}
	p.Warnings = append(p.Warnings, mixtureWarnings(known.profiles)...)
	return p, known.basis, nil
}
