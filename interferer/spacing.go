package interferer

import (
	"time"

	"bandmate.dev/bandmate/internal/kernel"
)

// spacing spreads the time that a paced stream has to spare over its chunks, as gaps
// between groups of lines: a chunk at full bandwidth followed by a wait is a burst,
// and slows others down for as long as it lasts, however low the bandwidth is on
// average. It learns from what the pacer still had to wait after each chunk.
type spacing struct {
	// step is the time of a step of a gap, and gap the gap, in nanoseconds.
	step, gap float64
}

const (
	// spareShare is the part of a chunk's time that stays with the pacer, which
	// makes up with it for chunks that took longer.
	spareShare = 0.05
	// spacingGain is the part of a deviation that is corrected at once, so that
	// single waits, which vary, hardly move the gap.
	spacingGain = 0.25
	// lateFactor shrinks the gap after a chunk that was late.
	lateFactor = 0.9
	// longestGaps bounds the gaps of a chunk together, for which a thread sees no
	// new setting.
	longestGaps = longestSpin
)

// between returns the gap between groups of lines.
func (s *spacing) between() kernel.Gap {
	if !(s.step > 0) {
		return 0
	}
	return kernel.Gap(s.gap / s.step)
}

// learn adjusts the gap after a chunk of so many groups, which was due to last due and
// was done earlier by wait.
func (s *spacing) learn(due, wait time.Duration, groups int) {
	if wait == 0 {
		s.gap *= lateFactor
		return
	}
	spare := float64(wait) - spareShare*float64(due)
	s.gap += spacingGain * spare / float64(groups)
	s.gap = min(max(s.gap, 0), float64(longestGaps)/float64(groups))
}
