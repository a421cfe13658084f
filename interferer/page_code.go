package interferer

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"bandmate.dev/bandmate/units"
)

// settingCode is a Setting in shared memory. All zero it is Idle.
type settingCode struct {
	mode, pattern, inFlight atomic.Uint32
	_                       uint32
	bandwidth, readShare    atomic.Uint64
	footprint               atomic.Int64
}

// The codes of modes and patterns are their places in these lists.
func modes() []Mode       { return []Mode{Idle, Spin, Stream} }
func patterns() []Pattern { return []Pattern{Sequential, Random} }

// store writes s, which must be valid.
func (c *settingCode) store(s Setting) {
	s = s.withDefaults()
	c.mode.Store(uint32(slices.Index(modes(), s.Mode)))
	c.pattern.Store(uint32(slices.Index(patterns(), s.Pattern)))
	c.inFlight.Store(uint32(s.InFlight))
	c.bandwidth.Store(math.Float64bits(float64(s.Bandwidth)))
	c.readShare.Store(math.Float64bits(float64(s.ReadShare)))
	c.footprint.Store(s.Footprint)
}

// load reads a setting, with its defaults filled in. The words may have been
// written by anyone who holds the file; what is not a setting is an error.
func (c *settingCode) load() (Setting, error) {
	mode, pattern, inFlight := c.mode.Load(), c.pattern.Load(), c.inFlight.Load()
	if mode >= uint32(len(modes())) || pattern >= uint32(len(patterns())) || inFlight > math.MaxInt16 {
		return Setting{}, fmt.Errorf("control page: no such setting: mode %d, pattern %d, in flight %d", mode, pattern, inFlight)
	}
	s := Setting{
		Mode:      modes()[mode],
		Pattern:   patterns()[pattern],
		InFlight:  int(inFlight),
		Bandwidth: units.Bandwidth(math.Float64frombits(c.bandwidth.Load())),
		ReadShare: units.ReadShare(math.Float64frombits(c.readShare.Load())),
		Footprint: c.footprint.Load(),
	}
	if err := s.Validate(); err != nil {
		return Setting{}, fmt.Errorf("control page: %w", err)
	}
	return s.withDefaults(), nil
}

// withDefaults fills in what a zero value stands for.
func (s Setting) withDefaults() Setting {
	if s.Pattern == "" {
		s.Pattern = Sequential
	}
	return s
}

// recordCode is a record in shared memory.
type recordCode struct {
	time, late, offCPU         atomic.Int64
	streaming                  atomic.Uint32
	_                          uint32
	readBytes, writeBytes      atomic.Uint64
	windows                    atomic.Uint64
	windowSum, windowSquareSum atomic.Uint64
	_                          [56]byte
}

func (c *recordCode) store(r record) {
	c.time.Store(int64(r.time))
	c.late.Store(int64(r.late))
	c.offCPU.Store(int64(r.offCPU))
	var streaming uint32
	if r.streaming {
		streaming = 1
	}
	c.streaming.Store(streaming)
	c.readBytes.Store(r.readBytes)
	c.writeBytes.Store(r.writeBytes)
	c.windows.Store(r.windows.count)
	c.windowSum.Store(math.Float64bits(r.windows.sum))
	c.windowSquareSum.Store(math.Float64bits(r.windows.squares))
}

func (c *recordCode) load() record {
	return record{
		time:       time.Duration(c.time.Load()),
		late:       time.Duration(c.late.Load()),
		offCPU:     time.Duration(c.offCPU.Load()),
		streaming:  c.streaming.Load() != 0,
		readBytes:  c.readBytes.Load(),
		writeBytes: c.writeBytes.Load(),
		windows: windowSums{
			count:   c.windows.Load(),
			sum:     math.Float64frombits(c.windowSum.Load()),
			squares: math.Float64frombits(c.windowSquareSum.Load()),
		},
	}
}
