// Package interferer makes synthetic memory traffic of a chosen bandwidth and
// read share at the memory controller, in closed loop, from chosen CPUs and
// from memory on a chosen NUMA node.
package interferer

import (
	"errors"
	"fmt"

	"bandmate.dev/bandmate/internal/kernel"
	"bandmate.dev/bandmate/units"
)

// Pattern is the order in which the interferer visits cache lines.
type Pattern string

const (
	// Sequential streams through the buffer; what papers and hardware
	// prefetchers assume. The zero value means Sequential.
	Sequential Pattern = "sequential"
	// Random visits lines in random order, Setting.InFlight of them at a time.
	// Such lines stay in a shared last-level cache, and displace what others
	// keep there, where those of a stream do not: at an eighth of its bandwidth
	// it may do more harm.
	Random Pattern = "random"
)

// Mode is what the interferer's CPUs do.
type Mode string

const (
	// Idle sleeps.
	Idle Mode = "idle"
	// Spin keeps the CPUs busy without touching memory: the control beside
	// which solo times are taken.
	Spin Mode = "spin"
	// Stream makes the traffic of the Setting.
	Stream Mode = "stream"
)

// Setting is the traffic to make.
type Setting struct {
	Mode Mode
	// Bandwidth is the total of reads and writes at the memory controller
	// over all CPUs of the interferer. Zero means unpaced: as much as possible.
	Bandwidth units.Bandwidth
	// ReadShare is reads ÷ (reads + writes) at the memory controller.
	ReadShare units.ReadShare
	Pattern   Pattern
	// InFlight is the number of random lines in flight per thread, 1 to 16: the
	// address of a line follows from what was loaded that many lines ago. 0
	// means as many as the processor can have, which makes the most traffic.
	// Only with Random.
	InFlight int
	// Footprint is how much of its buffer each thread visits, in bytes; 0
	// means all of it. One that fits into a cache makes hits there, which are
	// counted as if they were traffic: an interferer that keeps hold of cache,
	// whose speed tells how much others leave it. Only with Random.
	Footprint int64
}

// Validate reports every fault of s at once.
func (s Setting) Validate() error {
	var faults []error
	switch s.Mode {
	case Idle, Spin, Stream:
	default:
		faults = append(faults, fmt.Errorf("mode %q: want idle, spin or stream", s.Mode))
	}
	if !s.Bandwidth.Valid() {
		faults = append(faults, fmt.Errorf("bandwidth %v: want a finite rate of 0 (unpaced) or more", float64(s.Bandwidth)))
	}
	if !s.ReadShare.Valid() {
		faults = append(faults, fmt.Errorf("read share %v: want 0 to 1", float64(s.ReadShare)))
	}
	switch s.Pattern {
	case "", Sequential, Random:
	default:
		faults = append(faults, fmt.Errorf("pattern %q: want sequential or random", s.Pattern))
	}
	if s.InFlight < 0 || s.InFlight > 16 {
		faults = append(faults, fmt.Errorf("in flight %d: want 1 to 16, or 0 for as many as possible", s.InFlight))
	}
	if s.Footprint < 0 || s.Footprint%units.LineBytes != 0 {
		faults = append(faults, fmt.Errorf("footprint of %d bytes: want a multiple of %d, or 0 for the whole buffer", s.Footprint, units.LineBytes))
	}
	if s.Pattern != Random && (s.InFlight != 0 || s.Footprint != 0) {
		faults = append(faults, fmt.Errorf("in flight %d, footprint %d: only with the random pattern", s.InFlight, s.Footprint))
	}
	return errors.Join(faults...)
}

// supported reports what this CPU cannot do of s.
func (s Setting) supported() error {
	least := kernel.Best().MinReadShare()
	if s.Mode == Stream && s.ReadShare < least {
		return fmt.Errorf("read share %v: this CPU cannot store without reading: want %v or more: %w",
			s.ReadShare, least, errors.ErrUnsupported)
	}
	return nil
}
