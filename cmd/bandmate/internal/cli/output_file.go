package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/report"
)

// WriteFile writes a file that a flag names, whole or not at all; none where it
// names none. An earlier file of the name is replaced.
func WriteFile(flag, file string, data []byte) error {
	if file == "" {
		return nil
	}
	if err := checkTarget(flag, file); err != nil {
		return err
	}
	return FileError(flag, file, renameio.WriteFile(Target(file), data, 0o644))
}

// CheckFile fails early where writeOutput would: before what takes minutes.
func CheckFile(flag, file string) error {
	if file == "" {
		return nil
	}
	if err := checkTarget(flag, file); err != nil {
		return err
	}
	folder := filepath.Dir(Target(file))
	info, err := os.Stat(folder)
	switch {
	case err != nil:
	case !info.IsDir():
		err = syscall.ENOTDIR
	default:
		err = unix.Access(folder, unix.W_OK|unix.X_OK)
	}
	return FileError(flag, file, err)
}

// Target is the file that a symbolic link leads to, or else the name itself: the link is
// kept, and its file is replaced.
func Target(file string) string {
	if to, err := filepath.EvalSymlinks(file); err == nil {
		return to
	}
	return file
}

// checkTarget refuses what is there and is no file.
func checkTarget(flag, file string) error {
	switch info, err := os.Stat(file); {
	case err == nil && info.IsDir():
		return FileError(flag, file, syscall.EISDIR)
	case err == nil && !info.Mode().IsRegular():
		// Replacing it would take a device or a pipe away.
		return Usagef("--%s %s: not a regular file: choose another place with --%s", flag, report.SanitizeText(file), flag)
	}
	return nil
}

// FileError names the file, the reason without the temporary file that it
// happened to, and what to do.
func FileError(flag, file string, err error) error {
	reason := err
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		reason = at.Err
	} else if at := (*os.LinkError)(nil); errors.As(err, &at) {
		reason = at.Err
	}
	remedy := "choose a place you may write to with --" + flag
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		remedy = "make the folder first, or choose another place with --" + flag
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		remedy = "make room, or choose another place with --" + flag
	}
	return fmt.Errorf("%w: %s", &fs.PathError{Op: "write", Path: report.SanitizeText(file), Err: reason}, remedy)
}
