package onboard

import "time"

// stretch is a part of an onboarding by ticks; they come in this order.
type stretch int

const (
	learning stretch = iota
	measuringMachine
	pressing
	comparing
	checking
	caching
	stretches
)

// learningTime is what it takes about to learn how the work of a short program is counted,
// and what the interferer reaches alone; machineTime is what it takes to measure a machine.
const (
	learningTime = 4 * time.Second
	machineTime  = 20 * time.Second
)

// schedule tells how much of an onboarding is done, by the time that is spent and the time
// that is expected to be left.
type schedule struct {
	// expected is the time of each stretch.
	expected [stretches]time.Duration
	// cached says that there are points in the cache, whose time follows from that of
	// everything before them but the machine.
	cached bool
}

// newSchedule says what an onboarding takes before anything is known of the program.
func newSchedule(budget time.Duration, knownMachine, cached bool) *schedule {
	s := &schedule{cached: cached}
	s.expected[learning], s.expected[comparing] = learningTime, comparedBudget
	if !knownMachine {
		s.expected[measuringMachine] = machineTime
	}
	s.expected[pressing] = budget
	return s
}

// learned corrects what is expected by the time of a run of the program.
func (s *schedule) learned(run time.Duration) {
	s.expected[pressing] = max(s.expected[pressing], run)
	s.expected[checking] = 2 * run
	if 2*run < checkPatience {
		s.expected[checking] *= fewestChecks
	}
}

// share returns the share of the work that is done, 0 to 1, when some time is spent and a
// part of a stretch is done, 0 to 1.
func (s *schedule) share(spent time.Duration, now stretch, done float64) float64 {
	left := time.Duration((1 - done) * float64(s.expected[now]))
	for _, later := range s.expected[now+1:] {
		left += later
	}
	if s.cached && now < caching {
		left += time.Duration(inCacheShare * float64(max(spent+left-s.expected[measuringMachine], 0)))
	}
	if spent+left <= 0 {
		return 0
	}
	return spent.Seconds() / (spent + left).Seconds()
}
