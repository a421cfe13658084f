package report

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

func TestSanitizeText(t *testing.T) {
	for in, want := range map[string]string{
		"triad":            "triad",
		"地震 × ±":           "地震 × ±",
		"a\tb\r\nc\u2028d": "a b  c d",
		"\x1b[31mred\x07":  "\ufffd[31mred\ufffd",
		"\u009b2J":         "\ufffd2J",
		"abc\u202edef":     "abc\ufffddef",
		"zero\u200bwidth":  "zero\ufffdwidth",
		"bad\xffutf8":      "bad\ufffdutf8",
		"👩\u200d🔬":         "👩\u200d🔬",
	} {
		if got := SanitizeText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzSanitizeText(f *testing.F) {
	f.Add(hostile)
	f.Add("\xf0\x28\x8c\x28")
	f.Fuzz(func(t *testing.T, s string) {
		got := SanitizeText(s)
		if !utf8.ValidString(got) {
			t.Errorf("%q became invalid: %q", s, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q keeps %U", s, r)
			}
		}
		if again := SanitizeText(got); again != got {
			t.Errorf("%q is not stable: %q", got, again)
		}
	})
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"triad", 5, "triad"},
		{"triads", 5, "tria…"},
		{"地震地震", 8, "地震地震"},
		{"地震地震", 7, "地震地…"},
		{"地震地震", 6, "地震…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"", 0, ""},
	} {
		if got := (Options{Unicode: true}).truncate(c.in, c.width); got != c.want {
			t.Errorf("%q to %d columns: got %q, want %q", c.in, c.width, got, c.want)
		}
	}
	if got := (Options{}).truncate("triads", 5); got != "tria~" {
		t.Errorf("in ASCII: got %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := SanitizeText(rapid.String().Draw(t, "s"))
		width := rapid.IntRange(0, 40).Draw(t, "width")
		got := Options{Unicode: true}.truncate(s, width)
		if displayWidth(got) > width {
			t.Fatalf("%q to %d columns: %q is %d wide", s, width, got, displayWidth(got))
		}
		if !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Fatalf("%q to %d columns: %q is no beginning of it", s, width, got)
		}
	})
}

func TestDetect(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		name   string
		getenv func(string) string
		want   bool
	}{
		{"nothing set", env(), true},
		{"UTF-8", env("LANG", "en_US.UTF-8"), true},
		{"utf8", env("LANG", "C.utf8"), true},
		{"POSIX", env("LANG", "C"), false},
		{"LC_ALL first", env("LANG", "en_US.UTF-8", "LC_ALL", "POSIX"), false},
	} {
		o, terminal := Detect(&bytes.Buffer{}, c.getenv)
		if want := (Options{Width: 80, Unicode: c.want}); o != want || terminal {
			t.Errorf("%s: got %+v, %v, want %+v, false", c.name, o, terminal, want)
		}
	}
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if o, terminal := Detect(file, env()); o.Color || terminal {
		t.Errorf("a file: got %+v, %v, want neither color nor terminal", o, terminal)
	}
}

func TestNumbers(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ got, want string }{
		{Slowdown(1.336), "1.34×"},
		{Slowdown(units.Slowdown(nan)), "–"},
		{Slowdown(units.NormalizedPerformance(0).Slowdown()), "∞"},
		{SlowdownBetween(1.21, 1.48), "1.21–1.48×"},
		{SlowdownBetween(units.Slowdown(nan), 1.48), "–"},
		{Bandwidth(12.34e9), "12.3 GB/s"},
		{Bandwidth(0), "0.00 B/s"},
		{Bandwidth(units.Bandwidth(nan)), "–"},
		{BandwidthWithin(12.34e9, 0.081), "12.3 GB/s ± 8%"},
		{BandwidthWithin(1.2e9, 2), "1.20 GB/s (at most 3.60 GB/s)"},
		{BandwidthWithin(12.34e9, nan), "12.3 GB/s"},
		{ReadShare(0.75), "75% reads"},
		{ReadShare(0), "0% reads"},
		{ReadShare(units.ReadShare(nan)), "–"},
		{Seconds(0), "0.00 s"},
		{Seconds(81.34e-9), "81.3 ns"},
		{Seconds(0.9996e-6), "1.00 µs"},
		{Seconds(0.03521), "35.2 ms"},
		{Seconds(1.2351), "1.24 s"},
		{Seconds(0.9996), "1.00 s"},
		{Seconds(119.9), "120 s"},
		{Seconds(125), "2 min 05 s"},
		{Seconds(-125), "-2 min 05 s"},
		{Seconds(7199.6), "2 h 00 min"},
		{Seconds(11_220), "3 h 07 min"},
		{Seconds(720_000), "200 h"},
		{Seconds(nan), "–"},
		{Duration(1500 * time.Millisecond), "1.50 s"},
		{Bytes(0), "0 B"},
		{Bytes(1023), "1023 B"},
		{Bytes(32 << 20), "32 MiB"},
		{Bytes(1536 << 20), "1.5 GiB"},
		{Bytes(math.MaxInt64), "8192 PiB"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
