package fakepmu

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ModulePath is where the guest holds the kernel module.
const ModulePath = "/lib/fakepmu.ko"

const controlPath = "/sys/module/fakepmu/parameters/control"

// Load loads the kernel module. pmus is NAME:PERSONALITY[@NODE],… and options
// are further parameters of the module, for example "counters=2". There is no
// traffic before SetRates.
func Load(pmus, options string) error {
	file, err := os.Open(ModulePath)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	parameters := strings.TrimSpace("pmus=" + pmus + " " + options)
	if err := unix.FinitModule(int(file.Fd()), parameters, 0); err != nil {
		return fmt.Errorf("load %s with %q: %w; see its messages with --console", ModulePath, parameters, err)
	}
	return nil
}

// Unload unloads the module where it is loaded. It fails with EBUSY or EAGAIN
// while an event is open.
func Unload() error {
	err := unix.DeleteModule("fakepmu", unix.O_NONBLOCK)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unload the module, is an event still open: %w", err)
	}
	return nil
}

// SetRates makes the boxes count at the given rates from now on.
func SetRates(lines []Line) error { return each("rate", lines) }

// Add counts at once.
func Add(lines []Line) error { return each("add", lines) }

// GoBack lets the open events of a PMU go back, as a faulty driver would.
func GoBack(pmu, node string, counts uint64) error {
	return control(fmt.Sprintf("back %s %s %d", pmu, node, counts))
}

// FailOpening makes opening an event of a PMU fail; 0 lets it work again.
func FailOpening(pmu, node string, errno syscall.Errno) error {
	return control(fmt.Sprintf("errno %s %s %d", pmu, node, errno))
}

// Remove makes a PMU disappear. It fails with EBUSY while its events are open.
func Remove(pmu string) error { return control("remove " + pmu) }

// SetOnline takes a CPU offline or brings it back. CPU 0 always stays.
func SetOnline(cpu int, online bool) error {
	value := "0"
	if online {
		value = "1"
	}
	return os.WriteFile("/sys/devices/system/cpu/cpu"+strconv.Itoa(cpu)+"/online", []byte(value), 0)
}

// SetParanoid sets kernel.perf_event_paranoid.
func SetParanoid(level int) error {
	return os.WriteFile("/proc/sys/kernel/perf_event_paranoid", []byte(strconv.Itoa(level)), 0)
}

func each(verb string, lines []Line) error {
	for _, line := range lines {
		if err := control(verb + " " + line.String()); err != nil {
			return err
		}
	}
	return nil
}

func control(command string) error {
	if err := os.WriteFile(controlPath, []byte(command), 0); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}
