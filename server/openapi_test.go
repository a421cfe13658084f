package server

import (
	"testing"

	"bandmate.dev/bandmate/internal/golden"
)

// The committed description is that of the types that are sent.
func TestOpenAPIGolden(t *testing.T) {
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	golden.Want(t, "../docs/reference/openapi.json", got)
}
