package resctrl

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Groups makes monitoring groups.
type Groups interface {
	// Create makes a group and returns its path below [Root].
	Create(name string) (group string, err error)
	// Join moves a thread into a group; what it starts from then on is born
	// there. The default group is "".
	Join(group string, thread int) error
	// Remove ends a group; its tasks fall back into the default one.
	Remove(group string) error
}

// Mounted is the resctrl file system at a folder, usually /sys/fs/resctrl.
type Mounted string

var _ Groups = Mounted("")

// Create makes a folder in mon_groups.
func (m Mounted) Create(name string) (string, error) {
	group := filepath.Join("mon_groups", name)
	if err := os.Mkdir(filepath.Join(string(m), group), 0o755); err != nil {
		return "", fmt.Errorf("making a monitoring group: %w", err)
	}
	return group, nil
}

// Join writes to the group's file tasks.
func (m Mounted) Join(group string, thread int) error {
	if err := os.WriteFile(filepath.Join(string(m), group, "tasks"), []byte(strconv.Itoa(thread)), 0o644); err != nil {
		return fmt.Errorf("moving thread %d into the monitoring group: %w", thread, err)
	}
	return nil
}

// Remove removes the folder.
func (m Mounted) Remove(group string) error {
	if err := os.Remove(filepath.Join(string(m), group)); err != nil {
		return fmt.Errorf("removing the monitoring group: %w", err)
	}
	return nil
}
