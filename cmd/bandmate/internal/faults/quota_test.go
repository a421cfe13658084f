package faults_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/internal/requires"
)

// halfCPU makes a control group that permits the time of half a CPU, and returns its folder.
func halfCPU(t *testing.T) string {
	t.Helper()
	for root, file := range map[string][2]string{
		"/sys/fs/cgroup":     {"cpu.max", "50000 100000"},
		"/sys/fs/cgroup/cpu": {"cpu.cfs_quota_us", "50000"},
	} {
		folder, err := os.MkdirTemp(root, "bandmate-test-") //nolint:usetesting // it has to lie in cgroupfs
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			processtest.Eventually(t, "an empty control group", func() bool { return os.Remove(folder) == nil })
		})
		if quota, err := os.OpenFile(filepath.Join(folder, file[0]), os.O_WRONLY, 0); err == nil {
			_, err = quota.WriteString(file[1])
			quota.Close()
			if err == nil {
				return folder
			}
		}
	}
	requires.Unmet(t, "needs to make a control group with the controller cpu (root)")
	return ""
}

func TestCPUQuota(t *testing.T) {
	bandmate := func(folder string, args ...string) *processtest.Program {
		return processtest.Prepare(t, "sh", append([]string{"-c", `echo $$ > "$0/cgroup.procs" && exec bandmate "$@"`, folder}, args...)...).Start()
	}
	folder := halfCPU(t)
	const permits = " permits the CPU time of 0.5 CPUs, and CPUs "
	t.Run("capability race", func(t *testing.T) {
		bandmate(folder, "capability", "race", "--operation", "barrier").WantExit(4, permits)
	})
	t.Run("capability measure", func(t *testing.T) {
		bandmate(folder, "capability", "measure", "--name", "here", "--store", processtest.StoreWith(t)).WantExit(4, permits)
	})
	for _, more := range []string{"--bandwidth=1GB/s", "--footprint=64KiB"} {
		t.Run("interfere "+more, func(t *testing.T) {
			p := bandmate(folder, "interfere", "--duration", "100ms", "--all-cpus", "-o", "json", more)
			p.WantExit(0)
			if !strings.Contains(p.Stdout.String(), permits) {
				t.Errorf("%s says nothing of the quota; messages: %s", &p.Stdout, &p.Stderr)
			}
		})
	}
}
