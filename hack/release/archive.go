package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// archive packs a tree below a folder of the given name: names in order, all of
// root's, every file with the same time, the modes 755 and 644 only.
func archive(tree fs.FS, folder string, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	out := tar.NewWriter(compressed)
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return addTo(out, tree, name, path.Join(folder, name), entry, at)
	})
	if err := errors.Join(err, out.Close(), compressed.Close()); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b.Bytes(), nil
}

func addTo(out *tar.Writer, tree fs.FS, name, as string, entry fs.DirEntry, at time.Time) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: as, Mode: 0o644, ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
	if info.Mode()&0o111 != 0 {
		header.Mode = 0o755
	}
	var content []byte
	switch info.Mode().Type() {
	case fs.ModeDir:
		header.Typeflag, header.Name = tar.TypeDir, as+"/"
	case fs.ModeSymlink:
		header.Typeflag, header.Mode = tar.TypeSymlink, 0o777
		if header.Linkname, err = fs.ReadLink(tree, name); err != nil {
			return err
		}
	case 0:
		header.Typeflag = tar.TypeReg
		if content, err = fs.ReadFile(tree, name); err != nil {
			return err
		}
		header.Size = int64(len(content))
	default:
		return fmt.Errorf("%s: %v: neither a file, nor a folder, nor a link", name, info.Mode())
	}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}
