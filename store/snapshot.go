package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/parallel"
)

// Snapshot is the profiles of a folder or a cluster at one moment. It is immutable and
// safe for concurrent use; its profiles must not be changed.
type Snapshot struct {
	applications, machines []held // as list orders keys
}

// held is a profile that was read, or the reason why it could not be.
type held struct {
	key    key
	object v1alpha1.Object // nil where err is not
	err    error
	info   fs.FileInfo // of the file when it was read; nil without a file
}

func entriesOf(list []held) []entry {
	entries := make([]entry, len(list))
	for i, h := range list {
		entries[i] = entry{h.key, func() (v1alpha1.Object, error) { return h.object, h.err }}
	}
	return entries
}

// Snapshot reads the folder. It reuses the objects of previous, which may be nil, whose
// files have the same identity, size and modification time, and returns previous itself
// if all are unchanged. It fails if the folder cannot be read.
func (s *Store) Snapshot(previous *Snapshot) (*Snapshot, error) {
	if previous == nil {
		previous = &Snapshot{}
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Snapshot{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w%s", err, readRemedy(err))
	}
	defer root.Close()
	applications, keptApplications, err := s.refresh(root, v1alpha1.KindApplicationProfile, previous.applications)
	if err != nil {
		return nil, err
	}
	machines, keptMachines, err := s.refresh(root, v1alpha1.KindMachineProfile, previous.machines)
	if err != nil {
		return nil, err
	}
	if keptApplications && keptMachines {
		return previous, nil
	}
	return &Snapshot{applications, machines}, nil
}

// refresh reads the files of a kind that changed since before; same reports that
// none did.
func (s *Store) refresh(root *os.Root, kind string, before []held) (now []held, same bool, err error) {
	keys, err := s.list(kind)
	if err != nil {
		return nil, false, err
	}
	known := make(map[key]held, len(before))
	for _, e := range before {
		known[e.key] = e
	}
	var looked []int
	for _, k := range keys {
		// A look before reading: what changes in between differs next time.
		info, err := root.Stat(k.path())
		old := known[k]
		// Neither identity, size nor time tells that a file can be read again.
		if err == nil && old.object != nil && unchanged(old.info, info) {
			now = append(now, old)
			continue
		}
		now = append(now, held{key: k, info: info})
		looked = append(looked, len(now)-1)
	}
	parallel.Each(len(looked), func(i int) {
		e := &now[looked[i]]
		e.object, e.err = s.read(e.key)
	})
	same = !slices.ContainsFunc(looked, func(i int) bool {
		e, old := now[i], known[now[i].key]
		return !errors.Is(e.err, ErrNotFound) && (e.err == nil || old.err == nil || e.err.Error() != old.err.Error())
	})
	now = slices.DeleteFunc(now, func(h held) bool { return errors.Is(h.err, ErrNotFound) }) // deleted meanwhile
	return now, same && len(now) == len(before), nil
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// NewSnapshot returns a snapshot of profiles that were read elsewhere. It reuses the
// objects of previous, which may be nil, of the same metadata.uid and resourceVersion,
// and returns previous itself if all are unchanged. broken are the errors of profiles
// that could not be read.
func NewSnapshot(previous *Snapshot, applications []*v1alpha1.ApplicationProfile, machines []*v1alpha1.MachineProfile, broken []error) *Snapshot {
	if previous == nil {
		previous = &Snapshot{}
	}
	now := &Snapshot{
		applications: adopt(previous.applications, applications),
		machines:     adopt(previous.machines, machines),
	}
	for _, fault := range broken {
		now.applications = append(now.applications, held{err: fault})
	}
	if sameHeld(previous.applications, now.applications) && sameHeld(previous.machines, now.machines) {
		return previous
	}
	return now
}

// version identifies a state of an object in a cluster.
type version struct{ uid, resourceVersion string }

func versionOf(o v1alpha1.Object) version {
	return version{string(o.GetUID()), o.GetResourceVersion()}
}

func adopt[T v1alpha1.Object](before []held, objects []T) []held {
	known := make(map[version]v1alpha1.Object, len(before))
	for _, e := range before {
		if e.object != nil {
			known[versionOf(e.object)] = e.object
		}
	}
	now := make([]held, 0, len(objects))
	for _, o := range objects {
		e := held{key: keyOf(o), object: o}
		if v := versionOf(o); v.uid != "" && v.resourceVersion != "" && known[v] != nil {
			e.object = known[v]
		}
		now = append(now, e)
	}
	return now
}

func sameHeld(a, b []held) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		switch {
		case a[i].object != b[i].object:
			return false
		case a[i].err != nil && (b[i].err == nil || a[i].err.Error() != b[i].err.Error()):
			return false
		}
	}
	return true
}

// Applications is [Store.Applications]; err is always nil.
func (s *Snapshot) Applications() (profiles []*v1alpha1.ApplicationProfile, broken []error, err error) {
	profiles, broken = all[*v1alpha1.ApplicationProfile](entriesOf(s.applications))
	return profiles, broken, nil
}

// Machines is [Store.Machines]; err is always nil.
func (s *Snapshot) Machines() (profiles []*v1alpha1.MachineProfile, broken []error, err error) {
	profiles, broken = all[*v1alpha1.MachineProfile](entriesOf(s.machines))
	return profiles, broken, nil
}
