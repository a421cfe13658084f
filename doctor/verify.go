package doctor

import (
	"math"

	"bandmate.dev/bandmate/units"
)

// How far counters may be off the traffic that was made and still agree with it.
const (
	// TrafficTolerance is relative to the total that was made.
	TrafficTolerance = 0.03
	// ReadShareTolerance is absolute.
	ReadShareTolerance = 0.02
)

// Check is what counters counted while known traffic was made.
type Check struct {
	// Asked is what the interferer was set to. It may give less.
	Asked units.Traffic
	// Made is the traffic that it made by line accounting, over the time in
	// which was counted. It has to be above zero in total.
	Made units.Traffic
	// Counted is everything counted; Background what was counted right before
	// and after, without the interferer. Only their totals are known where
	// SplitsReadWrite is false.
	Counted, Background units.Traffic
	// SplitsReadWrite says that the counters count reads and writes separately.
	SplitsReadWrite bool
}

// Net is the counted traffic without the background: below zero where more was
// counted without the interferer.
func (c Check) Net() units.Traffic { return c.Counted.Add(c.Background.Scale(-1)) }

// TrafficError is what was counted too much, relative to what was made: 1 is
// twice the traffic, −1 none of it. NaN where nothing was made or a rate is not
// finite.
func (c Check) TrafficError() float64 {
	if !c.comparable() {
		return math.NaN()
	}
	return float64(c.Net().Total()/c.Made.Total()) - 1
}

// ReadShare returns that of the net traffic, 0 to 1. It is false where the counters
// do not split reads and writes, or where there is next to no traffic.
func (c Check) ReadShare() (units.ReadShare, bool) {
	share, ok := c.Net().ReadShare()
	if !ok || !c.SplitsReadWrite || c.Net().Total() <= unseen*c.Made.Total() {
		return 0, false
	}
	// The background of one kind may have been a little more than was counted.
	return min(max(share, 0), 1), true
}

// ReadShareError is the counted read share less the one that was made; false
// where there is none to compare.
func (c Check) ReadShareError() (float64, bool) {
	counted, told := c.ReadShare()
	made, flows := c.Made.ReadShare()
	if !told || !flows {
		return 0, false
	}
	return float64(counted - made), true
}

// Agrees reports whether the counted traffic is right within TrafficTolerance
// and the read share, where it is known, within ReadShareTolerance.
func (c Check) Agrees() bool {
	if !(math.Abs(c.TrafficError()) <= TrafficTolerance) {
		return false
	}
	share, ok := c.ReadShareError()
	return !ok || math.Abs(share) <= ReadShareTolerance
}

func (c Check) comparable() bool {
	finite := func(b units.Bandwidth) bool { return !math.IsInf(float64(b), 0) && !math.IsNaN(float64(b)) }
	return c.Made.Total() > 0 && finite(c.Made.Total()) && finite(c.Net().Total())
}
