// Command guest is the first and only service of the virtual machine of
// hack/pmu-vm.sh: it mounts what a program needs, loads the pretend PMUs, runs
// the command of the job and powers the machine off.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/hack/pmuvm/fakepmu"
)

// statusTrouble is the exit code where the command could not be run.
const statusTrouble = 125

// hostname names the machine profile that bandmate stores.
const hostname = "pmu-vm"

// unprivileged is the user and group of a job that asks for one.
const unprivileged = 1000

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: only runs as the first process of hack/pmu-vm.sh")
		os.Exit(2)
	}
	// The kernel panics when its first process ends: everything ends in powering off.
	defer powerOff()
	if err := becomeMachine(); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		return
	}
	ports, err := openPorts()
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		return
	}
	status, err := run(ports.stdout, ports.stderr)
	if err != nil {
		fmt.Fprintln(ports.stderr, "guest:", err)
	}
	if err := ports.finish(status); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
	}
}

func powerOff() {
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Fprintln(os.Stderr, "guest: power off:", err)
	}
}

// cpus are those of the machine, of which the kernel starts the first alone.
const cpus = 4

// becomeMachine mounts what programs expect, takes a name, holds events while no
// other CPU can run into what that rewrites, and starts the others.
func becomeMachine() error {
	for _, m := range []struct{ source, path, kind string }{
		{"proc", "/proc", "proc"},
		{"sysfs", "/sys", "sysfs"},
		{"devtmpfs", "/dev", "devtmpfs"},
		{"tmpfs", "/tmp", "tmpfs"},
		{"cgroup2", "/sys/fs/cgroup", "cgroup2"},
	} {
		if err := unix.Mount(m.source, m.path, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.path, err)
		}
	}
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := holdEvents(); err != nil {
		return err
	}
	for cpu := 1; cpu < cpus; cpu++ {
		if err := fakepmu.SetOnline(cpu, true); err != nil {
			return fmt.Errorf("start CPU %d: %w", cpu, err)
		}
	}
	return nil
}

// throughPipe hides that a writer is a file, which package os/exec would pass on:
// a serial port looks like a terminal.
type throughPipe struct{ io.Writer }

// run does the job and returns the exit code of its command.
func run(stdout, stderr io.Writer) (int, error) {
	j, err := readJob(os.DirFS("/job"))
	if err != nil {
		return statusTrouble, err
	}
	if err := prepare(j); err != nil {
		return statusTrouble, err
	}
	for _, variable := range [][2]string{{"PATH", "/bin"}, {"HOME", "/tmp"}, {"BANDMATE_STORE", "/tmp/store"}} {
		if err := os.Setenv(variable[0], variable[1]); err != nil {
			return statusTrouble, err
		}
	}
	command := exec.Command(j.args[0], j.args[1:]...)
	command.Dir = "/tmp"
	command.Stdout, command.Stderr = throughPipe{stdout}, throughPipe{stderr}
	if j.user {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	err = command.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if exit.ExitCode() < 0 {
			return statusTrouble, err // by a signal
		}
		return exit.ExitCode(), nil
	}
	if err != nil {
		return statusTrouble, err
	}
	return 0, nil
}

func prepare(j job) error {
	if j.pmus != "" {
		if err := fakepmu.Load(j.pmus, j.moduleOptions); err != nil {
			return err
		}
		if err := fakepmu.SetRates(j.rates); err != nil {
			return err
		}
	}
	if err := fakepmu.SetParanoid(j.paranoid); err != nil {
		return fmt.Errorf("perf_event_paranoid %s: %w", strconv.Itoa(j.paranoid), err)
	}
	for _, step := range j.before {
		if err := step.Run(); err != nil {
			return err
		}
	}
	return nil
}
