package stats_test

import (
	"math"
	"testing"

	"bandmate.dev/bandmate/internal/stats"
)

func TestGoldenSection(t *testing.T) {
	for _, least := range []float64{-1, -0.2, 0.3, 2} {
		evaluated := 0
		at, value := stats.GoldenSection(-1, 2, 30, func(x float64) float64 {
			evaluated++
			return (x-least)*(x-least) + 5
		})
		if math.Abs(at-least) > 1e-5 || math.Abs(value-5) > 1e-9 || evaluated != 32 {
			t.Errorf("least at %v: found %v, %v after %d evaluations", least, at, value, evaluated)
		}
	}
}
