package sampling

import (
	"math"
	"testing"
	"time"
)

// By hand: pressed for 2 of 3 seconds, an application of 2 seconds did half of
// its work in the second that it was left alone, so half in the other two.
func TestPerformanceOfAPressedRun(t *testing.T) {
	for _, tt := range []struct {
		wall, pressed, solo time.Duration
		want                float64
	}{
		{3 * time.Second, 2 * time.Second, 2 * time.Second, 0.5},
		{3 * time.Second, 0, 2 * time.Second, 2. / 3},
		{3 * time.Second, 3 * time.Second, 2 * time.Second, 2. / 3},
		{2 * time.Second, time.Second, 2 * time.Second, 1},
		{9 * time.Second, time.Second, 2 * time.Second, LowestPerformance}, // disturbed otherwise
	} {
		o := Observation{Wall: tt.wall, Pressed: tt.pressed}
		if got := o.Performance(tt.solo); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v pressed %v, alone %v: %v, want %v", tt.wall, tt.pressed, tt.solo, got, tt.want)
		}
	}
}
