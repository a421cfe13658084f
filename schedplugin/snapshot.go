package schedplugin

import (
	"runtime"
	"sync"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/roster"
	"bandmate.dev/bandmate/predictor/score"
)

// snapshot is what a scheduling cycle knows of profiles: a roster, and what was
// drawn from it so far. It is safe for concurrent use.
type snapshot struct {
	roster    *roster.Roster
	sketchers *sync.Pool
	known     sync.Map // of lookupKey to *known
	// onNew is called when an application was looked up for the first time, and
	// is known by its curves alone until the next snapshot; may be nil.
	onNew func()
}

type lookupKey struct{ application, machine string }

// known is a roster's entry with its sketch, which is nil where the entry has no
// application.
type known struct {
	roster.Entry
	sketch *score.Sketch
	// byCurves is true until a snapshot has asked for a model of the memory.
	byCurves bool
}

func newSnapshot(r *roster.Roster) *snapshot {
	return &snapshot{roster: r, sketchers: &sync.Pool{New: func() any { return &score.Sketcher{} }}}
}

// next returns a snapshot of r. What s was asked about is looked up here, where
// nobody waits for a fit; sketches of applications that have not changed are kept.
func (s *snapshot) next(r *roster.Roster) *snapshot {
	n := newSnapshot(r)
	n.onNew = s.onNew
	keys := make(chan lookupKey)
	var workers sync.WaitGroup
	for range max(runtime.GOMAXPROCS(0)/2, 1) { // the rest is the scheduler's
		workers.Go(func() {
			for key := range keys {
				n.renew(key, s)
			}
		})
	}
	s.known.Range(func(key, _ any) bool {
		keys <- key.(lookupKey) //nolint:errcheck,forcetypeassert // nothing else is stored
		return true
	})
	close(keys)
	workers.Wait()
	return n
}

// renew looks up what the old snapshot knew.
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
		k.sketch = s.sketch(k.Application)
	}
	s.known.Store(key, k)
}

// lookup returns what is known of an application on a machine; never nil. It does
// not wait for a model of the memory: the next snapshot has it.
func (s *snapshot) lookup(application, machine string) *known {
	key := lookupKey{application, machine}
	if value, ok := s.known.Load(key); ok {
		return value.(*known) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	k := &known{Entry: s.roster.LookupCurves(application, machine), byCurves: true}
	if k.Application == nil {
		return k // not stored: anybody can invent names
	}
	k.sketch = s.sketch(k.Application)
	s.known.Store(key, k)
	if s.onNew != nil {
		s.onNew()
	}
	return k
}

func (s *snapshot) sketch(a *predictor.Application) *score.Sketch {
	sketcher := s.sketchers.Get().(*score.Sketcher) //nolint:errcheck,forcetypeassert // nothing else is put
	defer s.sketchers.Put(sketcher)
	return sketcher.Sketch(a)
}
