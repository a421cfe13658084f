package memory

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Available returns how many bytes this process may still take without swapping,
// on one NUMA node or, with nil, anywhere; false if nothing says so. sys and proc
// are the roots of sysfs and procfs.
//
// It is the least of what the system has (/proc/meminfo, MemAvailable), what
// the node has free (/sys/devices/system/node/node0/meminfo) and what every
// memory control group on the way to the root still permits.
func Available(sys, proc fs.FS, node *int) (int64, bool) {
	available := int64(math.MaxInt64)
	note := func(bytes int64) { available = min(available, max(0, bytes)) }

	system, _ := sysfile.MemInfo(proc, "meminfo")
	if v, ok := system["MemAvailable"]; ok {
		note(v)
	}
	if node != nil {
		values, _ := sysfile.MemInfo(sys, fmt.Sprintf("devices/system/node/node%d/meminfo", *node))
		if free, ok := values["MemFree"]; ok {
			// Clean file pages give way.
			note(free + values["Inactive(file)"])
		}
	}
	for _, group := range memoryGroups(proc) {
		if left, ok := group.left(sys); ok {
			note(left)
		}
	}
	return available, available != math.MaxInt64
}

// memoryGroup is a memory control group: its directory and the names of its
// files, which differ between the versions 1 and 2.
type memoryGroup struct {
	dir, usage, reclaimable string
	// limits are where the group is ended, and where it is slowed down.
	limits []string
}

// memoryGroups returns the group of this process and those above it.
func memoryGroups(proc fs.FS) []memoryGroup {
	var groups []memoryGroup
	for _, g := range sysfile.Cgroups(proc, "self", "memory") {
		group := memoryGroup{g.Dir, "memory.current", "inactive_file", []string{"memory.max", "memory.high"}}
		if g.Version == 1 {
			group = memoryGroup{g.Dir, "memory.usage_in_bytes", "total_inactive_file", []string{"memory.limit_in_bytes"}}
		}
		groups = append(groups, group)
	}
	return groups
}

// left returns the bytes that the group still permits; false if it has no
// limit.
func (g memoryGroup) left(sys fs.FS) (int64, bool) {
	limit, limited := int64(math.MaxInt64), false
	for _, name := range g.limits {
		if bytes, ok := number(sys, path.Join(g.dir, name)); ok {
			limit, limited = min(limit, bytes), true
		}
	}
	if !limited {
		return 0, false
	}
	usage, ok := number(sys, path.Join(g.dir, g.usage))
	if !ok {
		return 0, false
	}
	return limit - usage + g.reclaimableBytes(sys), true
}

// reclaimableBytes returns the clean file pages of the group: the line
// "inactive_file 4096" of memory.stat.
func (g memoryGroup) reclaimableBytes(sys fs.FS) int64 {
	text, err := sysfile.Text(sys, path.Join(g.dir, "memory.stat"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == g.reclaimable {
			bytes, err := strconv.ParseInt(value, 10, 64)
			if err == nil && bytes >= 0 {
				return bytes
			}
		}
	}
	return 0
}

// number reads a file of one number; false for anything else, such as "max".
func number(sys fs.FS, name string) (int64, bool) {
	text, err := sysfile.Text(sys, name)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(text, 10, 64)
	return v, err == nil && v >= 0
}
