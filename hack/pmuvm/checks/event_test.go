package checks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const pmuFolder = "/sys/bus/event_source/devices/"

// event is an open event, through nothing but system calls: the checks of the
// pretend hardware do not trust the code that the other checks are about.
type event struct{ fd int }

// reading is what the kernel reports of an event; times in nanoseconds.
type reading struct{ count, enabled, running uint64 }

// open opens a system-wide event. change may set bits that are refused.
func open(pmu string, config uint64, cpu int, change func(*unix.PerfEventAttr)) (event, error) {
	return openFor(-1, pmu, config, cpu, change)
}

// openFor opens an event of a process, or system-wide for pid -1.
func openFor(pid int, pmu string, config uint64, cpu int, change func(*unix.PerfEventAttr)) (event, error) {
	text, err := os.ReadFile(pmuFolder + pmu + "/type")
	if err != nil {
		return event{}, err
	}
	kind, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return event{}, err
	}
	attr := unix.PerfEventAttr{
		Type: uint32(kind), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: config,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	if change != nil {
		change(&attr)
	}
	fd, err := unix.PerfEventOpen(&attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return event{}, fmt.Errorf("open %s %#x on CPU %d: %w", pmu, config, cpu, err)
	}
	return event{fd}, nil
}

func (e event) read() (reading, error) {
	var b [24]byte
	n, err := unix.Read(e.fd, b[:])
	if err != nil {
		return reading{}, fmt.Errorf("read an event: %w", err)
	}
	if n != len(b) {
		return reading{}, fmt.Errorf("read an event: %d bytes, want %d", n, len(b))
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	return reading{word(0), word(1), word(2)}, nil
}

func (e event) close() { _ = unix.Close(e.fd) }

// perSecond is the rate while the event was running.
func (r reading) perSecond() float64 { return float64(r.count) / (float64(r.running) / 1e9) }

// minus is what happened since an earlier reading.
func (r reading) minus(earlier reading) reading {
	return reading{r.count - earlier.count, r.enabled - earlier.enabled, r.running - earlier.running}
}

// openAll opens the same event several times.
func openAll(n int, pmu string, config uint64, cpu int) ([]event, error) {
	var events []event
	for range n {
		e, err := open(pmu, config, cpu, nil)
		if err != nil {
			closeAll(events)
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

func closeAll(events []event) {
	for _, e := range events {
		e.close()
	}
}

// openArgument makes this program open one event and exit with the error number.
const openArgument = "open-event"

// openAsUser opens an event as a user without privileges and returns the error.
func openAsUser(pmu string, config uint64, cpu int) error {
	command := exec.Command("/bin/checks", openArgument, pmu, strconv.FormatUint(config, 10), strconv.Itoa(cpu))
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	err := command.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return syscall.Errno(exit.ExitCode())
	}
	return err
}

func openAndReport(arguments []string) int {
	config, _ := strconv.ParseUint(arguments[1], 10, 64)
	cpu, _ := strconv.Atoi(arguments[2])
	e, err := open(arguments[0], config, cpu, nil)
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return int(errno)
	}
	e.close()
	return 0
}
