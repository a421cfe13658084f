package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/parallel"
)

// Index is the profiles of a folder at one moment. A profile of an application is
// decoded when it is asked for. An Index is immutable and safe for concurrent use.
type Index struct {
	// Applications are sorted by name and machine, Machines by name.
	Applications []*Indexed
	Machines     []*v1alpha1.MachineProfile
	// Broken are the errors of files that cannot be read, those of applications first.
	Broken []error

	identity [sha256.Size]byte
}

// Same reports whether x and other are of the same profiles and the same errors. It is
// false if one of them is nil.
func (x *Index) Same(other *Index) bool {
	return x != nil && other != nil && x.identity == other.identity
}

// Indexed is the profile of an application.
type Indexed struct {
	// Name and Machine are the key of the profile.
	Name, Machine string
	// Summary is what summarize returned for the profile.
	Summary []byte
	// Sum is the SHA-256 sum of the text of its file.
	Sum string

	read func() (v1alpha1.Object, error)
}

// Read returns the profile. It fails if what was kept of it is damaged and its file has
// changed since the index was made.
func (p *Indexed) Read() (*v1alpha1.ApplicationProfile, error) {
	return readAs[*v1alpha1.ApplicationProfile](entry{key{v1alpha1.KindApplicationProfile, p.Name, p.Machine}, p.read})
}

// All reads every profile of an application. broken are the errors of those that cannot
// be read, and Broken.
func (x *Index) All() (profiles []*v1alpha1.ApplicationProfile, broken []error) {
	all, faults := make([]*v1alpha1.ApplicationProfile, len(x.Applications)), make([]error, len(x.Applications))
	parallel.Each(len(all), func(i int) { all[i], faults[i] = x.Applications[i].Read() })
	profiles = slices.DeleteFunc(all, func(p *v1alpha1.ApplicationProfile) bool { return p == nil })
	broken = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
	return profiles, slices.Concat(broken, x.Broken)
}

// item is a file of the folder while an Index is made.
type item struct {
	record

	changed bool // the pack has another record of it, or none
	err     error
	// Of a file that was decoded:
	object v1alpha1.Object
	json   []byte
}

// Index returns the profiles of the folder. What was decoded is kept, and serves for as
// long as the file has the same inode, size, time of modification and time of change.
// summarize returns what the caller has to know of every profile of an application; its
// results are kept, too. Index fails if the folder cannot be read.
func (s *Store) Index(kept Kept, summarize func(*v1alpha1.ApplicationProfile) []byte) (*Index, error) {
	return s.index(kept, summarize, time.Now)
}

func (s *Store) index(kept Kept, summarize func(*v1alpha1.ApplicationProfile) []byte, clock func() time.Time) (*Index, error) {
	items, err := s.look(clock)
	if err != nil {
		return nil, err
	}
	old := openPack(kept)
	parallel.Each(len(items), func(i int) { s.fill(&items[i], old, summarize) })
	x := &Index{}
	sound := make([]*item, 0, len(items))
	changed := false
	for i := range items {
		switch it := &items[i]; {
		case it.err == nil:
			sound, changed = append(sound, it), changed || it.changed
		case !errors.Is(it.err, ErrNotFound): // not deleted meanwhile
			x.Broken = append(x.Broken, it.err)
		}
	}
	if changed || len(sound) != len(old.records) {
		old.saveAs(kept, sound)
	}
	content := sha256.New()
	for _, err := range x.Broken {
		_, _ = io.WriteString(content, err.Error()+"\x00") // never fails
	}
	for _, it := range sound {
		_, _ = io.WriteString(content, it.key().path()+"\x00"+it.Sum) // never fails
		read := func() (v1alpha1.Object, error) { return s.readItem(old, it) }
		if it.Kind == v1alpha1.KindApplicationProfile {
			x.Applications = append(x.Applications, &Indexed{it.Name, it.Machine, []byte(it.Summary), it.Sum, read})
			continue
		}
		machine, err := readAs[*v1alpha1.MachineProfile](entry{it.key(), read})
		if err != nil {
			x.Broken = append(x.Broken, err)
			continue
		}
		x.Machines = append(x.Machines, machine)
	}
	content.Sum(x.identity[:0])
	return x, nil
}

// look lists the files of the folder, applications first.
func (s *Store) look(clock func() time.Time) ([]item, error) {
	var items []item
	for _, kind := range []string{v1alpha1.KindApplicationProfile, v1alpha1.KindMachineProfile} {
		keys, err := s.list(kind)
		if err != nil {
			return nil, err
		}
		now := clock()
		found := make([]item, len(keys))
		parallel.Each(len(keys), func(i int) {
			file := filepath.Join(s.dir, filepath.FromSlash(keys[i].path()))
			found[i].record = recordOf(keys[i], file, now)
		})
		items = append(items, found...)
	}
	return items, nil
}

// errKnown is returned for a text that need not be decoded.
var errKnown = errors.New("the text is known")

// fill completes the record of a file, from old where that knows the file or its text.
func (s *Store) fill(it *item, old *pack, summarize func(*v1alpha1.ApplicationProfile) []byte) {
	known, found := old.records[it.key()]
	if found && known.Settled && known.Stamp == it.Stamp {
		it.record = known
		return
	}
	object, of, err := s.readBy(it.key(), func(text []byte) (v1alpha1.Object, error) {
		if of := sha256.Sum256(text); found && known.Sum == string(of[:]) {
			return nil, errKnown
		}
		return v1alpha1.Decode(text)
	})
	switch {
	case errors.Is(err, errKnown):
		it.changed = known.Settled != it.Settled || known.Stamp != it.Stamp
		known.Stamp, known.Settled = it.Stamp, it.Settled
		it.record = known
		return
	case err != nil:
		it.err = err
		return
	}
	it.changed, it.object, it.Sum = true, object, string(of[:])
	if it.json, err = json.Marshal(object); err != nil {
		it.err = &BrokenError{it.key(), fmt.Errorf("%s: %w", it.key(), err)}
		return
	}
	check := sha256.Sum256(it.json)
	it.Check = string(check[:])
	if p, ok := object.(*v1alpha1.ApplicationProfile); ok {
		it.Summary = string(summarize(p))
	}
}

// readItem returns the profile of an item: from the pack, or else from its file, if that
// has the same text still.
func (s *Store) readItem(from *pack, it *item) (v1alpha1.Object, error) {
	if it.object != nil {
		return it.object, nil
	}
	if object := from.read(it.record); object != nil {
		return object, nil
	}
	object, of, err := s.readBy(it.key(), v1alpha1.Decode)
	if err == nil && string(of[:]) != it.Sum {
		err = &BrokenError{it.key(), fmt.Errorf("%s changed while it was read: try again", it.key())}
	}
	return object, err
}
