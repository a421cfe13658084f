// Package drawingtest checks drawings.
package drawingtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"bandmate.dev/bandmate/internal/golden"
)

// Want checks that a drawing is well-formed and that of the golden file at path.
func Want(t testing.TB, path string, drawn []byte) {
	t.Helper()
	Elements(t, drawn)
	golden.Want(t, path, drawn)
}

// Elements returns how many elements of each name a drawing has. One that is not
// well-formed ends the test.
func Elements(t testing.TB, drawn []byte) map[string]int {
	t.Helper()
	count := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
		}
	}
}
