package schedplugin

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/service"
)

// profiles are the profiles of the cluster as scheduling cycles look them up. A cycle
// never waits for a model of the memory to be fitted: at first a profile predicts by
// its curves, and calibrate replaces it. They are safe for concurrent use.
type profiles struct {
	advisor *advisor.Advisor
	found   sync.Map // of profileKey to *profile
	// uncalibrated are the keys of the pending profiles among found.
	uncalibrated sync.Map // of profileKey to nil
	// named are the applications that pods named, due those of them that are to be
	// calibrated on the machines that they were measured on.
	named, due sync.Map // of string to nil
	// served are the services with demands, servedCount about how many. demanded are
	// demands that pods named, to be made.
	served      sync.Map // of servingKey to serving
	servedCount atomic.Int64
	demanded    sync.Map // of demandKey to nil
	// round counts how often calibrate published what it had fitted, and fitted is whether
	// it has replaced an application since.
	round  atomic.Int64
	fitted atomic.Bool
	// onNew is called when there is something for calibrate to do; may be nil.
	onNew func()
}

type profileKey struct{ application, machine string }

// servingKey is a service with a demand on a machine.
type servingKey struct {
	profileKey
	service.Demand
}

// demandKey is a service with a demand, wherever it is.
type demandKey struct {
	application string
	service.Demand
}

// serving is the profile of a service for a demand, and the profile that it was made of.
type serving struct{ of, profile *profile }

// mostServed bounds the services with demands that are remembered: users can invent any
// number of loads.
const mostServed = 1024

// profile is what is known of an application on a machine.
type profile struct {
	advisor.Entry
	fast *fast.Model // nil where the entry has no application
	// pending is true for a profile that calibrate will replace. Others are valid for
	// as long as the advisor.
	pending bool
}

func (p *profile) isService() bool {
	return p.Application != nil && advisor.IsService(p.Profile)
}

func newProfiles(a *advisor.Advisor) *profiles {
	return &profiles{advisor: a}
}

// next returns the profiles of another advisor. What was looked up before is
// calibrated here, services with their demands as well; what did not change keeps its
// fast model.
func (p *profiles) next(a *advisor.Advisor) *profiles {
	n := newProfiles(a)
	n.onNew = p.onNew
	forEach(p.found.Range, func() {}, func(key profileKey) { n.calibrateOne(key, p) })
	p.served.Range(func(key, value any) bool {
		of := key.(servingKey) //nolint:errcheck,forcetypeassert // nothing else is stored
		if n.lookup(of.application, of.machine).isService() {
			n.served.Store(key, value)
			n.servedCount.Add(1)
		}
		return true
	})
	n.serveAgain()
	p.due.Range(func(application, _ any) bool {
		n.expect(application.(string), service.Demand{}) //nolint:errcheck,forcetypeassert // nothing else is stored
		return true
	})
	p.demanded.Range(func(key, _ any) bool {
		n.demanded.Store(key, nil)
		return true
	})
	return n
}

