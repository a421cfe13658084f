package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// staleAfter is the age of a temporary file whose writer was killed: writing takes
// milliseconds.
const staleAfter = time.Hour

// Put stores a valid profile durably and replaces the one of the same kind, name and
// machine. It is stored by the name of its application, without the label that says it
// (v1alpha1.NameByApplication), and its numbers are rounded as by v1alpha1.Encode. When Put
// fails, the previous profile is unchanged.
func (s *Store) Put(o v1alpha1.Object) error {
	o = byApplication(o)
	text, err := v1alpha1.Encode(o)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	k := keyOf(o)
	if err := k.checkLength(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return s.write(k, text)
}

// byApplication returns o with the name that it has in a store.
func byApplication(o v1alpha1.Object) v1alpha1.Object {
	p, ok := o.(*v1alpha1.ApplicationProfile)
	if !ok || p.Labels[v1alpha1.ApplicationLabel] == "" {
		return o
	}
	p = p.DeepCopy()
	v1alpha1.NameByApplication(p)
	return p
}

// checkLength refuses names that Kubernetes allows but file systems do not.
func (k key) checkLength() error {
	if name := path.Base(k.path()); len(name) > maxFileName {
		return fmt.Errorf("%s: the file name would take %d bytes, of at most %d: choose a shorter name", k, len(name), maxFileName)
	}
	return nil
}

// CheckWritable fails where Put could not write, before what is to be stored is measured.
// The folder itself may be missing yet.
func (s *Store) CheckWritable() error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, kind := range []string{v1alpha1.KindApplicationProfile, v1alpha1.KindMachineProfile} {
		if err := writable(filepath.Join(dir, folder(kind))); err != nil {
			return fmt.Errorf("store: %w%s", err, remedy(err))
		}
	}
	return nil
}

// writable fails where the nearest folder that exists, dir or one above it, cannot be
// written to.
func writable(dir string) error {
	for {
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		switch parent := filepath.Dir(dir); {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrNotExist) && parent != dir:
			dir = parent
		default:
			return &fs.PathError{Op: "write to", Path: dir, Err: err}
		}
	}
}

func (s *Store) write(k key, text []byte) error {
	if err := s.replaceFile(k, text); err != nil {
		return fmt.Errorf("store %s: write %s: %w%s", s.dir, k, err, remedy(err))
	}
	return nil
}

// openFolder opens the folder of a kind. It is below that of the store, where profiles are
// read from: a link to a folder elsewhere is an error.
func (s *Store) openFolder(kind string) (*os.Root, error) {
	store, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return store.OpenRoot(folder(kind))
}

// replaceFile writes the file of k in one step.
func (s *Store) replaceFile(k key, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Join(s.dir, folder(k.kind)), 0o755); err != nil {
		return err
	}
	root, err := s.openFolder(k.kind)
	if err != nil {
		return err
	}
	defer root.Close()
	name := path.Base(k.path())
	removeStale(root)
	pending, err := renameio.NewPendingFile(name, renameio.WithRoot(root), renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	// After success this does nothing.
	defer func() { err = errors.Join(err, pending.Cleanup()) }()
	if _, err := pending.Write(text); err != nil {
		return err
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncDir(root)
}

// syncDir makes a rename or removal survive a power failure. Some network file
// systems cannot; the file is in place all the same.
func syncDir(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// removeStale deletes the files of killed writers as far as it can.
func removeStale(root *os.Root) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !temporary(entry.Name()) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			_ = root.Remove(entry.Name())
		}
	}
}

// temporary reports whether a name is one of renameio's: a dot, the name of
// the file, and a random number.
func temporary(name string) bool {
	rest, hidden := strings.CutPrefix(name, ".")
	stem := strings.TrimRight(rest, "0123456789")
	return hidden && stem != rest && strings.HasSuffix(stem, extension)
}

// Delete removes a profile, which may be broken. An application is chosen as by
// [Store.Application], but machine must be the profile's if it is not empty; for a
// MachineProfile it must be empty. The error is ErrNotFound if there is no profile.
func (s *Store) Delete(kind, name, machine string) error {
	switch {
	case kind != v1alpha1.KindApplicationProfile && kind != v1alpha1.KindMachineProfile:
		return fmt.Errorf("store: kind %q: want %s or %s", kind, v1alpha1.KindApplicationProfile, v1alpha1.KindMachineProfile)
	case kind == v1alpha1.KindMachineProfile && machine != "":
		return fmt.Errorf("store: machine %q: want none with a %s", machine, kind)
	}
	keys, err := s.list(kind)
	if err != nil {
		return err
	}
	k, err := chooseKey(keys, kind, name, machine)
	if err != nil {
		return err
	}
	if machine != "" && k.machine != machine {
		return fmt.Errorf("%s of machine %q: %w: it has one of %s", k.kind, machine, ErrNotFound, k.machine)
	}
	if err := s.remove(k); err != nil {
		return fmt.Errorf("store: delete %s: %w%s", k, err, remedy(err))
	}
	return nil
}

func (s *Store) remove(k key) error {
	root, err := s.openFolder(k.kind)
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.Remove(path.Base(k.path()))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return errors.Join(err, syncDir(root))
}

// readRemedy is remedy for what only has to be read.
func readRemedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return ": change its permissions, so that you may read it"
	case strings.Contains(err.Error(), "path escapes from parent"): // os exports no such error
		return ": links out of the store are not followed: copy the file"
	}
	return remedy(err)
}

// remedy returns the remedy for an error of the file system, to append to it.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ": choose a folder you may write to with --store or BANDMATE_STORE, or change its permissions"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return ": make room, or choose another folder with --store or BANDMATE_STORE; what was stored before is unchanged"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return ": a file is in place of the folder: move it away, or choose another folder with --store or BANDMATE_STORE"
	}
	return ""
}
