package sysfile

import (
	"io/fs"
	"slices"
	"strconv"
)

// Numbers lists the names in a folder that are numbers above 0, in ascending order: the
// processes in /proc, the threads in /proc/PID/task.
func Numbers(fsys fs.FS, dir string) ([]int, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}
