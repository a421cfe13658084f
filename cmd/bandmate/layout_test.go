package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// mostLines bounds the lines of a package without its tests, and mostOfCommands those of
	// a group of commands. A reader cannot keep more in mind.
	mostLines      = 6000
	mostOfCommands = 3000
)

// TestLayout holds the table of folders in CONTRIBUTING to the packages that there are, and
// packages to a size.
func TestLayout(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	folder := regexp.MustCompile("`([a-z0-9/-]+)`")
	for line := range strings.Lines(string(text)) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, match := range folder.FindAllStringSubmatch(first, -1) {
			listed = append(listed, match[1])
		}
	}
	for _, path := range listed {
		if info, err := os.Stat(filepath.Join(repository, path)); err != nil || !info.IsDir() {
			t.Errorf("CONTRIBUTING lists %s, which is no folder", path)
		}
	}
	for path, lines := range packages(t) {
		most := mostLines
		if strings.HasPrefix(path, "cmd/bandmate/internal/") {
			most = mostOfCommands
		}
		if lines > most {
			t.Errorf("package %s has %d lines, want at most %d: divide it", path, lines, most)
		}
		if !inTable(path) || slices.Contains(listed, path) {
			continue
		}
		t.Errorf("CONTRIBUTING does not list package %s", path)
	}
}

// inTable reports whether the table is to list a package: one of the product that others may
// import. The row of the commands has their groups, and helpers of tests are found where they
// are used.
func inTable(path string) bool {
	return !strings.HasPrefix(path, "hack/") && !strings.HasPrefix(path, "cmd/bandmate") && !strings.HasSuffix(path, "test") &&
		!strings.Contains(path, "/internal/") && !strings.HasSuffix(path, "/generate")
}

// packages returns how many lines each package of this module has beside its tests.
func packages(t *testing.T) map[string]int {
	t.Helper()
	lines := map[string]int{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(repository, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if nested := err == nil && relative != "."; nested || strings.HasPrefix(entry.Name(), ".") && relative != "." || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		lines[filepath.ToSlash(filepath.Dir(relative))] += bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
