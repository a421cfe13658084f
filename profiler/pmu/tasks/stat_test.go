package tasks

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       state
		fails      bool
	}{
		{name: "plain", text: "1234 (sh) S 1 1234 1234 0 -1", want: state{pid: 1234, parent: 1, session: 1234}},
		{name: "odd name", text: "7 (a) b (c) R 3 7", want: state{pid: 7, parent: 3}},
		{name: "zombie", text: "7 (a) Z 3 7", want: state{pid: 7, parent: 3, ended: true}},
		{name: "ended whole", text: "7 (a) Z 3 7 7 0 -1 4194316 0 0 0 0 0 0 0 0 20 0 1 0 99", want: state{pid: 7, parent: 3, session: 7, ended: true}},
		{name: "other threads run on", text: "7 (a) Z 3 7 7 0 -1 4194316 0 0 0 0 0 0 0 0 20 0 2 0 99", want: state{pid: 7, parent: 3, session: 7}},
		{name: "dead", text: "7 (a) X 3 7", want: state{pid: 7, parent: 3, ended: true}},
		{name: "the first process", text: "1 (init) S 0 1", want: state{pid: 1}},
		{name: "empty", fails: true},
		{name: "no name", text: "7 S 3", fails: true},
		{name: "turned parentheses", text: "7 )( S 3", fails: true},
		{name: "no number", text: "x (a) S 3", fails: true},
		{name: "below 1", text: "0 (a) S 3", fails: true},
		{name: "cut", text: "7 (a) S", fails: true},
		{name: "parent is no number", text: "7 (a) S x", fails: true},
		{name: "negative parent", text: "7 (a) S -3", fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat([]byte(tt.text))
			if got != tt.want || errors.Is(err, errStat) != tt.fails || (err != nil) != tt.fails {
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

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

func FuzzParseStat(f *testing.F) {
	f.Add("1234 (some (odd) name) S 1 1234")
	f.Add("1 () X 0")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseStat([]byte(text))
		if err == nil && (s.pid < 1 || s.parent < 0) {
			t.Errorf("%+v", s)
		}
		if err != nil && s != (state{}) {
			t.Errorf("%+v with %v", s, err)
		}
	})
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
