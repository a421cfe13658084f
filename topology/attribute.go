package topology

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"
)

// Limits on what a file may claim, so that a malformed or hostile tree costs
// neither memory nor time.
const (
	// maxCPUs is the highest CONFIG_NR_CPUS of any architecture.
	maxCPUs = 8192
	// maxNodes is 1 << CONFIG_NODES_SHIFT at its highest, 10.
	maxNodes = 1024
	// maxAttributeBytes holds the longest CPU list of maxCPUs CPUs.
	maxAttributeBytes = 64 << 10
)

// ErrMalformed is wrapped by errors about files of /sys or /proc whose content
// is not what the kernel documents.
var ErrMalformed = errors.New("malformed")

// ParseCPUs reads a kernel CPU list, "0-7,16" (cpuset(7), "List format").
// Blanks around it are ignored; an empty list is the empty set. CPU numbers
// end at 8191, the most any kernel can be built for.
func ParseCPUs(list string) (cpuset.CPUSet, error) {
	set, err := parseList(list, maxCPUs)
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("CPU list %q: %w", list, err)
	}
	return set, nil
}

// parseList bounds every number before cpuset.Parse expands the ranges.
func parseList(list string, limit int) (cpuset.CPUSet, error) {
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

// attribute reads a file of one value, without the blanks around it.
func attribute(fsys fs.FS, name string) (string, error) {
	data, whole, err := readUpTo(fsys, name, maxAttributeBytes)
	if err != nil {
		return "", err
	}
	if !whole {
		return "", fmt.Errorf("%s: %w: longer than %d bytes", name, ErrMalformed, maxAttributeBytes)
	}
	return strings.TrimSpace(string(data)), nil
}

func intAttribute(fsys fs.FS, name string) (int, error) {
	text, err := attribute(fsys, name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %q is not a number", name, ErrMalformed, text)
	}
	return int(n), nil
}

func listAttribute(fsys fs.FS, name string, limit int) (cpuset.CPUSet, error) {
	text, err := attribute(fsys, name)
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	set, err := parseList(text, limit)
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("%s: %w: %w", name, ErrMalformed, err)
	}
	return set, nil
}

// readUpTo reads at most limit bytes; whole tells whether that was all.
func readUpTo(fsys fs.FS, name string, limit int64) (data []byte, whole bool, err error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return data[:limit], false, nil
	}
	return data, true, nil
}
