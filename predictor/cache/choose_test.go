package cache

import (
	"testing"

	"bandmate.dev/bandmate/units"
)

// Of more sources than a model is fitted to, the first are chosen that were measured beside
// both interferers.
func TestChoose(t *testing.T) {
	var sources []Source
	for range mostFitted + 3 {
		sources = append(sources,
			Source{Points: []Point{{Footprint: 1}}},
			Source{Alone: units.Traffic{Read: 1}, Points: []Point{{Footprint: 1}, {}}})
	}
	if got := len(choose(sources)); got != mostFitted {
		t.Errorf("%d chosen of %d, want %d", got, len(sources), mostFitted)
	}
	chosen := choose(sources[:7])
	if len(chosen) != 3 {
		t.Fatalf("%d chosen of 7, want 3", len(chosen))
	}
	for i, s := range chosen {
		if !s.random() || !s.streaming() {
			t.Errorf("source %d is of one kind only", i)
		}
	}
}
