package store

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Store is a folder of profiles. It may be used from several goroutines, and
// the folder from several processes.
type Store struct{ dir string }

// Open returns the store in a folder. A folder that does not exist yet is an
// empty store and is made by the first Put; something else in its place is an
// error, and so is a name that begins with ~, which settings files and services do not
// replace by a home folder.
func Open(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("store: the folder has no name: set BANDMATE_STORE or give --store")
	}
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		return nil, fmt.Errorf("store %s: no shell has replaced the ~: write the name of the folder in full", dir)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("store: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("store %s: not a folder: give another one with --store", dir)
	}
	return &Store{dir: dir}, nil
}

// DefaultDir returns the default folder: $BANDMATE_STORE, else bandmate/profiles in
// $XDG_DATA_HOME or ~/.local/share. env looks up a variable, as os.Getenv does.
func DefaultDir(env func(string) string) (string, error) {
	if dir := env("BANDMATE_STORE"); dir != "" {
		return dir, nil
	}
	// The XDG specification says to ignore relative paths.
	if data := env("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "bandmate", "profiles"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "bandmate", "profiles"), nil
	}
	return "", errors.New("store: no folder for profiles: set BANDMATE_STORE or HOME, or give --store")
}

// Dir returns the folder.
func (s *Store) Dir() string { return s.dir }

const (
	applicationsDir = "applications"
	machinesDir     = "machines"
	extension       = ".yaml"
	separator       = "@"
)

// maxFileName leaves room for the longer name of the temporary file within the 255
// bytes of file systems.
const maxFileName = 230

// key identifies a profile of a store.
type key struct{ kind, name, machine string }

// keyOf returns the key of o, which must be valid.
func keyOf(o v1alpha1.Object) key {
	k := key{kind: v1alpha1.KindOf(o), name: o.GetName()}
	if p, ok := o.(*v1alpha1.ApplicationProfile); ok {
		k.machine = p.Spec.Machine.Name
	}
	return k
}

func (k key) String() string {
	if k.machine == "" {
		return fmt.Sprintf("%s %q", k.kind, k.name)
	}
	return fmt.Sprintf("%s %q of machine %q", k.kind, k.name, k.machine)
}

// folder returns the folder of a kind.
func folder(kind string) string {
	if kind == v1alpha1.KindApplicationProfile {
		return applicationsDir
	}
	return machinesDir
}

// path returns the file of k within the store.
func (k key) path() string {
	name := k.name
	if k.machine != "" {
		name += separator + k.machine
	}
	return path.Join(folder(k.kind), name+extension)
}

// parseFileName is the inverse of key.path; false for a foreign file. A misnamed
// file without a machine in its name has a key too: read reports it.
func parseFileName(kind, file string) (key, bool) {
	name, ok := strings.CutSuffix(file, extension)
	if !ok || name == "" || strings.HasPrefix(name, ".") {
		return key{}, false
	}
	before, machine, _ := strings.Cut(name, separator)
	if kind == v1alpha1.KindMachineProfile || machine == "" {
		return key{kind: kind, name: name}, true
	}
	return key{kind: kind, name: before, machine: machine}, true
}

// list returns the keys of a kind that have a file, sorted.
func (s *Store) list(kind string) ([]key, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, folder(kind)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w%s", err, readRemedy(err))
	}
	var keys []key
	for _, entry := range entries {
		if k, ok := parseFileName(kind, entry.Name()); ok {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.machine, b.machine))
	})
	return keys, nil
}

// BrokenError is the error of a file that is not a valid profile.
type BrokenError struct {
	key key
	err error
}

// Error has all faults of the file in one line.
func (e *BrokenError) Error() string { return strings.ReplaceAll(e.err.Error(), "\n", "; ") }

func (e *BrokenError) Unwrap() error { return e.err }

// Profile returns the application and the machine in the name of the file; both are
// empty for the file of a machine.
func (e *BrokenError) Profile() (application, machine string) {
	if e.key.kind != v1alpha1.KindApplicationProfile {
		return "", ""
	}
	return e.key.name, e.key.machine
}

// read returns the profile of k. The error is ErrNotFound when there is none, and
// else a BrokenError that names the file.
func (s *Store) read(k key) (v1alpha1.Object, error) {
	object, _, err := s.readBy(k, v1alpha1.Decode)
	return object, err
}

// readBy is read with a way to decode the text of a file, whose sum it returns.
func (s *Store) readBy(k key, decode func([]byte) (v1alpha1.Object, error)) (object v1alpha1.Object, sum [sha256.Size]byte, err error) {
	text, err := s.text(k)
	if err == nil {
		sum = sha256.Sum256(text)
		object, err = decode(text)
	}
	file := filepath.Join(s.dir, filepath.FromSlash(k.path()))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, sum, fmt.Errorf("%s: %w", k, ErrNotFound)
	case err != nil:
		return nil, sum, &BrokenError{k, fmt.Errorf("%s: %w%s", file, err, readRemedy(err))}
	case keyOf(object) != k:
		return nil, sum, &BrokenError{k, fmt.Errorf("%s holds %s: %s", file, keyOf(object), s.renameRemedy(keyOf(object)))}
	}
	return object, sum, nil
}

// renameRemedy is the remedy for a file with another name than that of its profile k.
func (s *Store) renameRemedy(k key) string {
	if _, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(k.path()))); err == nil {
		return fmt.Sprintf("so does %s: delete one of them", path.Base(k.path()))
	}
	return "rename the file to " + path.Base(k.path())
}

// text reads the file of k.
func (s *Store) text(k key) ([]byte, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Opening a named pipe would block.
	info, err := root.Stat(k.path())
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file: move it away")
	}
	f, err := root.Open(k.path())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, v1alpha1.MaxDocumentBytes+1))
}
