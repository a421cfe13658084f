package tasks

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestParseThreads(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "12\n": {12}, "3\n1\n": {3, 1}} {
		if got, err := parseThreads([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"x\n": "not a number", "-1\n": "not a number", "\n": "not a number", "4\n0\n": "PID namespace"} {
		if got, err := parseThreads([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}

func TestParseCPUTime(t *testing.T) {
	const line = "cpu  100 10 50 4000 900 3 7 20 0 0\ncpu0 1 1 1 1 1 1 1\n"
	got, err := parseCPUTime([]byte(line))
	if want := (CPUTime{All: 50.9, Busy: 1.7, Stolen: 0.2}); err != nil || math.Abs(got.All-want.All) > 1e-9 || math.Abs(got.Busy-want.Busy) > 1e-9 || got.Stolen != want.Stolen {
		t.Errorf("%v, %v; want %v: busy is without idle, waiting and stolen time", got, err, want)
	}
	for _, text := range []string{
		"", "cpu0 1 2 3 4 5 6 7\n", "cpu 1 2 3\n", "cpu 1 2 x 4 5 6 7\n", "cpu 1 2 -3 4 5 6 7\n",
		"cpu 1 2 18446744073709551615 4 5 6 7\n",
	} {
		if got, err := parseCPUTime([]byte(text)); !errors.Is(err, errBusy) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, errBusy)
		}
	}
}

func FuzzParseThreads(f *testing.F) {
	f.Add("12\n13\n")
	f.Add("0\n")
	f.Fuzz(func(t *testing.T, text string) {
		threads, err := parseThreads([]byte(text))
		if err != nil && threads != nil || slices.ContainsFunc(threads, func(n int) bool { return n < 1 }) {
			t.Errorf("%v, %v", threads, err)
		}
	})
}

func FuzzParseCPUTime(f *testing.F) {
	f.Add("cpu  100 10 50 4000 900 3 7 20 0 0\n")
	f.Add("cpu 1 2 3")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseCPUTime([]byte(text)); d.Busy < 0 || err != nil && d != (CPUTime{}) {
			t.Errorf("%v, %v", d, err)
		}
	})
}
