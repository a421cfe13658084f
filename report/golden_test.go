package report

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"bandmate.dev/bandmate/internal/golden"
)

// renderings are the kinds of places a picture can go to.
var renderings = []struct {
	name    string
	options Options
}{
	{"plain", Options{Unicode: true}},
	{"color", Options{Unicode: true, Color: true}},
	{"ascii", Options{}},
}

// wantPictures compares what draw writes with the golden files of name, one
// per rendering, and checks what holds for every picture.
func wantPictures(t *testing.T, name string, draw func(io.Writer, Options) error) {
	t.Helper()
	for _, r := range renderings {
		t.Run(r.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := draw(&b, r.options); err != nil {
				t.Fatal(err)
			}
			wantGolden(t, name+"."+r.name+".txt", b.Bytes())
			if r.options.Color {
				return
			}
			for i, line := range strings.Split(b.String(), "\n") {
				if w := displayWidth(line); w > DefaultWidth {
					t.Errorf("line %d is %d columns wide", i+1, w)
				}
				if strings.ContainsRune(line, '\x1b') {
					t.Errorf("line %d has an escape sequence", i+1)
				}
				if !r.options.Unicode && len(line) != utf8.RuneCountInString(line) {
					t.Errorf("line %d is not ASCII: %q", i+1, line)
				}
			}
		})
	}
}

func wantGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden.Want(t, filepath.Join("testdata", name), got)
}
