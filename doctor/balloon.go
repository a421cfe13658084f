package doctor

import (
	"fmt"
	"io/fs"
)

// Bit of /sys/bus/virtio/devices/*/features, a string of 0 and 1 that starts
// with bit 0: VIRTIO_BALLOON_F_PAGE_REPORTING (include/uapi/linux/virtio_balloon.h).
const pageReportingBit = 5

// memoryBacking looks for a hypervisor that takes free memory back:
//
//	/sys/bus/virtio/drivers/virtio_balloon/virtio0/features
//	01100101000000000000000000000000100000000000000000000000000000000000000
func (x *examination) memoryBacking() Finding {
	f := Finding{Name: "memory-backing", Title: "Memory stays backed"}
	if _, err := fs.Stat(x.Sys, "bus"); err != nil {
		f.State, f.Detail = Inconclusive, err.Error()
		return f
	}
	files, err := fs.Glob(x.Sys, "bus/virtio/drivers/virtio_balloon/virtio*/features")
	if err != nil {
		f.State, f.Detail = Inconclusive, err.Error()
		return f
	}
	for _, name := range files {
		features, err := read(x.Sys, name)
		switch {
		case err != nil:
			f.State, f.Detail = Inconclusive, err.Error()
			return f
		case len(features) <= pageReportingBit:
			f.State, f.Detail = Inconclusive, fmt.Sprintf("/sys/%s reads %q", name, features)
			return f
		case features[pageReportingBit] == '1':
			f.State = Limited
			f.Detail = "the hypervisor takes free memory back (free page reporting) and gives it again slowly: a program that takes fresh memory may run much longer now and then; medians and memory kept between runs soften that"
			f.Remedy = "switch free page reporting of the balloon device off in the hypervisor, or repeat more often (--repeats)"
			return f
		}
	}
	f.State, f.Detail = OK, "no hypervisor takes free memory back"
	return f
}
