package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/sysfile"
)

// Quota is the CPU time that a control group permits its processes together. Once they have
// used it up, the kernel stops all of them until the period of the quota ends (100 ms by
// default).
type Quota struct {
	// CPUs is the time per time, above 0: with 1.5 one and a half CPUs may work always.
	CPUs float64
	// File is where the quota is set: /sys/fs/cgroup/a/cpu.max.
	File string
}

// String says what is permitted, and where that is set.
func (q Quota) String() string {
	return fmt.Sprintf("%s permits the CPU time of %s CPUs", q.File, strconv.FormatFloat(q.CPUs, 'g', 4, 64))
}

// ReadQuota returns the tightest quota of the control group of a process, a number or
// "self", and of the groups above it that can be seen; nil where there is none. sys and proc
// are the roots of sysfs and procfs. A group of version 2 has (Documentation/admin-guide/
// cgroup-v2.rst), in microseconds of each period,
//
//	cpu.max            150000 100000
//
// or "max 100000" without a quota, and one of version 1 (scheduler/sched-bwc.rst)
//
//	cpu.cfs_quota_us   150000
//	cpu.cfs_period_us  100000
//
// where −1 means that there is none.
func ReadQuota(sys, proc fs.FS, process string) *Quota {
	var tightest *Quota
	for _, group := range sysfile.Cgroups(proc, process, "cpu") {
		name := "cpu.max"
		var quota, period string
		if group.Version == 1 {
			name = "cpu.cfs_quota_us"
			quota, _ = sysfile.Text(sys, path.Join(group.Dir, name))
			period, _ = sysfile.Text(sys, path.Join(group.Dir, "cpu.cfs_period_us"))
		} else {
			both, _ := sysfile.Text(sys, path.Join(group.Dir, name))
			quota, period, _ = strings.Cut(both, " ")
		}
		used, err := strconv.ParseInt(quota, 10, 64)
		of, failed := strconv.ParseInt(period, 10, 64)
		if err != nil || failed != nil || used <= 0 || of <= 0 {
			continue
		}
		if cpus := float64(used) / float64(of); tightest == nil || cpus < tightest.CPUs {
			tightest = &Quota{cpus, path.Join("/sys", group.Dir, name)}
		}
	}
	return tightest
}

// ErrQuota is wrapped where a quota would stop CPUs that are to work all the time.
var ErrQuota = errors.New("the CPU time is limited")

// OwnQuota returns the quota of this process, nil where there is none. The error wraps
// ErrUnreadable.
func OwnQuota() (*Quota, error) {
	sys, proc, closeBoth, err := sysfile.OpenHost()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return ReadQuota(sys, proc, "self"), closeBoth()
}

// Narrow returns as many CPUs of a placement as the quota permits to work all the time, half
// of them the interferer's. It reports false where all may, of those allowed, or fewer than
// two.
func (q *Quota) Narrow(p Placement, allowed cpuset.CPUSet) (cpuset.CPUSet, bool) {
	if q == nil || q.CPUs < 2 || q.Suffices(p.Target.Union(p.Interferer).Size(), allowed) {
		return allowed, false
	}
	target, interferer := p.Target.List(), p.Interferer.List()
	interferer = interferer[:min(int(q.CPUs)/2, len(interferer))]
	target = target[:min(int(q.CPUs)-len(interferer), len(target))]
	return cpuset.New(slices.Concat(target, interferer)...), true
}

// Check returns an error that wraps ErrQuota where the quota does not suffice for CPUs that
// work all the time, of those allowed.
func (q *Quota) Check(used, allowed cpuset.CPUSet) error {
	if q.Suffices(used.Size(), allowed) {
		return nil
	}
	return fmt.Errorf("%w: %v, and CPUs %s are to work all the time: the kernel would stop them again and again, so that nothing could be compared: %s",
		ErrQuota, q, used, q.Remedy())
}

// Throttled returns how often a quota has stopped a process, a number or "self": the sum of
// nr_throttled in cpu.stat of the groups that ReadQuota looks at.
func Throttled(sys, proc fs.FS, process string) uint64 {
	var times uint64
	for _, group := range sysfile.Cgroups(proc, process, "cpu") {
		stat, _ := sysfile.Text(sys, path.Join(group.Dir, "cpu.stat"))
		for line := range strings.Lines(stat) {
			if n, found := strings.CutPrefix(strings.TrimSpace(line), "nr_throttled "); found {
				more, _ := strconv.ParseUint(n, 10, 64)
				times += more
			}
		}
	}
	return times
}

// ownShare is what an experiment uses beside the CPUs of target and interferer, in CPUs: the
// threads that switch and count.
const ownShare = 0.5

// Suffices reports whether so many CPUs may work all the time, of those allowed, beside the
// threads that control them. A nil quota suffices for all.
func (q *Quota) Suffices(used int, allowed cpuset.CPUSet) bool {
	return q == nil || q.CPUs >= min(float64(used)+ownShare, float64(allowed.Size()))
}

// Remedy says how to measure in spite of a quota that does not suffice.
func (q *Quota) Remedy() string {
	const raise = "raise it: systemctl set-property UNIT CPUQuota=, docker update --cpus, limits.cpu of Kubernetes"
	if q.CPUs < 2 {
		return raise
	}
	return fmt.Sprintf("%s; or use at most %d CPUs", raise, int(q.CPUs))
}
