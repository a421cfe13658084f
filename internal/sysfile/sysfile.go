// Package sysfile reads the small files in which the kernel says something: those
// of sysfs, procfs and cgroups. A file is named below the root of an fs.FS, and no
// file costs more memory than the kernel's own ever need.
package sysfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// ErrMalformed is wrapped by errors about files whose content is not what the
// kernel documents.
var ErrMalformed = errors.New("malformed")

// maxText holds the longest list of CPUs, far above any other value.
const maxText = 64 << 10

// Text reads a file of one value, without the blanks around it.
func Text(fsys fs.FS, name string) (string, error) {
	data, err := Read(fsys, name, maxText)
	return strings.TrimSpace(string(data)), err
}

// Int reads a file of one number of 32 bits.
func Int(fsys fs.FS, name string) (int, error) {
	text, err := Text(fsys, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %q is not a number", name, ErrMalformed, text)
	}
	return int(n), nil
}

// Read reads a file of at most limit bytes; a longer one is malformed.
func Read(fsys fs.FS, name string, limit int64) ([]byte, error) {
	data, err := ReadStart(fsys, name, limit+1)
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w: longer than %d bytes", name, ErrMalformed, limit)
	}
	return data, err
}

// ReadStart reads the first bytes of a file, up to limit.
func ReadStart(fsys fs.FS, name string, limit int64) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// OpenHost opens sysfs and procfs of the machine this process runs on.
func OpenHost() (sys, proc fs.FS, closeBoth func() error, err error) {
	sysRoot, err := os.OpenRoot("/sys")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("mount sysfs on /sys: %w", err)
	}
	procRoot, err := os.OpenRoot("/proc")
	if err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("mount procfs on /proc: %w", err), sysRoot.Close())
	}
	return sysRoot.FS(), procRoot.FS(), func() error { return errors.Join(sysRoot.Close(), procRoot.Close()) }, nil
}
