package sysfile

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFiles(t *testing.T) {
	files := fstest.MapFS{
		"number": {Data: []byte(" 12\n")},
		"word":   {Data: []byte("max\n")},
		"huge":   {Data: []byte("4294967296")},
		"long":   {Data: []byte(strings.Repeat("0,", maxText))},
	}
	if n, err := Int(files, "number"); n != 12 || err != nil {
		t.Errorf("%d, %v; want 12", n, err)
	}
	for name, want := range map[string]error{"word": ErrMalformed, "huge": ErrMalformed, "long": ErrMalformed, "none": fs.ErrNotExist} {
		if _, err := Int(files, name); !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if data, err := ReadStart(files, "long", 3); string(data) != "0,0" || err != nil {
		t.Errorf("%q, %v; want the first three bytes", data, err)
	}
}
