package bench

import (
	"time"

	"bandmate.dev/bandmate/onboard/pressure"
)

// Stream is a party of interferers, whose work is the bytes they move.
type Stream struct {
	interferers interferers
	// Does is what they do when they work.
	Does pressure.Settings
}

// Stream returns the interferers of a session as a party.
func (s *Session) Stream() *Stream { return &Stream{interferers: s.interferers} }

// Switch returns before the threads follow.
func (s *Stream) Switch(on bool) error {
	if on {
		return s.interferers.request(s.Does)
	}
	return s.interferers.request(spinning)
}

// Read returns the bytes moved so far, and when.
func (s *Stream) Read() (float64, time.Duration, error) {
	var bytes uint64
	var at time.Duration
	for _, i := range s.interferers {
		c := i.Counters()
		bytes += c.ReadBytes + c.WriteBytes
		at += c.Time / time.Duration(len(s.interferers))
	}
	return float64(bytes), at, nil
}

// Smooth reports that bytes are counted all the time.
func (*Stream) Smooth() bool { return true }
