package onboard

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// longestLine is the length at which an unfinished line is read as a line.
	longestLine = 64 << 10
	// shownLines and shownBytes bound the output that an error quotes.
	shownLines, shownBytes = 5, 120
)

// meter reads an application's progress from its output. Its methods may be
// called from several goroutines.
type meter struct {
	pattern *regexp.Regexp
	now     func() time.Time

	mu      sync.Mutex
	line    []byte
	shown   []string
	value   float64
	current stretch
}

// stretch is what arrived since the last call of begin.
type stretch struct {
	first, last time.Time
	from, to    float64
	arrivals    int
	wentBack    bool
}

func newMeter(pattern *regexp.Regexp) *meter { return &meter{pattern: pattern, now: time.Now} }

// Write takes a piece of the output. Lines end with a newline, or with the
// carriage return that redraws a progress bar. It never fails.
func (m *meter) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	matched := false
	for rest := b; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			m.line = append(m.line, rest...)
			if len(m.line) >= longestLine {
				matched = m.take() || matched
			}
			break
		}
		m.line = append(m.line, rest[:end]...)
		matched = m.take() || matched
		rest = rest[end+1:]
	}
	if matched {
		m.current.arrive(m.now(), m.value)
	}
	return len(b), nil
}

// take reads the pending line, and reports whether it matched.
func (m *meter) take() bool {
	line := m.line
	m.line = m.line[:0]
	if len(line) == 0 {
		return false
	}
	if len(m.shown) < shownLines {
		m.shown = append(m.shown, strings.ToValidUTF8(string(line[:min(len(line), shownBytes)]), "�"))
	}
	found := m.pattern.FindAllSubmatch(line, -1)
	for _, groups := range found {
		m.value = progressOf(m.value, groups)
	}
	return len(found) > 0
}

// progressOf returns the progress after a match: its first group if that is a
// finite number, otherwise one more than before.
func progressOf(before float64, groups [][]byte) float64 {
	if len(groups) > 1 {
		n, err := strconv.ParseFloat(string(groups[1]), 64)
		if err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
			return n
		}
	}
	return before + 1
}

func (s *stretch) arrive(at time.Time, value float64) {
	if s.arrivals == 0 {
		s.first, s.from = at, value
	} else if value < s.to {
		s.wentBack = true
	}
	s.last, s.to = at, value
	s.arrivals++
}

// begin starts a new stretch.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = stretch{}
}

// arrivals counts the moments at which progress arrived since begin.
func (m *meter) arrivals() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current.arrivals
}

// interval returns the progress since begin.
func (m *meter) interval() Interval {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.current
	return Interval{Seconds: s.last.Sub(s.first).Seconds(), Units: s.to - s.from, Arrivals: s.arrivals, WentBack: s.wentBack}
}

// unmatched returns the error of a run whose output never matched.
func (m *meter) unmatched(command string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.shown) == 0 {
		return fmt.Errorf("%q wrote nothing that --progress %q could match: have it print its progress, or leave --progress out", command, m.pattern)
	}
	return fmt.Errorf("--progress %q matches no line of what %q wrote: change the pattern; the output begins:\n  %s",
		m.pattern, command, strings.Join(m.shown, "\n  "))
}
