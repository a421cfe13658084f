package ticks

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/ticks/progress"
)

const (
	// pageBytes is the size of the file. Only its first eight bytes are used.
	pageBytes  = 4096
	pagePrefix = "bandmate-progress-"
	sharedDir  = "/dev/shm"
)

// Page counts what the program itself adds to a page of shared memory, a file
// whose path it finds in the environment variable [progress.Variable]. The count
// is the first eight bytes, a 64-bit integer in the byte order of the machine, to
// which any thread of any process of the program adds atomically. Counting costs
// the program some nanoseconds a tick.
//
// Package progress counts in Go, bandmate_progress.h beside it in C.
type Page struct {
	// Dir is the folder of the file; empty for /dev/shm, or [os.TempDir] where
	// nothing can be written there.
	Dir string
}

var _ Source = Page{}

// Name returns "page".
func (Page) Name() string { return "page" }

// Prepare makes a page, and removes those of programs that were killed.
func (p Page) Prepare() (*Run, error) {
	page, err := p.create()
	if err != nil {
		return nil, fmt.Errorf("page of progress: %w: %w", ErrUnavailable, err)
	}
	return &Run{
		Env:   []string{progress.Variable + "=" + page.file.Name()},
		Open:  func(pid int) (Counter, error) { return newCounter(p.Name(), pid, page.open) },
		Found: page.isMapped,
		Close: page.remove,
	}, nil
}

func (p Page) dirs() []string {
	if p.Dir != "" {
		return []string{p.Dir}
	}
	return []string{sharedDir, os.TempDir()}
}

func (p Page) create() (*page, error) {
	var faults []error
	for _, dir := range p.dirs() {
		removeAbandoned(dir)
		made, err := newPage(dir)
		if err == nil {
			return made, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// page is the file. Its owner holds a lock on it, which the kernel releases when
// the owner ends, whatever ends it: a page that can be locked has no owner.
type page struct {
	file   *os.File
	memory []byte
	remove func() error
}

func newPage(dir string) (*page, error) {
	for {
		name := filepath.Join(dir, pagePrefix+rand.Text())
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		made := &page{file: file}
		made.remove = sync.OnceValue(made.release)
		isOurs, err := made.init()
		if err != nil {
			return nil, errors.Join(err, made.remove())
		}
		if isOurs {
			return made, nil
		}
		// Another process took the file for abandoned before it was locked.
		if err := made.remove(); err != nil {
			return nil, err
		}
	}
}

// init reports whether the file is still there when it is locked.
func (p *page) init() (isThere bool, err error) {
	fd := int(p.file.Fd())
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("locking %s: %w", p.file.Name(), err)
	}
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil || status.Nlink == 0 {
		return false, err
	}
	// Writing now allocates the memory before the program counts.
	if _, err := p.file.WriteAt(make([]byte, pageBytes), 0); err != nil {
		return false, err
	}
	p.memory, err = unix.Mmap(fd, 0, pageBytes, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return false, fmt.Errorf("mapping %s: %w", p.file.Name(), err)
	}
	return true, nil
}

func (p *page) release() error {
	var faults []error
	if p.memory != nil {
		faults = append(faults, unix.Munmap(p.memory))
	}
	if err := os.Remove(p.file.Name()); !errors.Is(err, fs.ErrNotExist) {
		faults = append(faults, err)
	}
	return errors.Join(append(faults, p.file.Close())...)
}

// isMapped reports whether a process or one of its descendants has mapped the page.
func (p *page) isMapped(root int) bool {
	name := []byte(filepath.Base(p.file.Name())) // is random: no other file has it
	return slices.ContainsFunc(append([]int{root}, descendants(root)...), func(pid int) bool {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		return err == nil && bytes.Contains(maps, name)
	})
}

func (p *page) open() (reader, error) { return pageReader{p.memory}, nil }

// pageReader reads a page, which ends with the Run.
type pageReader struct{ memory []byte }

// read fails when the program has cut the file short, which makes the access to
// the memory fault.
func (r pageReader) read() (n float64, err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if fault := recover(); fault != nil {
			n, err = 0, fmt.Errorf("%w: the program cut its page short (%v)", ErrLost, fault)
		}
	}()
	return float64(atomic.LoadUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(r.memory))))), nil
}

func (pageReader) close() error { return nil }

// RemoveAbandonedPages removes the pages whose owner was killed before it could
// do so. [Page.Prepare] calls it, too.
func RemoveAbandonedPages() {
	for _, dir := range (Page{}).dirs() {
		removeAbandoned(dir)
	}
}

func removeAbandoned(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), pagePrefix) && e.Type().IsRegular() {
			removeUnlocked(filepath.Join(dir, e.Name()))
		}
	}
}

// removeUnlocked leaves a page alone that has an owner, or is another user's.
func removeUnlocked(name string) {
	file, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.Remove(name) // what cannot be removed is tried again next time
	}
}
