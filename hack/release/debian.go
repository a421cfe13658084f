package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"
	"time"
)

// debianVersion orders a version before a release, v0.1.0-rc.1, before the release
// as dpkg does: 0.1.0~rc.1.
func debianVersion(version string) string {
	return strings.Replace(strings.TrimPrefix(version, "v"), "-", "~", 1)
}

// debianPackage makes a binary package of a tree, in the format of deb(5): an
// archive of ar with the version of the format, the control files and the files.
func debianPackage(tree fs.FS, version, architecture string, at time.Time) ([]byte, error) {
	data, err := archive(tree, ".", at)
	if err != nil {
		return nil, err
	}
	sums, size, err := checksums(tree)
	if err != nil {
		return nil, err
	}
	control, err := archive(fstest.MapFS{
		"control": {Data: []byte(controlFile(version, architecture, size)), Mode: 0o644},
		"md5sums": {Data: sums, Mode: 0o644},
	}, ".", at)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []struct {
		name    string
		content []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", control}, {"data.tar.gz", data}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", member.name, at.Unix(), 0, 0, 0o100644, len(member.content))
		b.Write(member.content)
		if len(member.content)%2 != 0 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}

// controlFile is deb-control(5).
func controlFile(version, architecture string, size int64) string {
	return fmt.Sprintf(`Package: %s
Version: %s
Architecture: %s
Maintainer: Bandmate authors <authors@bandmate.dev>
Installed-Size: %d
Section: admin
Priority: optional
Homepage: https://bandmate.dev/bandmate
Description: how much jobs slow each other down through memory bandwidth
 Bandmate measures an application once, alone and beside a synthetic interferer,
 and predicts from that how much any co-location slows each application down. It
 advises people, Slurm and Kubernetes.
`, program, version, architecture, (size+1023)/1024)
}

// checksums returns what dpkg verifies files with, and the size of all files.
func checksums(tree fs.FS) (sums []byte, size int64, err error) {
	var b bytes.Buffer
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		size += int64(len(content))
		fmt.Fprintf(&b, "%x  %s\n", md5.Sum(content), name)
		return nil
	})
	return b.Bytes(), size, err
}
