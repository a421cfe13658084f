package interferer_test

import (
	"testing"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/units"
)

func TestHeld(t *testing.T) {
	const footprint = 1 << 20
	for _, test := range []struct {
		name                  string
		resident, memory, now units.Bandwidth
		want                  int64
		known                 bool
	}{
		{"everything", 10e9, 2e9, 10e9, footprint, true},
		{"nothing", 10e9, 2e9, 2e9, 0, true},
		// 64 bytes take 6.4 ns when held and 32 ns when not, so 19.2 ns are half.
		{"half", 10e9, 2e9, 10e9 / 3, footprint / 2, true},
		{"faster than resident", 10e9, 2e9, 11e9, footprint, true},
		{"slower than memory", 10e9, 2e9, 1e9, 0, true},
		{"no contrast", 2.5e9, 2e9, 2e9, 0, false},
		{"no rate", 10e9, 2e9, 0, 0, false},
	} {
		got, known := interferer.Held(footprint, test.resident, test.memory, test.now)
		if d := got - test.want; known != test.known || d < -1 || d > 1 {
			t.Errorf("%s: %d, %t: want %d, %t", test.name, got, known, test.want, test.known)
		}
	}
}
