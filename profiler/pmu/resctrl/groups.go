package resctrl

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/intel/goresctrl/pkg/monitor"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Groups makes monitoring groups.
type Groups interface {
	// PlaceOf returns the groups of a thread; the zero Place where the kernel
	// does not tell. The error wraps fs.ErrNotExist when the thread has ended.
	PlaceOf(thread int) (Place, error)
	// Create makes a group with an unused name within a class and returns its path
	// below [Root].
	Create(name, class string) (group string, err error)
	// Join moves a thread into a group that Create made; what it starts from
	// then on is born there. The thread has to be in the class of the group.
	Join(group string, thread int) error
	// Return moves a thread to where it was.
	Return(place Place, thread int) error
	// Remove ends a group; its tasks stay in its class, unmonitored.
	Remove(group string) error
}

// Place is where resctrl has put a thread.
type Place struct {
	// Class is the control group, which limits what the thread may use; "" is
	// the default one.
	Class string
	// Monitor is the monitoring group within the class; "" is none.
	Monitor string
}

// group is the path of the place below the mount point.
func (p Place) group() string {
	if p.Monitor == "" {
		return p.Class
	}
	return path.Join(p.Class, monitors, p.Monitor)
}

const monitors = "mon_groups"

// FileSystem is resctrl as the kernel mounts it. Its groups are managed by
// goresctrl, which never moves a task out of the class that limits it; what
// counters say is read by [Read], which tells a hardware error from a missing
// value.
type FileSystem struct {
	root    string
	proc    fs.FS
	manager *monitor.Manager
}

var _ Groups = (*FileSystem)(nil)

// NewFileSystem returns the file system at a folder, usually /sys/fs/resctrl;
// proc is the root of procfs. It need not be mounted.
func NewFileSystem(root string, proc fs.FS) (*FileSystem, error) {
	manager, err := monitor.New(monitor.Options{ResctrlRoot: root})
	if err != nil {
		return nil, fmt.Errorf("resctrl at %s: %w", root, err)
	}
	// It logs groups that still hold tasks, which those of running processes do.
	monitor.SetLogger(slog.New(slog.DiscardHandler))
	return &FileSystem{root: root, proc: proc, manager: manager}, nil
}

// PlaceOf reads /proc/TID/cpu_resctrl_groups, which Linux has since 5.6:
//
//	res:/           a class; / is the default one
//	mon:app         a monitoring group within it; empty for none
func (f *FileSystem) PlaceOf(thread int) (Place, error) {
	dir := strconv.Itoa(thread)
	data, err := fs.ReadFile(f.proc, dir+"/cpu_resctrl_groups")
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fs.Stat(f.proc, dir)
		return Place{}, err
	}
	if err != nil {
		return Place{}, fmt.Errorf("the monitoring group of thread %d: %w", thread, err)
	}
	place, err := parsePlace(string(data))
	if err != nil {
		return Place{}, fmt.Errorf("the monitoring group of thread %d: %w", thread, err)
	}
	return place, nil
}

func parsePlace(text string) (Place, error) {
	class, rest, found := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	class, isClass := strings.CutPrefix(class, "res:")
	name, isMonitor := strings.CutPrefix(rest, "mon:")
	class, name = strings.Trim(class, "/"), strings.Trim(name, "/")
	if !found || !isClass || !isMonitor || strings.ContainsAny(class+name, "/\n") || !isName(class) || !isName(name) {
		return Place{}, fmt.Errorf("%w: %.60q; want the lines res:CLASS and mon:GROUP", sysfile.ErrMalformed, text)
	}
	return Place{Class: class, Monitor: name}, nil
}

// isName refuses what would lead elsewhere in a path.
func isName(name string) bool {
	return name == "" || name != "." && fs.ValidPath(name) && monitor.DefaultKeyValidator(name)
}

// Create makes a folder in mon_groups.
func (f *FileSystem) Create(name, class string) (string, error) {
	group, err := f.manager.EnsureGroup(name, class)
	if err != nil {
		return "", fmt.Errorf("making a monitoring group: %w", err)
	}
	relative, err := filepath.Rel(f.root, group.Path())
	if err != nil {
		return "", fmt.Errorf("making a monitoring group: %w", err)
	}
	return filepath.ToSlash(relative), nil
}

// Join writes to the group's file tasks.
func (f *FileSystem) Join(group string, thread int) error {
	if err := f.manager.AssignPID(path.Base(group), thread); err != nil {
		return fmt.Errorf("moving thread %d into the monitoring group: %w", thread, err)
	}
	return nil
}

// Return writes to the file tasks of the group or class it was in.
func (f *FileSystem) Return(place Place, thread int) error {
	tasks, err := os.OpenFile(filepath.Join(f.root, place.group(), "tasks"), os.O_WRONLY, 0)
	if err == nil {
		_, err = tasks.WriteString(strconv.Itoa(thread))
		err = errors.Join(err, tasks.Close())
	}
	if err != nil {
		return fmt.Errorf("moving thread %d back out of the monitoring group: %w", thread, err)
	}
	return nil
}

// Remove removes the folder.
func (f *FileSystem) Remove(group string) error {
	if err := f.manager.Remove(path.Base(group)); err != nil {
		return fmt.Errorf("removing the monitoring group: %w", err)
	}
	return nil
}
