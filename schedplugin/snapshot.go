package schedplugin

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor/fast"
)

// snapshot is what a scheduling cycle knows of profiles: a roster, and what was
// drawn from it so far. It is safe for concurrent use.
type snapshot struct {
	roster *advisor.Advisor
	known  sync.Map // of lookupKey to *known
	// waiting holds the keys of those that are known by their curves alone, until
	// catchUp has asked for a model of the memory.
	waiting sync.Map // of lookupKey to nil
	// wanted are the applications that pods named, due those of them that catchUp has
	// not yet looked at.
	wanted, due sync.Map // of the name to nil
	// round counts how often catchUp made known what it had asked for.
	round atomic.Int64
	// onNew is called when there is something for catchUp to do; may be nil.
	onNew func()
}

type lookupKey struct{ application, machine string }

// known is a roster's entry with its sketch, which is nil where the entry has no
// application.
type known struct {
	advisor.Entry
	sketch *fast.Model
	// byCurves is true where another one takes its place once a model of the memory
	// was asked for; else it stays for as long as the roster.
	byCurves bool
}

func newSnapshot(r *advisor.Advisor) *snapshot {
	return &snapshot{roster: r}
}

// next returns a snapshot of r. What s was asked about is looked up here, where
// nobody waits for a fit; sketches of applications that have not changed are kept.
func (s *snapshot) next(r *advisor.Advisor) *snapshot {
	n := newSnapshot(r)
	n.onNew = s.onNew
	describe(s.known.Range, func() {}, func(key lookupKey) { n.renew(key, s) })
	s.due.Range(func(application, _ any) bool {
		n.want(application.(string)) //nolint:errcheck,forcetypeassert // nothing else is stored
		return true
	})
	return n
}

// publishEvery is how long what catchUp has asked for is held back at most. Nodes
// are prepared anew each time.
const publishEvery = 3 * time.Second

// catchUp asks for models of the memory for the applications that wait, then for
// those that pods named. It serves one goroutine at a time.
func (s *snapshot) catchUp() {
	publish := func() { s.round.Add(1) }
	describe(s.waiting.Range, publish, func(key lookupKey) {
		s.waiting.Delete(key)
		s.renew(key, s)
	})
	describe(s.due.Range, publish, s.describeOwn)
}

// want has an application described on the machines that it was measured on. It does
// not wait: a pod that names an application is heard of before it is scheduled.
func (s *snapshot) want(application string) {
	if !s.roster.Has(application) {
		return // not stored: anybody can invent names
	}
	if _, again := s.wanted.LoadOrStore(application, nil); again {
		return
	}
	s.due.Store(application, nil)
	if s.onNew != nil {
		s.onNew()
	}
}

// describeOwn asks for models of the memory for an application on its own machines.
func (s *snapshot) describeOwn(application string) {
	s.due.Delete(application)
	for machine, entry := range s.roster.Own(application) {
		key := lookupKey{application, machine}
		if value, ok := s.known.Load(key); ok && !value.(*known).byCurves { //nolint:errcheck,forcetypeassert // nothing else is stored
			continue
		}
		if k := (&known{Entry: entry}); k.Application != nil {
			k.sketch = fast.New(k.Application)
			s.known.Store(key, k)
		}
	}
}

// describe calls renew for all keys, from several goroutines, and publish when all
// are done and now and then before that.
func describe[K comparable](keys iter.Seq2[any, any], publish func(), renew func(K)) {
	queue := make(chan K)
	var workers sync.WaitGroup
	for range max(runtime.GOMAXPROCS(0)/2, 1) { // the rest is the scheduler's
		workers.Go(func() {
			for key := range queue {
				renew(key)
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

// renew looks up what the old snapshot, or the same one, knew.
func (s *snapshot) renew(key lookupKey, old *snapshot) {
	before := old.lookup(key.application, key.machine)
	if s.roster == old.roster && !before.byCurves {
		s.known.Store(key, before)
		return
	}
	k := &known{Entry: s.roster.Lookup(key.application, key.machine)}
	if k.Application == nil {
		return
	}
	if before.Application == k.Application {
		k.sketch = before.sketch
	} else {
		k.sketch = fast.New(k.Application)
	}
	s.known.Store(key, k)
}

// lookup returns what is known of an application on a machine; never nil. It does
// not wait for a model of the memory: catchUp asks for it.
func (s *snapshot) lookup(application, machine string) *known {
	key := lookupKey{application, machine}
	if value, ok := s.known.Load(key); ok {
		return value.(*known) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	k := &known{Entry: s.roster.LookupCurves(application, machine)}
	if k.Application == nil {
		return k // not stored: anybody can invent names
	}
	k.sketch, k.byCurves = fast.New(k.Application), true
	if value, ok := s.known.LoadOrStore(key, k); ok {
		return value.(*known) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	s.waiting.Store(key, nil)
	if s.onNew != nil {
		s.onNew()
	}
	return k
}
