package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func newClock() *clock { return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func TestProgressLines(t *testing.T) {
	var b bytes.Buffer
	c := newClock()
	p := NewProgress(&b, ProgressOptions{Now: c.read})
	p.Start(30)
	for _, label := range []string{"triad alone", "triad beside 25%", "triad beside 50%", "radix\x1b[2J alone", "radix again"} {
		p.Step(label)
		c.now = c.now.Add(6 * time.Second)
	}
	p.Done()
	p.Step("after the end")
	want := "1 of 30: triad alone\n" +
		"3 of 30: triad beside 50%, 12 s spent, about 3 min left\n" +
		"5 of 30: radix again, 24 s spent, about 3 min left\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Where the number of steps depends on what is measured, it is a range, and so is the time
// left; the bar is that of the most, so that it never goes back.
func TestProgressOfARange(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var b bytes.Buffer
		c := newClock()
		p := NewProgress(&b, ProgressOptions{Now: c.read, Terminal: terminal})
		p.Start(4)
		for _, left := range [][2]int{{4, 16}, {3, 15}, {2, 6}, {1, 1}, {0, 0}} {
			p.Left(left[0], left[1])
			p.Step("triad")
			c.now = c.now.Add(30 * time.Second)
		}
		want := []string{
			"1 of 4 to 16: triad",
			"2 of 4 to 16: triad, 30 s spent, about 90 s to 8 min left",
			"3 of 4 to 8: triad, 60 s spent, about 60 s to 3 min left",
			"4 of 4: triad, 90 s spent, about 30 s left",
			"5 of 5: triad, 2 min spent, about 30 s left",
		}
		bars := []string{"[                    ]   0% ", "[=                   ]   6% ", "[=====               ]  25% ", "[===============     ]  75% ", "[================    ]  80% "}
		var text strings.Builder
		for i, line := range want {
			if terminal {
				text.WriteString(clearLine + bars[i] + line)
			} else {
				text.WriteString(line + "\n")
			}
		}
		if b.String() != text.String() {
			t.Errorf("got %q\nwant %q", b.String(), text.String())
		}
	}
}

func TestProgressLongLabel(t *testing.T) {
	var b bytes.Buffer
	c := newClock()
	p := NewProgress(&b, ProgressOptions{Options: Options{Unicode: true}, Now: c.read})
	p.Start(100)
	p.Step(longName + hostile)
	c.now = c.now.Add(20 * time.Second)
	p.Step(longName + hostile)
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSuffix(line, "\n"); displayWidth(line) > 80 || strings.ContainsRune(line, '\x1b') {
			t.Errorf("%d columns: %q", displayWidth(line), line)
		}
	}
	if !strings.HasSuffix(b.String(), "…, 20 s spent, about 33 min left\n") {
		t.Errorf("the time left is gone: %q", b.String())
	}
}

func TestProgressQuiet(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, ProgressOptions{Quiet: true, Terminal: true})
	p.Start(2)
	p.Step("one")
	p.Done()
	if b.Len() != 0 {
		t.Errorf("got %q", b.String())
	}
}

func TestProgressBar(t *testing.T) {
	for _, r := range []struct {
		name    string
		options Options
		total   int
	}{
		{"unicode", Options{Unicode: true}, 3},
		{"ascii", Options{}, 3},
		{"unknown", Options{}, 0},
	} {
		t.Run(r.name, func(t *testing.T) {
			var b bytes.Buffer
			c := newClock()
			p := NewProgress(&b, ProgressOptions{Options: r.options, Terminal: true, Now: c.read})
			p.Start(r.total)
			for _, label := range []string{"triad alone", "triad beside 25%", longName + hostile, "triad again"} {
				p.Step(label)
				c.now = c.now.Add(4 * time.Second)
			}
			p.Done()
			p.Done()
			got := b.String()
			wantGolden(t, "progress-"+r.name+".txt", []byte(strings.ReplaceAll(got, "\r", "\n")))
			if !strings.HasSuffix(got, clearLine) || strings.Contains(got, "\n") {
				t.Errorf("the line is not left clean: %q", got)
			}
			for line := range strings.SplitSeq(got, "\r") {
				line = strings.ReplaceAll(line, "\x1b[K", "")
				if w := displayWidth(line); w >= 80 {
					t.Errorf("%d columns: %q", w, line)
				}
			}
		})
	}
}

func TestProgressDoneBeforeStart(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, ProgressOptions{Terminal: true})
	p.Done()
	p.Start(1)
	p.Step("only")
	p.Done()
	if !strings.Contains(b.String(), "1 of 1: only") {
		t.Errorf("got %q", b.String())
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                 "1 s",
		99 * time.Second:  "99 s",
		150 * time.Second: "3 min",
		99 * time.Minute:  "99 min",
		4 * time.Hour:     "4 h",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

// Work that is told as a share of what was planned may take longer than that: no time left
// is made up then.
func TestProgressOfAShare(t *testing.T) {
	var b bytes.Buffer
	c := newClock()
	p := NewProgress(&b, ProgressOptions{Now: c.read})
	for _, done := range []float64{0, 0.25, 0.5, 1, 1.2, 2} {
		p.Share(done, "the machine")
		c.now = c.now.Add(20 * time.Second)
	}
	want := "0%: the machine\n" +
		"25%: the machine, 20 s spent, about 60 s left\n" +
		"50%: the machine, 40 s spent, about 40 s left\n" +
		"100%: the machine, 60 s spent\n" +
		"100%: the machine, 80 s spent, longer than expected\n" +
		"100%: the machine, 2 min spent, longer than expected\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
