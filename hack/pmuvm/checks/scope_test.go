package checks

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// scopeChecks are about whose traffic is measured, and what those do on CPUs.
func scopeChecks() []check {
	steady := machine{pmus: "uncore_imc_0:icx", rates: unequalRates, processor: iceLake}
	const uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
	pod := "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	return []check{
		{"a running process", steady.on(func() error {
			return ofRunning("", []string{burnArgument, "1h"}, func(pid int) []string { return []string{"--pid", strconv.Itoa(pid)} })
		})},
		{"a running process and its descendants", steady.on(func() error {
			return ofRunning("", []string{burnChildArgument}, func(pid int) []string { return []string{"--pid", strconv.Itoa(pid)} })
		})},
		{"a cgroup", steady.on(func() error {
			return ofRunning("app/part", []string{burnArgument, "1h"}, func(int) []string { return []string{"--cgroup", "app"} })
		})},
		{"a pod", steady.on(func() error {
			return ofRunning(pod+"/cri-1", []string{burnArgument, "1h"}, func(int) []string { return []string{"--pod", uid} })
		})},
		{"CPU time of a command", steady.on(commandActivity)},
		{"no group of resctrl here", steady.on(func() error {
			return refuses(root, notMeasurable, []string{"resctrl"}, measureArguments("resctrl", []string{"--pid", "1", "--duration", "300ms"})...)
		})},
	}
}

// ofRunning measures a program of ours that runs already, in a cgroup when one
// is named. Its traffic is that of the machine, and says so; the program is seen
// at work, and nothing is said of instructions, which this machine cannot count.
func ofRunning(cgroup string, arguments []string, scope func(pid int) []string) (err error) {
	command := exec.Command("/bin/checks", arguments...)
	if err := command.Start(); err != nil {
		return err
	}
	defer func() {
		// Before its child, which would otherwise be left.
		err = errors.Join(err, killTree(command.Process.Pid))
		_ = command.Wait()
	}()
	if cgroup != "" {
		folder := filepath.Join("/sys/fs/cgroup", cgroup)
		pid := []byte(strconv.Itoa(command.Process.Pid))
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "cgroup.procs"), pid, 0)); err != nil {
			return err
		}
	}
	s, err := measure(root, "imc", append(scope(command.Process.Pid), "--duration", "1s")...)
	if err != nil {
		return err
	}
	return errors.Join(oneBox.of(s), s.active(0.05))
}

// killTree ends a process and its children.
func killTree(pid int) error {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	var faults []error
	for child := range strings.FieldsSeq(string(children)) {
		n, err := strconv.Atoi(child)
		faults = append(faults, err, unix.Kill(n, unix.SIGKILL))
	}
	return errors.Join(append(faults, unix.Kill(pid, unix.SIGKILL))...)
}

// active expects that a measurement names its scope and holds CPU time: at least
// so many seconds, and no more than one thread can use.
func (s summary) active(least float64) error {
	// System calls at both ends of the time measured are slow in the emulation;
	// what is counted twice is twice as much.
	const clocks = 1.6
	var faults []error
	if s.Scope != "machine" || !strings.Contains(s.Separation, "other processes") {
		faults = append(faults, fmt.Errorf("scope %q, separation %q: want that others are included", s.Scope, s.Separation))
	}
	a := s.Activity
	if a == nil || a.CPUSeconds == nil {
		return errors.Join(append(faults, errors.New("no CPU time"))...)
	}
	if most := clocks * s.Seconds; *a.CPUSeconds < least || *a.CPUSeconds > most {
		return errors.Join(append(faults, fmt.Errorf("%v s of CPU time, want %v to %v", *a.CPUSeconds, least, most))...)
	}
	if a.Instructions != nil {
		faults = append(faults, fmt.Errorf("%v instructions on a machine that cannot count them", *a.Instructions))
	}
	if a.ContextSwitches == nil || a.OtherCPUSeconds == nil {
		faults = append(faults, errors.New("no context switches, or no CPU time of others"))
	}
	return errors.Join(faults...)
}

func commandActivity() error {
	const burned = 0.3
	s, err := measure(root, "imc", "--", "/bin/checks", burnArgument, "300ms")
	if err != nil {
		return err
	}
	return errors.Join(oneBox.of(s), s.active(0.99*burned))
}

// Arguments that make this program the application to measure.
const (
	burnArgument      = "burn"
	burnChildArgument = "burn-child"
)

// burn uses CPU time for a duration of it, from now on: what the process used
// before it became this program is nobody's to count.
func burn(duration string) int {
	want, err := time.ParseDuration(duration)
	if err != nil {
		return 1
	}
	start, err := cpuTime()
	for now := start; err == nil && now-start < want; {
		now, err = cpuTime()
	}
	if err != nil {
		return 1
	}
	return 0
}

// cpuTime is what this process has used so far.
func cpuTime() (time.Duration, error) {
	var usage unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(unix.TimevalToNsec(usage.Utime) + unix.TimevalToNsec(usage.Stime)), err
}

// burnChild has a child do so, and waits for it.
func burnChild() int {
	if exec.Command("/bin/checks", burnArgument, "1h").Run() != nil {
		return 1
	}
	return 0
}
