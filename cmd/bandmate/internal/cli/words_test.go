package cli

import (
	"slices"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  ", nil},
		{"xz -9\t-k  big.tar ", []string{"xz", "-9", "-k", "big.tar"}},
		{`sh -c 'while :; do :; done'`, []string{"sh", "-c", "while :; do :; done"}},
		{`a "b \"c\" d" '' e\ f`, []string{"a", `b "c" d`, "", "e f"}},
		{`'a\b'c`, []string{`a\bc`}},
		{"größe 'é x'", []string{"größe", "é x"}},
	} {
		got, err := SplitWords(test.line)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("SplitWords(%q) = %q, %v; want %q", test.line, got, err, test.want)
		}
	}
	for _, line := range []string{`a 'b`, `a "b`, `a\`} {
		if got, err := SplitWords(line); err == nil {
			t.Errorf("SplitWords(%q) = %q, want an error", line, got)
		}
	}
}
