package pmu

import "bandmate.dev/bandmate/profiler/pmu/sysfs"

// peak is the theoretical bandwidth of the machine's memory modules; nil where
// the firmware's tables cannot be read, as by users other than root.
func (h *Host) peak(channels int) *float64 {
	modules, err := sysfs.Modules(h.Sys)
	if err != nil {
		return nil
	}
	peak, err := sysfs.Peak(modules, channels)
	if err != nil {
		return nil
	}
	return &peak
}
