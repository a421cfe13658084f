package ticks

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

const (
	// longestLine is the length at which an unfinished line is read as a line.
	longestLine = 64 << 10
	// shownLines and shownBytes bound the output that an error quotes.
	shownLines, shownBytes = 5, 120
)

// Output counts what a program writes to its standard output and standard error:
// each match of Pattern in a line is a tick, or, where the pattern has a group
// that matched a number, the count becomes that number. It costs the program
// nothing more than a pipe, and is as fine as the program writes.
type Output struct{ Pattern *regexp.Regexp }

var _ Source = Output{}

// Name returns "output PATTERN".
func (s Output) Name() string { return "output " + s.Pattern.String() }

// Prepare always succeeds.
func (s Output) Prepare() (*Run, error) {
	lines := &Lines{Pattern: s.Pattern}
	return &Run{
		Output: lines,
		Open: func(pid int) (Counter, error) {
			return newCounter(s.Name(), pid, func() (reader, error) { return outputReader{lines}, nil })
		},
		Unchanged: lines.Unmatched,
		Close:     func() error { return nil },
	}, nil
}

type outputReader struct{ lines *Lines }

func (r outputReader) read() (float64, error) { return r.lines.Count(), nil }
func (outputReader) close() error             { return nil }

// Lines reads a count from output that is written to it, as [Output] describes. Its
// methods may be called concurrently.
type Lines struct {
	Pattern *regexp.Regexp

	mu    sync.Mutex
	line  []byte
	shown []string
	count float64
}

// Write takes a piece of the output. Lines end with a newline, or with the
// carriage return that redraws a progress bar. It never fails.
func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := b; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			l.line = append(l.line, rest...)
			if len(l.line) >= longestLine {
				l.take()
			}
			break
		}
		l.line = append(l.line, rest[:end]...)
		l.take()
		rest = rest[end+1:]
	}
	return len(b), nil
}

// take reads the pending line.
func (l *Lines) take() {
	line := l.line
	l.line = l.line[:0]
	if len(line) == 0 {
		return
	}
	if len(l.shown) < shownLines {
		l.shown = append(l.shown, strings.ToValidUTF8(string(line[:min(len(line), shownBytes)]), "�"))
	}
	for _, groups := range l.Pattern.FindAllSubmatch(line, -1) {
		l.count = countOf(l.count, groups)
	}
}

// countOf returns the count after a match: its first group if that is a finite
// number, otherwise one more than before.
func countOf(before float64, groups [][]byte) float64 {
	if len(groups) > 1 {
		if n, ok := finite(groups[1]); ok {
			return n
		}
	}
	return before + 1
}

// finite reads a number that is one.
func finite(text []byte) (n float64, ok bool) {
	n, err := strconv.ParseFloat(string(text), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// Count returns the count after the last match.
func (l *Lines) Count() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Unmatched returns the error of a program whose output never matched, nil where it has
// counted. It quotes the beginning of the output.
func (l *Lines) Unmatched(command string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count != 0 {
		return nil
	}
	if len(l.shown) == 0 {
		return fmt.Errorf("%q wrote nothing that --progress %q could match: have it print its progress, or leave --progress out", command, l.Pattern)
	}
	return fmt.Errorf("--progress %q matches no line of what %q wrote: change the pattern; the output begins:\n  %s",
		l.Pattern, command, strings.Join(l.shown, "\n  "))
}
