package fakepmu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLines(t *testing.T) {
	tests := []struct {
		text string
		want []Line
	}{
		{"", nil},
		{" ; ", nil},
		{"* 0 1e8 5e7; uncore_imc_1 * 20 0", []Line{
			{All, "0", Counts{Reads: 1e8, Writes: 5e7}},
			{"uncore_imc_1", All, Counts{Reads: 20}},
		}},
		{"* * 1 2 3 4;", []Line{{All, All, Counts{1, 2, 3, 4}}}},
	}
	for _, tt := range tests {
		got, err := ParseLines(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
	for _, text := range []string{"* 0 1", "* 0 1 2 3", "* x 1 2", "* -1 1 2", "* 0 -1 2", "* 0 0.5 2", "* 0 NaN 2", "* 0 1 2e10", "* 0 1 2 3 4 5"} {
		if lines, err := ParseLines(text); err == nil {
			t.Errorf("%q: %v, want an error", text, lines)
		}
	}
}

func FuzzParseLines(f *testing.F) {
	f.Add("* 0 1e8 5e7; uncore_imc_1 * 20 0 1 2")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := ParseLines(text)
		if err != nil {
			return
		}
		for _, line := range lines {
			again, err := ParseLines(line.String())
			if err != nil || len(again) != 1 || again[0] != line {
				t.Fatalf("%q read back: %v, %v", line, again, err)
			}
		}
	})
}
