package samples

import "testing"

func TestInTicks(t *testing.T) {
	for _, n := range []int{0, 1, 4, 5, 9} {
		next := 0
		inTicks(n, 4, func(from, to int) {
			if from != next || to <= from || to > min(n, from+4) {
				t.Errorf("%d things: piece %d to %d after %d", n, from, to, next)
			}
			next = to
		})
		if next != n {
			t.Errorf("%d things: %d were worked on", n, next)
		}
	}
}
