package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/requires"
)

// terminal is a pseudo-terminal with the program at its other end.
type terminal struct {
	t        *testing.T
	keyboard *os.File
	raw      lockedBuffer
	drained  chan struct{}
}

// onTerminal makes a new terminal the controlling one of a program, which is
// started, with all that it prints shown there.
func onTerminal(p *program) *terminal { return onTerminalOf(p, 100, "NO_COLOR=1", "TERM=xterm") }

// onTerminalOf is onTerminal with a width and further variables.
func onTerminalOf(p *program, columns uint16, variables ...string) *terminal {
	t := p.t
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		requires.Unmet(t, "needs pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = near.Close() })
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		requires.Unmet(t, "needs pseudo-terminals: %v", err)
	}
	defer far.Close()
	if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}); err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = far, far, far
	p.cmd.Env = append(append(p.cmd.Env, "LANG=C.UTF-8"), variables...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	p.start()
	s := &terminal{t: t, keyboard: near, drained: make(chan struct{})}
	go func() {
		defer close(s.drained)
		// It ends with an error once nobody has the other end open.
		b := make([]byte, 4096)
		for {
			n, err := near.Read(b)
			if err != nil {
				return
			}
			_, _ = s.raw.Write(b[:n])
		}
	}()
	return s
}

func (s *terminal) press(key string) {
	s.t.Helper()
	if _, err := s.keyboard.WriteString(key); err != nil {
		s.t.Fatal(err)
	}
}

const ctrlC = "\x03"

// waitFor waits until the line that is being drawn matches.
func (s *terminal) waitFor(pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("the terminal shows:\n%s", s.raw.String())
		}
	})
	eventually(s.t, pattern, func() bool { return want.MatchString(s.current()) })
}

// current is the line with the cursor.
func (s *terminal) current() string {
	lines := screen(s.raw.String())
	return lines[len(lines)-1]
}

// screen is what a terminal shows after some output: it knows line feeds,
// carriage returns and the erasing of a line (ECMA-48, EL), and fails on every
// other escape sequence by showing it.
func screen(output string) []string {
	var lines []string
	var line []rune
	column := 0
	for len(output) > 0 {
		switch {
		case strings.HasPrefix(output, "\x1b[2K"):
			line, output = nil, output[4:]
			continue
		case strings.HasPrefix(output, "\x1b[K"), strings.HasPrefix(output, "\x1b[0K"):
			line = line[:min(column, len(line))]
			output = output[strings.IndexByte(output, 'K')+1:]
			continue
		}
		r := []rune(output[:min(len(output), 8)])[0]
		output = output[len(string(r)):]
		switch r {
		case '\r':
			column = 0
		case '\n':
			lines, line = append(lines, strings.TrimRight(string(line), " ")), nil
		default:
			for len(line) <= column {
				line = append(line, ' ')
			}
			line[column] = r
			column++
		}
	}
	return append(lines, strings.TrimRight(string(line), " "))
}

func TestScreen(t *testing.T) {
	for _, test := range []struct{ output, want string }{
		{"", ""},
		{"one\r\ntwo\r\n", "one|two|"},
		{"[==>  ] 1 of 3\rab", "ab=>  ] 1 of 3"},
		{"[==>  ] 1 of 3\x1b[2K\rab\r\n", "ab|"},
		{"abcdef\r\x1b[Kx", "x"},
		{"\x1b[31mred", "\x1b[31mred"},
	} {
		if got := strings.Join(screen(test.output), "|"); got != test.want {
			t.Errorf("%q shows %q, want %q", test.output, got, test.want)
		}
	}
}
