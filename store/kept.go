package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// Kept is results beside the profiles of a folder, in DIR/.kept, that can be computed
// again: reading and writing never fails, but may find and do nothing. A result is found
// under the key it was kept under only, and only whole; of two writers, the last one
// wins. The zero value keeps nothing.
type Kept struct{ dir, version string }

const (
	keptDir = ".kept"
	// keptMagic begins a file: its format.
	keptMagic = "bandmate result 1\n"
	// mostKept is the number of files of a kind that are kept, the newest.
	mostKept = 8
	// mostKeptBytes bounds the file that is read.
	mostKeptBytes = 256 << 20
)

// Kept returns the results that a program of this version keeps beside the profiles.
func (s *Store) Kept(version string) Kept { return Kept{filepath.Join(s.dir, keptDir), version} }

// file returns the name of the file of a key, and the sum that it holds.
func (k Kept) file(kind, key string) (name string, sum [sha256.Size]byte) {
	sum = sha256.Sum256([]byte(kind + "\x00" + k.version + "\x00" + key))
	return kind + "-" + hex.EncodeToString(sum[:8]), sum
}

// Load returns a result; false where there is none, or it was damaged.
func (k Kept) Load(kind, key string) ([]byte, bool) {
	if k.dir == "" {
		return nil, false
	}
	name, sum := k.file(kind, key)
	path := filepath.Join(k.dir, name)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostKeptBytes {
		return nil, false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	rest, ok := bytes.CutPrefix(text, []byte(keptMagic))
	if !ok || len(rest) < 2*sha256.Size {
		return nil, false
	}
	data := rest[2*sha256.Size:]
	content := sha256.Sum256(data)
	if !bytes.Equal(rest[:sha256.Size], sum[:]) || !bytes.Equal(rest[sha256.Size:2*sha256.Size], content[:]) {
		return nil, false
	}
	return data, true
}

// Save keeps a result where the folder of profiles can be written.
func (k Kept) Save(kind, key string, data []byte) {
	if k.dir == "" || len(data) > mostKeptBytes/2 {
		return
	}
	if err := os.Mkdir(k.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		return
	}
	defer root.Close()
	name, sum := k.file(kind, key)
	content := sha256.Sum256(data)
	// Without a flush to the disk: what a power failure leaves is no result.
	pending, err := renameio.NewPendingFile(name, renameio.WithRoot(root), renameio.WithPermissions(0o644))
	if err != nil {
		return
	}
	defer func() { _ = pending.Cleanup() }()
	for _, part := range [][]byte{[]byte(keptMagic), sum[:], content[:], data} {
		if _, err := pending.Write(part); err != nil {
			return
		}
	}
	if err := pending.CloseAtomicallyReplace(); err == nil {
		k.prune(root, kind)
	}
}

// prune removes the oldest files of a kind, and what killed writers left.
func (k Kept) prune(root *os.Root, kind string) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), kind+"-") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, f := range files[min(len(files), mostKept):] {
		_ = root.Remove(f.Name())
	}
}
