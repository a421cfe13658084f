package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// names reads the names in an archive back, checking the alignment on the way.
func names(t *testing.T, archive []byte) []string {
	t.Helper()
	var list []string
	for at := 0; at < len(archive); {
		var magic string
		var fields [13]int
		header := string(archive[at:])
		if _, err := fmt.Sscanf(header[:6], "%s", &magic); err != nil || magic != "070701" {
			t.Fatalf("magic %q at %d, err %v", magic, at, err)
		}
		for i := range fields {
			if _, err := fmt.Sscanf(header[6+8*i:14+8*i], "%X", &fields[i]); err != nil {
				t.Fatal(err)
			}
		}
		size, nameSize := fields[6], fields[11]
		list = append(list, header[110:110+nameSize-1])
		at += (110 + nameSize + 3) &^ 3
		at += (size + 3) &^ 3
	}
	return list
}

func TestPack(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(dir, "out")
	if err := pack(output, []string{"init=" + file, "usr/lib/module=" + file}); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"dev", "proc", "sys", "tmp", "usr", "usr/lib", "dev/console", "init", "usr/lib/module", "TRAILER!!!"}
	if got := names(t, archive); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if n := bytes.Count(archive, []byte("12345\x00\x00\x00")); n != 2 {
		t.Errorf("%d padded copies of the data, want 2", n)
	}
}

func TestPackFaults(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out")
	for _, argument := range []string{"name", "=file", "name=/nonexistent/file"} {
		if err := pack(output, []string{argument}); err == nil {
			t.Errorf("%q: no error", argument)
		}
	}
}
