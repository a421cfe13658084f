package predictor

import (
	"fmt"
	"math"
	"testing"
)

// Placements that differ in who is with whom are as likely as those that differ in the
// cache of each.
func TestPlacements(t *testing.T) {
	for n := 1; n <= mostEnumerated; n++ {
		for caches := 1; caches <= 4; caches++ {
			want := map[string]float64{}
			all := int(math.Pow(float64(caches), float64(n)))
			for code := range all {
				placed := make([]int, n)
				for i, rest := 0, code; i < n; i, rest = i+1, rest/caches {
					placed[i] = rest % caches
				}
				want[together(placed)] += 1 / float64(all)
			}
			placed := make([]int, n)
			seen := 0
			for next := true; next; next = nextPlacement(placed, caches) {
				seen++
				if got := likelihood(placed, caches); math.Abs(got-want[together(placed)]) > 1e-12 {
					t.Errorf("%v of %d: likelihood %v, want %v", placed, caches, got, want[together(placed)])
				}
			}
			if seen != len(want) {
				t.Errorf("%d applications in %d caches: %d placements, want %d", n, caches, seen, len(want))
			}
		}
	}
}

// together says who is with whom.
func together(placed []int) string {
	var pairs []string
	for i := range placed {
		for j := range i {
			if placed[i] == placed[j] {
				pairs = append(pairs, fmt.Sprint(j, i))
			}
		}
	}
	return fmt.Sprint(pairs)
}
