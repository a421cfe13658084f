package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Export writes profiles as a stream of YAML documents, machines first, for Import or
// kubectl apply. A name selects all application profiles and the machine profile of
// that name; without names, Export writes all profiles. If a name has no profile
// (ErrNotFound), a file is broken or there are no profiles, it fails and writes nothing.
func (s *Store) Export(w io.Writer, names ...string) error {
	machines, brokenMachines, err := s.Machines()
	if err != nil {
		return err
	}
	applications, broken, err := s.Applications()
	if err != nil {
		return err
	}
	if err := errors.Join(append(brokenMachines, broken...)...); err != nil && len(names) == 0 {
		return fmt.Errorf("store: repair or delete these files first, or name the profiles to export: %w", err)
	}
	var objects []v1alpha1.Object
	for _, m := range machines {
		objects = append(objects, m)
	}
	for _, a := range applications {
		objects = append(objects, a)
	}
	if len(names) > 0 {
		if objects, err = s.choose(objects, names); err != nil {
			return err
		}
	}
	if len(objects) == 0 {
		return fmt.Errorf("the store %s has no profiles", s.dir)
	}
	text, err := v1alpha1.EncodeAll(objects...)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// choose keeps the objects of the given names, and reports every name that has
// none or whose file is broken.
func (s *Store) choose(objects []v1alpha1.Object, names []string) ([]v1alpha1.Object, error) {
	stored, err := s.keys()
	if err != nil {
		return nil, err
	}
	var chosen []v1alpha1.Object
	for _, o := range objects {
		if slices.Contains(names, o.GetName()) {
			chosen = append(chosen, o)
		}
	}
	var faults []error
	for _, name := range names {
		known := false
		for _, k := range stored {
			if k.name != name {
				continue
			}
			known = true
			if !slices.ContainsFunc(chosen, func(o v1alpha1.Object) bool { return keyOf(o) == k }) {
				_, err := s.read(k) // for its reason
				faults = append(faults, cmp.Or(err, fmt.Errorf("%s changed meanwhile: try again", k)))
			}
		}
		if !known {
			faults = append(faults, notFound("profile", name, stored))
		}
	}
	return chosen, errors.Join(faults...)
}

// keys returns every key that has a file, sorted by name.
func (s *Store) keys() ([]key, error) {
	machines, err := s.list(v1alpha1.KindMachineProfile)
	if err != nil {
		return nil, err
	}
	applications, err := s.list(v1alpha1.KindApplicationProfile)
	if err != nil {
		return nil, err
	}
	keys := append(machines, applications...)
	slices.SortStableFunc(keys, func(a, b key) int { return strings.Compare(a.name, b.name) })
	return keys, nil
}

// Import stores every profile of a stream, as Export and kubectl write it, and returns
// the names of new and of replaced profiles: NAME for a machine, NAME@MACHINE for an
// application, by which it is stored as by Put. It validates the whole stream first; a fault, a repeated profile or an
// empty stream leaves the store unchanged. If writing fails, the names returned with
// the error are those that were stored.
func (s *Store) Import(r io.Reader) (added, replaced []string, err error) {
	text, err := io.ReadAll(io.LimitReader(r, v1alpha1.MaxStreamBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("import: %w", err)
	}
	objects, err := v1alpha1.DecodeAll(text)
	if err != nil {
		return nil, nil, fmt.Errorf("import: nothing was stored: %w", err)
	}
	if len(objects) == 0 {
		return nil, nil, errors.New("import: no profile in it")
	}
	files, err := encodeFiles(objects)
	if err != nil {
		return nil, nil, fmt.Errorf("import: nothing was stored: %w", err)
	}
	stored, err := s.keys()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		if err := s.write(f.key, f.text); err != nil {
			return added, replaced, fmt.Errorf("import: %d of %d profiles were stored: %w", len(added)+len(replaced), len(files), err)
		}
		name := strings.TrimSuffix(f.key.name+separator+f.key.machine, separator)
		if slices.Contains(stored, f.key) {
			replaced = append(replaced, name)
		} else {
			added = append(added, name)
		}
	}
	return added, replaced, nil
}

// file is an encoded profile.
type file struct {
	key  key
	text []byte
}

func encodeFiles(objects []v1alpha1.Object) ([]file, error) {
	files := make([]file, 0, len(objects))
	seen := map[key]bool{}
	var faults []error
	for _, o := range objects {
		o = byApplication(o)
		k := keyOf(o)
		if seen[k] {
			faults = append(faults, fmt.Errorf("%s is given twice", k))
			continue
		}
		seen[k] = true
		text, err := v1alpha1.Encode(o)
		if err := cmp.Or(err, k.checkLength()); err != nil {
			faults = append(faults, err)
		}
		files = append(files, file{k, text})
	}
	return files, errors.Join(faults...)
}
