package interferer

import (
	"time"

	"bandmate.dev/bandmate/units"
)

// maxDebt is how far a pacer may fall behind and still make up for it. What
// was held up longer is lost: repaying it would be a burst.
const maxDebt = 2 * time.Millisecond

// pacer spaces chunks of traffic by absolute deadlines, so that neither the
// length of a chunk nor that of a wait adds up to an error of the rate.
// It knows no clock: times are durations since an arbitrary moment.
type pacer struct {
	// nanosecondsPerByte is 0 for an unpaced stream.
	nanosecondsPerByte float64
	// start is the moment from which due counts.
	start time.Duration
	// due is when all that was sent should have taken its time, in nanoseconds
	// since start: fractions of them matter, an hour fits.
	due float64
}

// newPacer returns a pacer that begins now. A rate of 0 does not pace.
func newPacer(rate units.Bandwidth, now time.Duration) pacer {
	p := pacer{start: now}
	if rate > 0 {
		p.nanosecondsPerByte = 1e9 / float64(rate)
	}
	return p
}

// time returns how long traffic is to take; 0 without pacing.
func (p *pacer) time(bytes uint64) time.Duration {
	return time.Duration(float64(bytes) * p.nanosecondsPerByte)
}

// sent notes traffic that was complete at the moment now. It returns how long
// to wait from now before the next chunk, and how much time was given up
// because the traffic was too late.
func (p *pacer) sent(bytes uint64, now time.Duration) (wait, lost time.Duration) {
	if p.nanosecondsPerByte == 0 {
		return 0, 0
	}
	p.due += float64(bytes) * p.nanosecondsPerByte
	ahead := p.start + time.Duration(p.due) - now
	if ahead >= 0 {
		return ahead, 0
	}
	if excess := -ahead - maxDebt; excess > 0 {
		p.due += float64(excess)
		return 0, excess
	}
	return 0, 0
}
