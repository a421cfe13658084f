package store

import (
	"io/fs"
	"strings"
	"testing"
)

// Whoever only reads need not write.
func TestReadRemedy(t *testing.T) {
	err := &fs.PathError{Op: "open", Path: "a.yaml", Err: fs.ErrPermission}
	if got := readRemedy(err); !strings.Contains(got, "may read") || strings.Contains(got, "write") {
		t.Errorf("remedy for reading %q", got)
	}
}
