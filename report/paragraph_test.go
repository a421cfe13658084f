package report

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParagraph(t *testing.T) {
	o := Options{Width: 40, Unicode: true}
	got := Paragraph("limited      ", "one two three four five six seven eight", o)
	want := "limited      one two three four five six\n" +
		"             seven eight\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestParagraphFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Width: rapid.IntRange(40, 120).Draw(t, "width"), Unicode: true}
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zäö×]{1,20}`), 1, 60).Draw(t, "words")
		got := Paragraph("  → ", strings.Join(words, " "), o)
		for line := range strings.Lines(got) {
			if width := displayWidth(strings.TrimSuffix(line, "\n")); width > o.Width {
				t.Fatalf("%q is %d columns wide, want at most %d", line, width, o.Width)
			}
		}
		if strings.Join(strings.Fields(got), " ") != "→ "+strings.Join(words, " ") {
			t.Fatalf("words were lost: %q", got)
		}
	})
}

func TestFold(t *testing.T) {
	o := Options{Width: 40, Unicode: true}
	for text, want := range map[string]string{
		"":                          "",
		"short\n  line  as it is\n": "short\n  line  as it is\n",
		"  a line that is wider than forty columns is broken\nnext": "  a line that is wider than forty\n    columns is broken\nnext",
		strings.Repeat("x", 50):               strings.Repeat("x", 50),
		strings.Repeat(" ", 60) + "far in":    strings.Repeat(" ", 60) + "far\n" + strings.Repeat(" ", 20) + "in",
		strings.Repeat("地", 15) + " 震震震震震震震震": strings.Repeat("地", 15) + "\n  震震震震震震震震",
	} {
		if got := Fold(text, o); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got, want := Fold("1.26× ± 0.1 → slow", Options{}), "1.26x +/- 0.1 -> slow"; got != want {
		t.Errorf("without Unicode: got %q, want %q", got, want)
	}
}
