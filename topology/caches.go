package topology

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/sysfile"
)

// maxCacheIndexes is far above the four or five that processors have.
const maxCacheIndexes = 16

// readCaches reads /sys/devices/system/cpu/cpuN/cache/indexM
// (Documentation/ABI/testing/sysfs-devices-system-cpu):
//
//	level            3
//	type             Unified
//	size             32768K
//	shared_cpu_list  0-15
//
// Each cache is listed once, however many CPUs describe it. Virtual machines
// often have no such directory.
func readCaches(sys fs.FS, online cpuset.CPUSet) ([]Cache, error) {
	var caches []Cache
	seen := map[string]bool{}
	for _, cpu := range online.List() {
		for index := range maxCacheIndexes {
			dir := fmt.Sprintf("devices/system/cpu/cpu%d/cache/index%d/", cpu, index)
			cache, err := readCache(sys, dir, cpu, online)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, err
			}
			key := fmt.Sprint(cache.Level, cache.Type, cache.CPUs)
			if !seen[key] {
				seen[key] = true
				caches = append(caches, cache)
			}
		}
	}
	slices.SortStableFunc(caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.CPUs.List()[0], b.CPUs.List()[0]))
	})
	return caches, nil
}

func readCache(sys fs.FS, dir string, cpu int, online cpuset.CPUSet) (Cache, error) {
	level, err := sysfile.Int(sys, dir+"level")
	if err != nil {
		return Cache{}, err
	}
	if level < 1 || level > maxCacheIndexes {
		return Cache{}, fmt.Errorf("%slevel: %w: no such cache level: %d", dir, sysfile.ErrMalformed, level)
	}
	kind, err := sysfile.Text(sys, dir+"type")
	if err != nil {
		return Cache{}, err
	}
	if !slices.Contains([]string{"Data", "Instruction", "Unified"}, kind) {
		return Cache{}, fmt.Errorf("%stype: %w: %q is not Data, Instruction or Unified", dir, sysfile.ErrMalformed, kind)
	}
	size, err := cacheSize(sys, dir+"size")
	if err != nil {
		return Cache{}, err
	}
	cpus, err := listAttribute(sys, dir+"shared_cpu_list", MaxCPUs)
	if err != nil {
		return Cache{}, err
	}
	if !cpus.Contains(cpu) {
		return Cache{}, fmt.Errorf("%sshared_cpu_list: %w: CPU %d is not among the CPUs of its own cache, %s", dir, sysfile.ErrMalformed, cpu, cpus)
	}
	return Cache{Level: level, Type: kind, Bytes: size, CPUs: cpus.Intersection(online)}, nil
}

// cacheSize reads a capacity in kibibytes, "32768K"; 0 when the file is
// missing, which it is on Arm when the firmware does not say.
func cacheSize(sys fs.FS, name string) (int64, error) {
	text, err := sysfile.Text(sys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	number, found := strings.CutSuffix(text, "K")
	kib, err := strconv.ParseUint(number, 10, 32)
	if err != nil || !found {
		return 0, fmt.Errorf("%s: %w: %q is not a size in kibibytes such as 32768K", name, sysfile.ErrMalformed, text)
	}
	return int64(kib) << 10, nil
}
