package pmu

import (
	"errors"
	"io/fs"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/resctrl"
)

// CountsOccupancy reports whether resctrl counts what processes hold of the last-level
// caches, and lets groups of them be made.
func (h *Host) CountsOccupancy() bool {
	if h.Monitoring == nil || resctrl.CountsOccupancy(h.Sys) != nil {
		return false
	}
	s := monitoring{h}
	group, err := s.create()
	return err == nil && h.Monitoring.Remove(group) == nil
}

// Occupancy reads what processes hold of the last-level caches. A line counts for those who
// brought it in: what was there before the processes were watched is not counted.
type Occupancy struct {
	sys    fs.FS
	made   resctrl.Groups
	groups []string
}

// WatchOccupancy watches processes and what they start from now on. Close it.
func (h *Host) WatchOccupancy(p profiler.Processes) (*Occupancy, error) {
	groups, _, err := monitoring{h}.gather(p)
	o := &Occupancy{sys: h.Sys, made: h.Monitoring, groups: groups}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// Bytes returns what they hold now; false while the processor has no value.
func (o *Occupancy) Bytes() (float64, bool, error) {
	var sum uint64
	for _, g := range o.groups {
		bytes, known, err := resctrl.Occupancy(o.sys, g)
		if err != nil || !known {
			return 0, false, err
		}
		sum += bytes
	}
	return float64(sum), len(o.groups) > 0, nil
}

// Close ends the watch.
func (o *Occupancy) Close() error {
	var err error
	for _, g := range o.groups {
		err = errors.Join(err, o.made.Remove(g))
	}
	o.groups = nil
	return err
}
