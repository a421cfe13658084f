package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var (
	epoch = time.Unix(1_700_000_000, 0).UTC()
	tree  = fstest.MapFS{
		"usr/share/b.txt":  {Data: []byte("b"), Mode: 0o600, ModTime: time.Unix(5, 0)},
		"usr/bin/program":  {Data: []byte("#!"), Mode: 0o700},
		"usr/share/a.txt":  {Data: []byte("aa"), Mode: 0o664},
		"usr/bin/a-second": {Data: []byte("x"), Mode: 0o755},
	}
)

func entries(t *testing.T, packed []byte) (all []*tar.Header) {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(unpacked)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
}

// Neither the times nor the modes nor the owners of the files that are packed show.
func TestArchive(t *testing.T) {
	packed, err := archive(tree, "top", epoch)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range entries(t, packed) {
		names = append(names, h.Name)
		if !h.ModTime.Equal(epoch) || h.Uid != 0 || h.Gid != 0 || h.Uname != "root" {
			t.Errorf("%s: %v of %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		want := int64(0o644)
		if strings.HasPrefix(h.Name, "top/usr/bin/") && h.Typeflag == tar.TypeReg {
			want = 0o755
		}
		if h.Typeflag == tar.TypeReg && h.Mode != want {
			t.Errorf("%s: mode %o", h.Name, h.Mode)
		}
	}
	want := []string{"top/", "top/usr/", "top/usr/bin/", "top/usr/bin/a-second", "top/usr/bin/program", "top/usr/share/", "top/usr/share/a.txt", "top/usr/share/b.txt"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	again, err := archive(tree, "top", epoch)
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("packed twice, two archives: %v", err)
	}
}

// Two folders that differ in times and modes only give one package.
func TestDebianPackage(t *testing.T) {
	folder := func(program, text fs.FileMode) string {
		folder := t.TempDir()
		for name, mode := range map[string]fs.FileMode{"usr/bin/program": program, "usr/share/a.txt": text} {
			file := filepath.Join(folder, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(name), mode)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("a.txt", filepath.Join(folder, "usr/share/link")); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	packed, err := debianPackage(folder(0o700, 0o600), "0.1.0~rc.1", "arm64", epoch)
	if err != nil {
		t.Fatal(err)
	}
	again, err := debianPackage(folder(0o755, 0o644), "0.1.0~rc.1", "arm64", epoch)
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("packed twice, two packages: %v", err)
	}
	if !bytes.HasPrefix(packed, []byte("!<arch>\ndebian-binary   1700000000  ")) {
		t.Errorf("it begins %q", packed[:min(len(packed), 100)])
	}
	if _, err := debianPackage(filepath.Join(t.TempDir(), "missing"), "0.1.0", "arm64", epoch); err == nil {
		t.Error("a missing folder was packed")
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "0.1.0", "v1.20.3-rc.1": "1.20.3~rc.1", "v1.0.0-a-b": "1.0.0~a-b",
		"0.1.0": "", "v1": "", "v1.2": "", "v01.2.3": "", "v1.2.3+build": "", "v1.2.3-": "", "v1.2.3 ": "", "": "",
	} {
		if got := semanticVersion.MatchString(version); got != (want != "") {
			t.Errorf("%q is a version: %v", version, got)
		}
		if want != "" && debianVersion(version) != want {
			t.Errorf("%q is %q to Debian", version, debianVersion(version))
		}
	}
}

func TestBill(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "bandmate.dev/bandmate"}, Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
		{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/new", Version: "v2.0.0"}},
	}}
	written, err := writeBill(info, "v0.1.0", "amd64", sha256.Sum256([]byte("program")), epoch)
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat    string
		SerialNumber string
		Components   []struct {
			PURL   string
			Hashes []struct{ Content string }
		}
	}
	if err := json.Unmarshal(written, &bill); err != nil {
		t.Fatal(err)
	}
	var purls []string
	for _, c := range bill.Components {
		purls = append(purls, c.PURL)
	}
	want := []string{"pkg:golang/std@go1.26.0", "pkg:golang/example.org/a@v1.0.0", "pkg:golang/example.org/new@v2.0.0"}
	if bill.BOMFormat != "CycloneDX" || !slices.Equal(purls, want) {
		t.Errorf("%s: %q", bill.BOMFormat, purls)
	}
	if h := bill.Components[1].Hashes; len(h) != 1 || h[0].Content != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("hash of a module: %v", h)
	}
	if len(bill.SerialNumber) != len("urn:uuid:00000000-0000-8000-8000-000000000000") || bill.SerialNumber[23] != '8' {
		t.Errorf("serial number %s", bill.SerialNumber)
	}
	info.Deps[0].Sum = "h1:?"
	if _, err := writeBill(info, "v0.1.0", "amd64", [32]byte{}, epoch); err == nil {
		t.Error("a broken checksum is no error")
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		epoch string
		args  []string
		want  string
	}{
		{"1", []string{"-version", "0.1", "-out", "x"}, "-version"},
		{"1", []string{"-version", "v0.1.0"}, "-out"},
		{"", []string{"-version", "v0.1.0", "-out", "x"}, "SOURCE_DATE_EPOCH"},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", test.epoch)
		if err := run(context.Background(), test.args, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.args, err, test.want)
		}
	}
}
