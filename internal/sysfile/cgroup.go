package sysfile

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Cgroup is a control group.
type Cgroup struct {
	// Dir is its folder below the root of sysfs: fs/cgroup/a/b, or fs/cgroup/memory/a/b.
	Dir string
	// Version is that of the hierarchy, 1 or 2.
	Version int
}

// Cgroups returns the group in which a controller has a process, and those above it, of both
// versions. process is a number or "self". The file /proc/self/cgroup names the groups
// (cgroups(7)):
//
//	4:memory:/a/b
//	1:cpu,cpuacct:/a/b
//	0::/a/b
//
// The last line is that of version 2, whose groups have every controller that version 1
// does not have. In a container a path may be that of the host; then only the root of the
// mount is there, and that is the container's own group.
func Cgroups(proc fs.FS, process, controller string) []Cgroup {
	text, err := Text(proc, path.Join(process, "cgroup"))
	if err != nil {
		return nil
	}
	var groups []Cgroup
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		root := Cgroup{"fs/cgroup", 2}
		if fields[1] != "" {
			root = Cgroup{"fs/cgroup/" + controller, 1}
			if !slices.Contains(strings.Split(fields[1], ","), controller) {
				continue
			}
		}
		for at := path.Clean("/" + fields[2]); ; at = path.Dir(at) {
			groups = append(groups, Cgroup{root.Dir + strings.TrimSuffix(at, "/"), root.Version})
			if at == "/" {
				break
			}
		}
	}
	return groups
}