// lookup returns the profile of an application on a machine; never nil.
func (p *profiles) lookup(application, machine string) *profile {
	key := profileKey{application, machine}
	if value, ok := p.found.Load(key); ok {
		return value.(*profile) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	found := &profile{Entry: p.advisor.LookupCurves(application, machine)}
	if found.Application == nil {
		return found // not stored: users can invent any number of names
	}
	found.fast, found.pending = fast.New(found.Application), true
	if value, ok := p.found.LoadOrStore(key, found); ok {
		return value.(*profile) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	p.uncalibrated.Store(key, nil)
	p.changed()
	return found
}

// serve returns the profile of an application with a demand as a service on a machine;
// never nil. It is made again when that of the application is calibrated, or changed.
func (p *profiles) serve(application, machine string, d service.Demand) *profile {
	found := p.lookup(application, machine)
	if d == (service.Demand{}) || !found.isService() {
		return found
	}
	key := servingKey{profileKey{application, machine}, d}
	if value, ok := p.served.Load(key); ok {
		if s := value.(serving); s.of.Application == found.Application && s.of.pending == found.pending { //nolint:errcheck,forcetypeassert // nothing else is stored
			return s.profile
		}
	}
	entry, err := p.advisor.Serve(found.Entry, d)
	if err != nil {
		return found // as it was measured; a profile that compiles does so at every load
	}
	made := serving{found, &profile{Entry: entry, fast: fast.New(entry.Application), pending: found.pending}}
	if _, again := p.served.Swap(key, made); !again && p.servedCount.Add(1) > mostServed {
		p.served.Clear()
		p.servedCount.Store(0)
	}
	return made.profile
}

// serveAgain makes the services anew whose profiles were calibrated, or changed, so that
// no cycle has to.
func (p *profiles) serveAgain() {
	forEach(p.served.Range, func() {}, func(key servingKey) { p.serve(key.application, key.machine, key.Demand) })
}

// serveOwn makes a service with a demand on the machines that it was measured on.
func (p *profiles) serveOwn(key demandKey) {
	p.demanded.Delete(key)
	for machine := range p.advisor.Own(key.application) {
		p.serve(key.application, machine, key.Demand)
	}
}

// expect has an application calibrated, with its demand as a service, on the machines
// that it was measured on. The informer sees a pod before the scheduler does.
func (p *profiles) expect(application string, d service.Demand) {
	if !p.advisor.Has(application) {
		return // not stored: users can invent any number of names
	}
	if d != (service.Demand{}) {
		if _, again := p.demanded.LoadOrStore(demandKey{application, d}, nil); !again {
			p.changed()
		}
	}
	if _, again := p.named.LoadOrStore(application, nil); !again {
		p.due.Store(application, nil)
		p.changed()
	}
}

func (p *profiles) changed() {
	if p.onNew != nil {
		p.onNew()
	}
}

// calibrate fits models of the memory to the profiles that wait for one, then to
// those that pods named, then makes services with the demands that pods named. It reports
// whether predictions that cycles have made are different now. It serves one goroutine at a
// time.
func (p *profiles) calibrate() (different bool) {
	publish := func() {
		if p.fitted.Swap(false) {
			p.round.Add(1)
			different = true
		}
	}
	forEach(p.uncalibrated.Range, publish, func(key profileKey) {
		p.uncalibrated.Delete(key)
		p.calibrateOne(key, p)
	})
	forEach(p.due.Range, publish, p.calibrateOwn)
	p.serveAgain()
	forEach(p.demanded.Range, func() {}, p.serveOwn)
	return different
}

// store replaces what cycles find, if they have found anything.
func (p *profiles) store(key profileKey, now *profile) {
	value, found := p.found.Swap(key, now)
	if found && value.(*profile).Application != now.Application { //nolint:errcheck,forcetypeassert // nothing else is stored
		p.fitted.Store(true)
	}
}

// calibrateOne looks a profile up that old, or p itself, has found.
func (p *profiles) calibrateOne(key profileKey, old *profiles) {
	before := old.lookup(key.application, key.machine)
	if p.advisor == old.advisor && !before.pending {
		p.store(key, before)
		return
	}
	now := &profile{Entry: p.advisor.Lookup(key.application, key.machine)}
	if now.Application == nil {
		return
	}
	if now.fast = before.fast; before.Application != now.Application {
		now.fast = fast.New(now.Application)
	}
	p.store(key, now)
}

// calibrateOwn looks an application up on the machines that it was measured on.
func (p *profiles) calibrateOwn(application string) {
	p.due.Delete(application)
	for machine, entry := range p.advisor.Own(application) {
		key := profileKey{application, machine}
		if value, ok := p.found.Load(key); ok && !value.(*profile).pending { //nolint:errcheck,forcetypeassert // nothing else is stored
			continue
		}
		if entry.Application != nil {
			p.store(key, &profile{Entry: entry, fast: fast.New(entry.Application)})
		}
	}
}

// publishEvery is how long calibrate holds back what it has fitted. All nodes of the
// applications are read again each time.
const publishEvery = 3 * time.Second

// forEach calls do for all keys, from several goroutines, and publish at the end and
// every publishEvery before.
func forEach[K comparable](keys iter.Seq2[any, any], publish func(), do func(K)) {
	queue := make(chan K)
	var workers sync.WaitGroup
	for range max(runtime.GOMAXPROCS(0)/2, 1) { // the rest is the scheduler's
		workers.Go(func() {
			for key := range queue {
				do(key)
			}
		})
	}
	published := time.Now()
	for key := range keys {
		queue <- key.(K) //nolint:errcheck,forcetypeassert // nothing else is stored
		if time.Since(published) >= publishEvery {
			publish()
			published = time.Now()
		}
	}
	close(queue)
	workers.Wait()
	publish()
}
