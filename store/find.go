package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Errors of a search by name.
var (
	ErrNotFound  = v1alpha1.ErrNotFound
	ErrAmbiguous = v1alpha1.ErrAmbiguous
)

// Application returns the profile of an application on a machine. A single profile is
// returned whatever its machine: the caller compares spec.machine. Of several, none of
// which is of machine, the error is ErrAmbiguous and lists them. ErrNotFound suggests
// similar names.
func (s *Store) Application(name, machine string) (*v1alpha1.ApplicationProfile, error) {
	entries, err := s.entries(v1alpha1.KindApplicationProfile)
	if err != nil {
		return nil, err
	}
	return pick[*v1alpha1.ApplicationProfile](entries, v1alpha1.KindApplicationProfile, name, machine)
}

// Machine returns the profile of a machine, or ErrNotFound with similar names.
func (s *Store) Machine(name string) (*v1alpha1.MachineProfile, error) {
	entries, err := s.entries(v1alpha1.KindMachineProfile)
	if err != nil {
		return nil, err
	}
	return pick[*v1alpha1.MachineProfile](entries, v1alpha1.KindMachineProfile, name, "")
}

// Applications returns every application profile, sorted by name and machine, and the
// errors of files that cannot be read. err means that the folder cannot be read.
func (s *Store) Applications() (profiles []*v1alpha1.ApplicationProfile, broken []error, err error) {
	entries, err := s.entries(v1alpha1.KindApplicationProfile)
	profiles, broken = all[*v1alpha1.ApplicationProfile](entries)
	return profiles, broken, err
}

// Machines returns every machine profile, sorted by name; broken and err are
// as of Applications.
func (s *Store) Machines() (profiles []*v1alpha1.MachineProfile, broken []error, err error) {
	entries, err := s.entries(v1alpha1.KindMachineProfile)
	profiles, broken = all[*v1alpha1.MachineProfile](entries)
	return profiles, broken, err
}

// entry is a profile that can be read.
type entry struct {
	key  key
	read func() (v1alpha1.Object, error)
}

// entries lists the files of a kind, which are read when asked for.
func (s *Store) entries(kind string) ([]entry, error) {
	keys, err := s.list(kind)
	entries := make([]entry, len(keys))
	for i, k := range keys {
		entries[i] = entry{k, func() (v1alpha1.Object, error) { return s.read(k) }}
	}
	return entries, err
}

// pick reads the profile of a name.
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
	return readAs[T](entries[slices.Index(keys, k)])
}

// all reads every profile but those that were deleted meanwhile.
func all[T v1alpha1.Object](entries []entry) (profiles []T, broken []error) {
	for _, e := range entries {
		profile, err := readAs[T](e)
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			broken = append(broken, err)
		default:
			profiles = append(profiles, profile)
		}
	}
	return profiles, broken
}

func readAs[T v1alpha1.Object](e entry) (T, error) {
	var none T
	object, err := e.read()
	if err != nil {
		return none, err
	}
	profile, ok := object.(T)
	if !ok {
		return none, fmt.Errorf("store: %s holds a %s", e.key, v1alpha1.KindOf(object))
	}
	return profile, nil
}

// chooseKey returns the key of the profile with a name, among those of its kind.
func chooseKey(keys []key, kind, name, machine string) (key, error) {
	var found []key
	for _, k := range keys {
		if k.name == name {
			found = append(found, k)
		}
	}
	if len(found) > 1 { // a misnamed file beside a sound one
		found = slices.DeleteFunc(found, func(k key) bool { return k.machine == "" })
	}
	for _, k := range found {
		if len(found) == 1 || machine != "" && k.machine == machine {
			return k, nil
		}
	}
	if len(found) == 0 {
		return key{}, notFound(kind, name, keys)
	}
	machines := make([]string, 0, len(found))
	for _, k := range found {
		machines = append(machines, k.machine)
	}
	return key{}, fmt.Errorf("%s %q: %w: choose one of %s", kind, name, ErrAmbiguous, strings.Join(machines, ", "))
}

func notFound(kind, name string, keys []key) error {
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.name)
	}
	if near := v1alpha1.NearNames(name, slices.Compact(names)); len(near) > 0 {
		return fmt.Errorf("%s %q: %w: did you mean %s?", kind, name, ErrNotFound, strings.Join(near, " or "))
	}
	return fmt.Errorf("%s %q: %w", kind, name, ErrNotFound)
}
