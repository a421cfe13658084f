package text_test

import (
	"testing"

	"bandmate.dev/bandmate/internal/text"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 pairs", 1: "1 pair", 2: "2 pairs"} {
		if got := text.Count(n, "pair"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
