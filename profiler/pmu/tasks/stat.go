package tasks

import (
	"errors"
	"io/fs"
	"syscall"

	"bandmate.dev/bandmate/internal/sysfile"
)

// maxFileBytes is far above the files read here; a cgroup of 64k threads has
// half a megabyte of numbers.
const maxFileBytes = 1 << 22

func read(fsys fs.FS, name string) ([]byte, error) { return sysfile.Read(fsys, name, maxFileBytes) }

// isGone reports whether a file does not exist, or its process or group ended
// while it was read.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH)
}
