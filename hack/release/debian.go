package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// debianVersion orders a version before a release, v0.1.0-rc.1, before the release
// as dpkg does: 0.1.0~rc.1.
func debianVersion(version string) string {
	return strings.Replace(strings.TrimPrefix(version, "v"), "-", "~", 1)
}

// debianPackage makes a binary package of the files below a folder: all root's,
// every file with the same time, the modes 755 and 644 only.
func debianPackage(folder, version, architecture string, at time.Time) ([]byte, error) {
	contents, err := contentsOf(folder, at)
	if err != nil {
		return nil, err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: program, Arch: architecture, Platform: "linux",
		Version: version, VersionSchema: "none",
		Section: "admin", Priority: "optional",
		Maintainer: "Bandmate authors <authors@bandmate.dev>",
		Homepage:   "https://bandmate.dev/bandmate",
		Description: "how much jobs slow each other down through memory bandwidth\n" +
			"Bandmate measures an application once, alone and beside a synthetic interferer,\n" +
			"and predicts from that how much any co-location slows each application down. It\n" +
			"advises people, Slurm and Kubernetes.",
		MTime: at, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return nil, fmt.Errorf("packing for Debian: %w", err)
	}
	var b bytes.Buffer
	if err := deb.Default.Package(info, &b); err != nil {
		return nil, fmt.Errorf("packing for Debian: %w", err)
	}
	return b.Bytes(), nil
}

// contentsOf lists the files and links below a folder.
func contentsOf(folder string, at time.Time) (contents files.Contents, err error) {
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		c := &files.Content{
			Source: name, Destination: path.Join("/", filepath.ToSlash(below)),
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o644, MTime: at},
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			c.Type, c.FileInfo.Mode = files.TypeSymlink, 0o777
			if c.Source, err = os.Readlink(name); err != nil {
				return err
			}
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s: %v: neither a file, nor a folder, nor a link", name, info.Mode())
		case info.Mode()&0o111 != 0:
			c.FileInfo.Mode = 0o755
		}
		contents = append(contents, c)
		return nil
	})
	return contents, err
}
