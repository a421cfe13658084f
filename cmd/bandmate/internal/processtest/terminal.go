package processtest

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

// Terminal is a pseudo-terminal with a program at its other end.
type Terminal struct {
	T *testing.T
	// Raw is all that was written to the terminal.
	Raw Buffer
	// Drained is closed once nobody can write to the terminal any more.
	Drained  chan struct{}
	keyboard *os.File
}

// OnTerminal makes a new terminal the controlling one of a program, which is
// started, with all that it prints shown there.
func OnTerminal(p *Program) *Terminal { return OnTerminalOf(p, 100, "NO_COLOR=1", "TERM=xterm") }

// OnTerminalOf is OnTerminal with a width and further variables.
func OnTerminalOf(p *Program, columns uint16, variables ...string) *Terminal {
	t := p.T
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
	p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = far, far, far
	p.Cmd.Env = append(append(p.Cmd.Env, "LANG=C.UTF-8"), variables...)
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	p.Start()
	s := &Terminal{T: t, keyboard: near, Drained: make(chan struct{})}
	go func() {
		defer close(s.Drained)
		// It ends with an error once nobody has the other end open.
		b := make([]byte, 4096)
		for {
			n, err := near.Read(b)
			if err != nil {
				return
			}
			_, _ = s.Raw.Write(b[:n])
		}
	}()
	return s
}

// Press types a key.
func (s *Terminal) Press(key string) {
	s.T.Helper()
	if _, err := s.keyboard.WriteString(key); err != nil {
		s.T.Fatal(err)
	}
}

// CtrlC is the key that interrupts.
const CtrlC = "\x03"

// WaitFor waits until the line that is being drawn matches.
func (s *Terminal) WaitFor(pattern string) {
	s.T.Helper()
	want := regexp.MustCompile(pattern)
	s.T.Cleanup(func() {
		if s.T.Failed() {
			s.T.Logf("the terminal shows:\n%s", s.Raw.String())
		}
	})
	Eventually(s.T, pattern, func() bool { return want.MatchString(s.Current()) })
}

// Current returns the line with the cursor.
func (s *Terminal) Current() string {
	lines := Screen(s.Raw.String())
	return lines[len(lines)-1]
}

// Screen returns the lines that a terminal shows after some output: it knows line feeds,
// carriage returns and the erasing of a line (ECMA-48, EL), and fails on every
// other escape sequence by showing it.
func Screen(output string) []string {
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
