package procstat

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

const line = "1234 (some (odd) name) T 1 1230 1229 34816 1231 4194560 101 0 0 0 5 6 7 8 20 0 3 0 56789 1000 20 18446744073709551615 0"

func TestParse(t *testing.T) {
	s, err := Parse([]byte(line))
	want := Stat{
		PID: 1234, Name: "some (odd) name", State: 'T', Parent: 1, Group: 1230, Session: 1229, Terminal: 34816, Foreground: 1231,
		Flags: 4194560, WaitedFor: 15, Threads: 3, Start: 56789,
	}
	if err != nil || s != want {
		t.Errorf("got %+v, %v; want %+v", s, err, want)
	}
	if got := State([]byte(line)); got != 'T' {
		t.Errorf("state %q", got)
	}
	for _, bad := range []string{
		"", "1234", "1234 (name", "1234 )name( T 1", "1234 (name) T 1", strings.Replace(line, "1234", "x", 1), strings.Replace(line, "1234", "0", 1),
		strings.Replace(line, "1230", "x", 1), strings.Replace(line, "56789", "-1", 1),
	} {
		if got, err := Parse([]byte(bad)); !errors.Is(err, Err) || got != (Stat{}) {
			t.Errorf("%q: %+v, %v, want %v", bad, got, err, Err)
		}
	}
	for _, cut := range []string{"", "1234 (name", "1234 (name)", "1234 (name) "} {
		if got := State([]byte(cut)); got != 0 {
			t.Errorf("%q: state %q", cut, got)
		}
	}
}

func TestParseThisProcess(t *testing.T) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(text)
	if err != nil || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Threads < 1 || s.Start == 0 || s.Ended() {
		t.Errorf("%+v, %v", s, err)
	}
}

// A first thread that has ended leaves the others.
func TestEnded(t *testing.T) {
	for _, test := range []struct {
		state      byte
		threads    int
		ended, all bool
	}{
		{'R', 1, false, false}, {'S', 3, false, false}, {'Z', 1, true, true}, {'Z', 3, true, false}, {'X', 0, true, true},
	} {
		s := Stat{State: test.state, Threads: test.threads}
		if s.Ended() != test.ended || s.AllEnded() != test.all {
			t.Errorf("%c with %d threads: ended %t, all %t", test.state, test.threads, s.Ended(), s.AllEnded())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line))
	f.Add([]byte("1 (a) b) R " + strconv.Itoa(1<<40)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil && (!errors.Is(err, Err) || s != (Stat{})) {
			t.Errorf("%+v, %v", s, err)
		}
		if err == nil && s.PID < 1 {
			t.Errorf("%+v", s)
		}
	})
}
