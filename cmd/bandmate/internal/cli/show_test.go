package cli

import (
	"strings"
	"testing"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Points that differ in the read share only are told apart.
func TestWriteInCacheTellsPointsApart(t *testing.T) {
	point := v1alpha1.CachePoint{FootprintBytes: 8 << 20, ReadShare: 0.5, Level: 1, AchievedBytesPerSecond: 1e10, NormalizedPerformance: 0.9}
	other := point
	other.ReadShare = 1
	var b strings.Builder
	writeInCache(&b, []v1alpha1.CachePoint{point, other})
	for _, want := range []string{", 50% reads, ", ", 100% reads, "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
