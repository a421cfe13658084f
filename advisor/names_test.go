package advisor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
)

func TestNamesOfSeveralMachines(t *testing.T) {
	a := New([]*v1alpha1.ApplicationProfile{profile("one", "blade"), profile("one", "node"), profile("two", "node")}, nil)
	entries, _, err := a.Select(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Names(entries), []string{"one@blade", "one@node", "two"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if err := OneEach(entries); !errors.Is(err, v1alpha1.ErrAmbiguous) || !strings.Contains(err.Error(), "blade, node") {
		t.Errorf("several machines: %v", err)
	}
	// Beside itself on one machine.
	twice := []Entry{entries[1], entries[1], entries[2]}
	if got, want := Names(twice), []string{"one", "one", "two"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if err := OneEach(twice); err != nil {
		t.Errorf("one machine: %v", err)
	}
	if _, err := a.Choose([]string{"one@node"}, ""); !errors.Is(err, v1alpha1.ErrNotFound) || !strings.Contains(err.Error(), "did you mean one, with node as the machine?") {
		t.Errorf("a name as matrix shows it: %v", err)
	}
}
