// Package resctrl reads the bandwidth and the occupancy of caches that processors with
// resource monitoring count for groups of tasks (Documentation/filesystems/resctrl.rst), and creates such groups with
// intel/goresctrl. It reads counters itself, because goresctrl ignores those of other
// groups and takes the hardware's "Error" for a missing value.
package resctrl

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Root is where the file system is mounted, in sysfs.
const Root = "fs/resctrl"

// Errors that a counter file or folder leads to.
var (
	// ErrCounter means that the hardware reported an error for a counter.
	ErrCounter = errors.New("the hardware reports an error")
	// ErrNoBandwidth means that resctrl counts no bandwidth here.
	ErrNoBandwidth = errors.New("resctrl counts no bandwidth")
)

// Totals are the bytes that one group moved since some time in the past, by
// domain, such as "mon_L3_00". A domain whose counter has no value at the
// moment is missing.
type Totals map[string]uint64

// Supported returns nil when the file system is mounted and counts total bandwidth. The
// error wraps fs.ErrNotExist when it is not mounted, and [ErrNoBandwidth] when it counts
// something else only.
//
//	info/L3_MON/mon_features   llc_occupancy
//	                           mbm_total_bytes
func Supported(sys fs.FS) error {
	counted, err := features(sys)
	switch {
	case err != nil:
		return err
	case len(counted) == 0:
		return fmt.Errorf("%w: this processor has no monitoring", ErrNoBandwidth)
	case !slices.Contains(counted, totalBytes):
		return fmt.Errorf("%w, only %s", ErrNoBandwidth, strings.Join(counted, " and "))
	}
	return nil
}

const totalBytes = "mbm_total_bytes"

// Read reads the totals of a group, a path below [Root]; "" is the default
// group.
func Read(sys fs.FS, group string) (Totals, error) {
	dir := path.Join(Root, group, "mon_data")
	entries, err := fs.ReadDir(sys, dir)
	if err != nil {
		return nil, err
	}
	totals := Totals{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "mon_L3_") {
			continue
		}
		name := path.Join(dir, e.Name(), totalBytes)
		text, err := sysfile.Text(sys, name)
		if err != nil {
			return nil, err
		}
		bytes, known, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if known {
			totals[e.Name()] = bytes
		}
	}
	return totals, nil
}

// parse reads the value of a counter. Beside numbers the kernel writes words:
//
//	1234567
//	Unavailable   no value at the moment, as right after the group was made
//	Unassigned    the processor has too few counters, and this group has none
//	Error
func parse(text string) (bytes uint64, known bool, err error) {
	switch text {
	case "Unavailable", "Unassigned":
		return 0, false, nil
	case "Error":
		return 0, false, ErrCounter
	}
	bytes, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%w: %q is not a number of bytes", sysfile.ErrMalformed, text)
	}
	return bytes, true, nil
}

// AllTasks lists the groups that together hold all tasks: the default one and
// every control group. The totals of each include those of its monitoring
// groups.
func AllTasks(sys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(sys, Root)
	if err != nil {
		return nil, err
	}
	groups := []string{""}
	for _, e := range entries {
		if e.Name() == "info" || e.Name() == "mon_data" || e.Name() == "mon_groups" {
			continue
		}
		if _, err := fs.Stat(sys, path.Join(Root, e.Name(), "mon_data")); err == nil {
			groups = append(groups, e.Name())
		}
	}
	return groups, nil
}

// Difference adds up what was counted from a to b; false when the two have no
// domain in common, or b lacks one that a has. A total that falls is an error:
// the group is not the same any more.
func Difference(a, b Totals) (bytes uint64, whole bool, err error) {
	whole = len(a) > 0
	for domain, from := range a {
		to, ok := b[domain]
		if !ok {
			whole = false
			continue
		}
		if to < from {
			return 0, false, fmt.Errorf("the total of %s fell from %d to %d bytes: another tool changed the group", domain, from, to)
		}
		bytes += to - from
	}
	return bytes, whole, nil
}
