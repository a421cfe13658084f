package onboard

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// meterOf feeds pieces of output, a second apart.
func meterOf(pattern string, pieces ...string) *meter {
	m := newMeter(regexp.MustCompile(pattern))
	clock := time.Unix(0, 0)
	m.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	for _, p := range pieces {
		_, _ = m.Write([]byte(p))
	}
	return m
}

func TestMeter(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		pieces        []string
		want          Interval
	}{
		{"a unit each", "^tick", []string{"tick\n", "tick\n", "tock\n", "tick\n"}, Interval{Seconds: 2, Units: 2, Arrivals: 3}},
		{"several in a line", "x", []string{"x\n", "xxx\n"}, Interval{Seconds: 1, Units: 3, Arrivals: 2}},
		{"together", "x", []string{"x\n", "x\nx\nx\n"}, Interval{Seconds: 1, Units: 3, Arrivals: 2}},
		{"in pieces", "^tick$", []string{"ti", "ck\nti", "ck\n"}, Interval{Seconds: 1, Units: 1, Arrivals: 2}},
		{"absolute", `^step (\d+)`, []string{"step 10\n", "step 30\n"}, Interval{Seconds: 1, Units: 20, Arrivals: 2}},
		{"absolute, fraction", `([0-9.]+)%`, []string{"0.5%\r", "2.0%\r"}, Interval{Seconds: 1, Units: 1.5, Arrivals: 2}},
		{"back", `(\d+)`, []string{"8\n", "9\n", "1\n"}, Interval{Seconds: 2, Units: -7, Arrivals: 3, WentBack: true}},
		{"not a number", `at (\w+)`, []string{"at A\n", "at B\n"}, Interval{Seconds: 1, Units: 1, Arrivals: 2}},
		{"unfinished line", "x", []string{"x\n", "x"}, Interval{Arrivals: 1}},
		{"endless line", "x$", []string{"x\n", strings.Repeat("y", 1<<16) + "x"}, Interval{Seconds: 1, Units: 1, Arrivals: 2}},
		{"nothing", "x", nil, Interval{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := meterOf(c.pattern, c.pieces...).interval(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestMeterBegins(t *testing.T) {
	m := meterOf(`(\d+)`, "1\n", "5\n")
	m.begin()
	if m.arrivals() != 0 {
		t.Errorf("%d arrivals", m.arrivals())
	}
	_, _ = m.Write([]byte("6\n8\n"))
	_, _ = m.Write([]byte("9\n"))
	if got, want := m.interval(), (Interval{Seconds: 1, Units: 1, Arrivals: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
