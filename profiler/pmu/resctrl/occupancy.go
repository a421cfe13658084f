package resctrl

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bandmate.dev/bandmate/internal/sysfile"
)

// ErrNoOccupancy means that resctrl does not count what tasks hold of a cache.
var ErrNoOccupancy = errors.New("resctrl counts no occupancy of caches")

const occupancy = "llc_occupancy"

// CountsOccupancy returns nil when the file system is mounted and counts what tasks hold of
// the last-level caches. The error wraps fs.ErrNotExist when it is not mounted, and
// [ErrNoOccupancy] when it counts something else only.
func CountsOccupancy(sys fs.FS) error {
	counted, err := features(sys)
	if err == nil && !slices.Contains(counted, occupancy) {
		err = ErrNoOccupancy
	}
	return err
}

// features returns what is counted; nothing where the processor has no monitoring.
func features(sys fs.FS) ([]string, error) {
	if _, err := fs.Stat(sys, Root+"/info"); err != nil {
		return nil, err
	}
	text, err := sysfile.Text(sys, Root+"/info/L3_MON/mon_features")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(text), err
}

// Occupancy returns the bytes that a group, a path below [Root], holds of all last-level
// caches together; false while a counter has no value.
//
//	mon_data/mon_L3_00/llc_occupancy   16678912
func Occupancy(sys fs.FS, group string) (bytes uint64, known bool, err error) {
	dir := path.Join(Root, group, "mon_data")
	entries, err := fs.ReadDir(sys, dir)
	if err != nil {
		return 0, false, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "mon_L3_") {
			continue
		}
		name := path.Join(dir, e.Name(), occupancy)
		text, err := sysfile.Text(sys, name)
		if err != nil {
			return 0, false, err
		}
		here, counted, err := parse(text)
		if err != nil {
			return 0, false, fmt.Errorf("%s: %w", name, err)
		}
		if !counted {
			return 0, false, nil
		}
		bytes, known = bytes+here, true
	}
	return bytes, known, nil
}
