package cli

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io"
	"os"
)

// executable is the file of this program.
const executable = "/proc/self/exe"

// identity identifies this build of the program, so that results kept on disk are those
// of the same code: a commit without changes, the build ID that the Go linker wrote, or
// else the content of the program's file.
func identity() (string, error) {
	file, err := os.Open(executable)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return identityOf(file, release)
}

// program is a file that can be read at any place.
type program interface {
	io.ReaderAt
	io.ReadSeeker
}

func identityOf(file program, release string) (string, error) {
	sum := sha256.New()
	_, _ = sum.Write([]byte(release)) // never fails
	info, err := buildinfo.Read(file)
	if err == nil {
		var revision, unchanged bool
		for _, s := range info.Settings {
			revision = revision || s.Key == "vcs.revision" && s.Value != ""
			unchanged = unchanged || s.Key == "vcs.modified" && s.Value == "false"
		}
		_, _ = sum.Write([]byte(info.String()))
		if revision && unchanged {
			return string(sum.Sum(nil)), nil
		}
	}
	if id := buildID(file); len(id) > 0 {
		_, _ = sum.Write(id)
		return string(sum.Sum(nil)), nil
	}
	_, seekErr := file.Seek(0, io.SeekStart)
	_, err = io.Copy(sum, file)
	return string(sum.Sum(nil)), errors.Join(seekErr, err)
}

// buildID returns the note of the Go linker; nil without one, as after -buildid=.
func buildID(file io.ReaderAt) []byte {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil
	}
	section := f.Section(".note.go.buildid")
	if section == nil {
		return nil
	}
	note, err := section.Data()
	// Three words: the lengths of the name "Go" and of the ID, and the type.
	const header, name = 12, "Go\x00\x00"
	if err != nil || len(note) < header+len(name) || !bytes.HasPrefix(note[header:], []byte(name)) {
		return nil
	}
	id := note[header+len(name):]
	if length := f.ByteOrder.Uint32(note[4:]); int(length) < len(id) {
		id = id[:length]
	}
	return id
}
