package schedplugin

import (
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
}

type lookupKey struct{ application, machine string }

// known is a roster's entry with its sketch, which is nil where the entry has no
// application.
type known struct {
	roster.Entry
	sketch *score.Sketch
}

func newSnapshot(r *roster.Roster) *snapshot {
	return &snapshot{roster: r, sketchers: &sync.Pool{New: func() any { return &score.Sketcher{} }}}
}

// next returns a snapshot of r that keeps the sketches of applications that
// have not changed.
func (s *snapshot) next(r *roster.Roster) *snapshot {
	n := newSnapshot(r)
	s.known.Range(func(key, value any) bool {
		k, old := key.(lookupKey), value.(*known) //nolint:errcheck,forcetypeassert // nothing else is stored
		if entry := r.Lookup(k.application, k.machine); entry.Application == old.Application {
			n.known.Store(k, &known{entry, old.sketch})
		}
		return true
	})
	return n
}

// lookup returns what is known of an application on a machine; never nil.
func (s *snapshot) lookup(application, machine string) *known {
	key := lookupKey{application, machine}
	if value, ok := s.known.Load(key); ok {
		return value.(*known) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	k := &known{Entry: s.roster.Lookup(application, machine)}
	if k.Application == nil {
		return k // not stored: anybody can invent names
	}
	k.sketch = s.sketch(k.Application)
	s.known.Store(key, k)
	return k
}

func (s *snapshot) sketch(a *predictor.Application) *score.Sketch {
	sketcher := s.sketchers.Get().(*score.Sketcher) //nolint:errcheck,forcetypeassert // nothing else is put
	defer s.sketchers.Put(sketcher)
	return sketcher.Sketch(a)
}
