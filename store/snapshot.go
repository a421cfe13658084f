package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Snapshot is the profiles of a folder or a cluster at one moment, held in memory
// for those who ask often. It is immutable and safe for concurrent use; its
// profiles must not be changed.
type Snapshot struct {
	applications, machines []entry // as list orders keys
}

// entry is a profile or why it cannot be read.
type entry struct {
	key    key
	object v1alpha1.Object // nil where err is not
	err    error
	info   fs.FileInfo // of the file when it was read; nil where there is none
}

// Snapshot reads the folder. What has not changed since previous, by the files'
// identity, size and time of modification, is taken from there, as the same
// objects; previous itself is returned where nothing has changed, and may be nil.
// It fails where the folder cannot be read; files that cannot are named by
// Applications and Machines.
func (s *Store) Snapshot(previous *Snapshot) (*Snapshot, error) {
	if previous == nil {
		previous = &Snapshot{}
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Snapshot{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w%s", err, remedy(err))
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

// refresh reads the files of a kind that changed since before; same says that none
// did.
func (s *Store) refresh(root *os.Root, kind string, before []entry) (now []entry, same bool, err error) {
	keys, err := s.list(kind)
	if err != nil {
		return nil, false, err
	}
	known := make(map[key]entry, len(before))
	for _, e := range before {
		known[e.key] = e
	}
	same = true
	for _, k := range keys {
		// A look before reading: what changes in between differs next time.
		info, err := root.Stat(k.path())
		old := known[k]
		if err == nil && old.info != nil && unchanged(old.info, info) {
			now = append(now, old)
			continue
		}
		same = false
		e := entry{key: k, info: info}
		if e.object, e.err = s.read(k); errors.Is(e.err, ErrNotFound) {
			continue // deleted meanwhile
		}
		now = append(now, e)
	}
	return now, same && len(now) == len(before), nil
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// NewSnapshot returns a snapshot of profiles that were read elsewhere. Where
// previous, which may be nil, has an object of the same metadata.uid and
// resourceVersion, that object takes its place; previous itself is returned where
// all are. Broken are of profiles that could not be read.
func NewSnapshot(previous *Snapshot, applications []*v1alpha1.ApplicationProfile, machines []*v1alpha1.MachineProfile, broken []error) *Snapshot {
	if previous == nil {
		previous = &Snapshot{}
	}
	now := &Snapshot{
		applications: adopt(previous.applications, applications),
		machines:     adopt(previous.machines, machines),
	}
	for _, fault := range broken {
		now.applications = append(now.applications, entry{err: fault})
	}
	if sameEntries(previous.applications, now.applications) && sameEntries(previous.machines, now.machines) {
		return previous
	}
	return now
}

// version is which state of which object of a cluster a profile is.
type version struct{ uid, resourceVersion string }

func versionOf(o v1alpha1.Object) version {
	return version{string(o.GetUID()), o.GetResourceVersion()}
}

func adopt[T v1alpha1.Object](before []entry, objects []T) []entry {
	known := make(map[version]v1alpha1.Object, len(before))
	for _, e := range before {
		if e.object != nil {
			known[versionOf(e.object)] = e.object
		}
	}
	now := make([]entry, 0, len(objects))
	for _, o := range objects {
		e := entry{key: keyOf(o), object: o}
		if v := versionOf(o); v.uid != "" && v.resourceVersion != "" && known[v] != nil {
			e.object = known[v]
		}
		now = append(now, e)
	}
	return now
}

func sameEntries(a, b []entry) bool {
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

// Application is as of Store.
func (s *Snapshot) Application(name, machine string) (*v1alpha1.ApplicationProfile, error) {
	return pick[*v1alpha1.ApplicationProfile](s.applications, v1alpha1.KindApplicationProfile, name, machine)
}

// Machine is as of Store.
func (s *Snapshot) Machine(name string) (*v1alpha1.MachineProfile, error) {
	return pick[*v1alpha1.MachineProfile](s.machines, v1alpha1.KindMachineProfile, name, "")
}

// Applications is as of Store; it never fails.
func (s *Snapshot) Applications() (profiles []*v1alpha1.ApplicationProfile, broken []error, err error) {
	profiles, broken = divide[*v1alpha1.ApplicationProfile](s.applications)
	return profiles, broken, nil
}

// Machines is as of Store; it never fails.
func (s *Snapshot) Machines() (profiles []*v1alpha1.MachineProfile, broken []error, err error) {
	profiles, broken = divide[*v1alpha1.MachineProfile](s.machines)
	return profiles, broken, nil
}

func pick[T v1alpha1.Object](entries []entry, kind, name, machine string) (T, error) {
	var none T
	keys := make([]key, len(entries))
	for i, e := range entries {
		keys[i] = e.key
	}
	k, err := chooseKey(keys, kind, name, machine)
	if err != nil {
		return none, err
	}
	for _, e := range entries {
		if e.key == k {
			return asProfile[T](e)
		}
	}
	return none, fmt.Errorf("%s: %w", k, ErrNotFound)
}

func asProfile[T v1alpha1.Object](e entry) (T, error) {
	var none T
	if e.err != nil {
		return none, e.err
	}
	profile, ok := e.object.(T)
	if !ok {
		return none, fmt.Errorf("store: %s holds a %s", e.key, v1alpha1.KindOf(e.object))
	}
	return profile, nil
}

func divide[T v1alpha1.Object](entries []entry) (profiles []T, broken []error) {
	for _, e := range entries {
		profile, err := asProfile[T](e)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		profiles = append(profiles, profile)
	}
	return profiles, broken
}
