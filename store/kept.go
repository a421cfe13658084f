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
	"time"

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
	// mostKept is the number of files of a kind that are kept, those used last.
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

// header is what a kept file begins with, after keptMagic.
type header struct{ key, content [sha256.Size]byte }

const headerBytes = int64(len(keptMagic) + 2*sha256.Size)

// open returns the file of a key, and its header; nil where there is none. The caller
// holds what follows against header.content.
func (k Kept) open(kind, key string) (*os.File, header) {
	var h header
	if k.dir == "" {
		return nil, h
	}
	name, sum := k.file(kind, key)
	path := filepath.Join(k.dir, name)
	// Opening a named pipe would block.
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil, h
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, h
	}
	text := make([]byte, headerBytes)
	if _, err := file.ReadAt(text, 0); err == nil {
		if rest, ok := bytes.CutPrefix(text, []byte(keptMagic)); ok {
			copy(h.content[:], rest[copy(h.key[:], rest):])
		}
	}
	if h.key != sum {
		_ = file.Close() // it was only read
		return nil, h
	}
	return file, h
}

// Load returns a result; false where there is none, or it was damaged. The time of its file
// becomes that of this use, for prune.
func (k Kept) Load(kind, key string) ([]byte, bool) {
	file, header := k.open(kind, key)
	if file == nil {
		return nil, false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() < headerBytes || info.Size() > mostKeptBytes {
		return nil, false
	}
	data := make([]byte, info.Size()-headerBytes)
	if _, err := file.ReadAt(data, headerBytes); err != nil || sha256.Sum256(data) != header.content {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(file.Name(), now, now) // who may only read does not prune either
	return data, true
}

// Save keeps a result where the folder of profiles can be written.
func (k Kept) Save(kind, key string, data []byte) {
	if len(data) <= mostKeptBytes/2 {
		k.write(kind, key, data, nil)
	}
}

// write keeps data, with its sum, and the bytes after it.
func (k Kept) write(kind, key string, data, after []byte) {
	if k.dir == "" {
		return
	}
	if err := os.Mkdir(k.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	// Opening a named pipe would block.
	if info, err := os.Stat(k.dir); err != nil || !info.IsDir() {
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
	for _, part := range [][]byte{[]byte(keptMagic), sum[:], content[:], data, after} {
		if _, err := pending.Write(part); err != nil {
			return
		}
	}
	if err := pending.CloseAtomicallyReplace(); err == nil {
		k.prune(root, kind)
	}
}

// prune removes the files of a kind whose last use is longest ago, and what killed writers
// left.
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
