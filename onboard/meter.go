package onboard

import (
	"regexp"
	"sync"
	"time"

	"bandmate.dev/bandmate/ticks"
)

// meter reads an application's progress from its output, and tells when it
// arrived. Its methods may be called from several goroutines.
type meter struct {
	*ticks.Lines
	now func() time.Time

	mu      sync.Mutex
	current stretch
}

// stretch is what arrived since the last call of begin.
type stretch struct {
	first, last time.Time
	from, to    float64
	arrivals    int
	wentBack    bool
}

func newMeter(pattern *regexp.Regexp) *meter {
	m := &meter{now: time.Now}
	m.Lines = &ticks.Lines{Pattern: pattern, Matched: m.arrive}
	return m
}

func (m *meter) arrive(count float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current.arrive(m.now(), count)
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
