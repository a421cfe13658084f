package agent

import (
	"math"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// Pace says when a measurement is worth a write to the API server. Every node
// of a cluster writes, so that not every wobble can be told.
type Pace struct {
	// Change is how much the read or the write bandwidth must have moved since
	// the last publication, relative to the total then; 0.1 is 10%.
	Change float64
	// Floor is the total, in bytes per second, below which traffic is called
	// none: between two such there is no change.
	Floor float64
	// Refresh is the longest time between publications, so that readers can
	// tell a steady node from a dead agent.
	Refresh time.Duration
}

// DefaultPace publishes changes by 10% of the total at least, above 100 MB/s,
// and something every minute.
func DefaultPace() Pace {
	return Pace{Change: 0.1, Floor: 100e6, Refresh: time.Minute}
}

// Due reports whether next is worth publishing after last, which is nil when
// nothing was published yet.
func (p Pace) Due(last *v1alpha1.MeasuredTraffic, next v1alpha1.MeasuredTraffic) bool {
	if last == nil || next.Time.Sub(last.Time.Time) >= p.Refresh {
		return true
	}
	total := last.ReadBytesPerSecond + last.WriteBytesPerSecond
	if max(total, next.ReadBytesPerSecond+next.WriteBytesPerSecond) < p.Floor {
		return false
	}
	moved := max(math.Abs(next.ReadBytesPerSecond-last.ReadBytesPerSecond), math.Abs(next.WriteBytesPerSecond-last.WriteBytesPerSecond))
	return moved >= p.Change*max(total, p.Floor)
}
