package ticks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// errNotLoaded is wrapped when a program does not use a library (yet).
var errNotLoaded = errors.New("not loaded")

// module is a file from which a process executes.
type module struct {
	// path is the file's name where the process runs; it may be gone there.
	path string
	// file is a name by which this process can open the very file.
	file  string
	inode uint64
}

// mapping is a line of /proc/PID/maps of executable memory.
type mapping struct {
	addresses, path string
	// offset is where in the file it begins.
	offset, inode uint64
	deleted       bool
}

// parseMaps reads the executable mappings of files in /proc/PID/maps
// (proc_pid_maps(5)); a deleted file has " (deleted)" behind its name:
//
//	55d0c8a4e000-55d0c8a52000 r-xp 00002000 fe:00 1053    /usr/bin/cat
func parseMaps(text string) []mapping {
	var found []mapping
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.Contains(fields[1], "x") || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		inode, err := strconv.ParseUint(fields[4], 10, 64)
		offset, errOffset := strconv.ParseUint(fields[2], 16, 64)
		if err != nil || errOffset != nil || inode == 0 {
			continue
		}
		// A path may hold blanks.
		path := strings.TrimSuffix(line[strings.IndexByte(line, '/'):], "\n")
		path, deleted := strings.CutSuffix(path, " (deleted)")
		found = append(found, mapping{addresses: fields[0], path: path, offset: offset, inode: inode, deleted: deleted})
	}
	return found
}

// findModule finds a library among what the processes of a program execute, or
// the executable of its first process. The error wraps [errNotLoaded] when no
// process uses the library.
func findModule(pid int, library string) (module, error) {
	if library == "" {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil {
			return module{}, fmt.Errorf("finding the executable of process %d: %w", pid, err)
		}
		return module{path: path, file: fmt.Sprintf("/proc/%d/exe", pid)}, nil
	}
	var loaded []string
	for _, process := range append([]int{pid}, descendants(pid)...) {
		maps, err := readMaps(process)
		if err != nil && process == pid {
			return module{}, err
		}
		for _, m := range maps {
			if sameName(library, m.path) || sameName(library, soname(process, m)) {
				return m.open(process)
			}
			loaded = append(loaded, filepath.Base(m.path))
		}
	}
	slices.Sort(loaded)
	return module{}, fmt.Errorf("%w: the program executes %s, and not %q", errNotLoaded, strings.Join(slices.Compact(loaded), ", "), library)
}

// modules lists the files that a process executes, its executable first.
func modules(pid int) ([]module, error) {
	maps, err := readMaps(pid)
	if err != nil {
		return nil, err
	}
	first, err := findModule(pid, "")
	if err != nil {
		return nil, err
	}
	found, met := []module{first}, map[string]bool{first.path: true}
	for _, m := range maps {
		if met[m.path] {
			continue
		}
		met[m.path] = true
		if opened, err := m.open(pid); err == nil {
			found = append(found, opened)
		}
	}
	return found, nil
}

func readMaps(pid int) ([]mapping, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, fmt.Errorf("what process %d executes: %w", pid, err)
	}
	return parseMaps(string(data)), nil
}

// open finds a name for the file: by its mapping, which needs root or
// CAP_CHECKPOINT_RESTORE and leads to the very file whatever happened to its
// name; or by its path in the mount namespace of the process.
func (m mapping) open(pid int) (module, error) {
	// The names of map_files have no leading zeros, those of maps have.
	from, to, _ := strings.Cut(m.addresses, "-")
	byMapping := fmt.Sprintf("/proc/%d/map_files/%s-%s", pid, strings.TrimLeft(from, "0"), strings.TrimLeft(to, "0"))
	if _, err := os.Stat(byMapping); err == nil {
		return module{path: m.path, file: byMapping, inode: m.inode}, nil
	}
	if m.deleted {
		return module{}, fmt.Errorf("%s was deleted or replaced after process %d began; start the program again, or run this as root", m.path, pid)
	}
	name := fmt.Sprintf("/proc/%d/root%s", pid, m.path)
	info, err := os.Stat(name)
	if err != nil {
		return module{}, err
	}
	if status, ok := info.Sys().(*syscall.Stat_t); ok && status.Ino != m.inode {
		return module{}, fmt.Errorf("%s was replaced after process %d began; start the program again, or run this as root", m.path, pid)
	}
	return module{path: m.path, file: name, inode: m.inode}, nil
}

// soname returns the name a library gives itself; empty when it has none.
func soname(pid int, m mapping) string {
	if !strings.Contains(filepath.Base(m.path), ".so") {
		return ""
	}
	opened, err := m.open(pid)
	if err != nil {
		return ""
	}
	file, err := elfOpen(opened.file)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	names, err := file.DynString(dtSoname)
	if err != nil || len(names) == 0 {
		return ""
	}
	return names[0]
}

// descendants lists all that a process started, directly or not, as far as they
// still belong to it.
func descendants(root int) []int {
	var found []int
	met := map[int]bool{root: true}
	for next := children(root); len(next) > 0; next = next[1:] {
		if pid := next[0]; !met[pid] {
			met[pid] = true
			found = append(found, pid)
			next = append(next, children(pid)...)
		}
	}
	return found
}

// children lists the children of a process (proc_tid_children(5)); none where the
// kernel has no such files.
func children(pid int) []int {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	var pids []int
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
