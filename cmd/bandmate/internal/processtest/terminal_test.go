package processtest

import (
	"strings"
	"testing"
)

func TestScreen(t *testing.T) {
	for _, test := range []struct{ output, want string }{
		{"", ""},
		{"one\r\ntwo\r\n", "one|two|"},
		{"[==>  ] 1 of 3\rab", "ab=>  ] 1 of 3"},
		{"[==>  ] 1 of 3\x1b[2K\rab\r\n", "ab|"},
		{"abcdef\r\x1b[Kx", "x"},
		{"\x1b[31mred", "\x1b[31mred"},
	} {
		if got := strings.Join(Screen(test.output), "|"); got != test.want {
			t.Errorf("%q shows %q, want %q", test.output, got, test.want)
		}
	}
}
