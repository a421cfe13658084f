package topology

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Limits on what a file may claim, so that a malformed or hostile tree costs
// neither memory nor time.
const (
	// MaxCPUs is the highest CONFIG_NR_CPUS of any architecture.
	MaxCPUs = 8192
	// maxNodes is 1 << CONFIG_NODES_SHIFT at its highest, 10.
	maxNodes = 1024
)

// ParseCPUs reads a kernel CPU list, "0-7,16" (cpuset(7), "List format").
// Blanks around it are ignored; an empty list is the empty set. CPU numbers
// end at 8191, the most any kernel can be built for.
func ParseCPUs(list string) (cpuset.CPUSet, error) {
	set, err := ParseList(list, MaxCPUs)
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("CPU list %q: %w", list, err)
	}
	return set, nil
}

// ParseList reads a list of numbers below limit in the form of a CPU list. It
// checks every number before the ranges are expanded.
func ParseList(list string, limit int) (cpuset.CPUSet, error) {
	list = strings.TrimSpace(list)
	if list == "" {
		return cpuset.New(), nil
	}
	isNumberEnd := func(r rune) bool { return r == ',' || r == '-' }
	for number := range strings.FieldsFuncSeq(list, isNumberEnd) {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return cpuset.CPUSet{}, fmt.Errorf("%q is not a number; want a list such as 0-3,8", number)
		}
		if n >= uint64(limit) {
			return cpuset.CPUSet{}, fmt.Errorf("%d is above the highest number possible, %d", n, limit-1)
		}
	}
	set, err := cpuset.Parse(list)
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("want a list such as 0-3,8: %w", err)
	}
	return set, nil
}

func listAttribute(fsys fs.FS, name string, limit int) (cpuset.CPUSet, error) {
	text, err := sysfile.Text(fsys, name)
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	set, err := ParseList(text, limit)
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("%s: %w: %w", name, sysfile.ErrMalformed, err)
	}
	return set, nil
}
