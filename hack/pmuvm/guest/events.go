package main

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// holdEvents keeps two events of this process open as long as the machine lives.
//
// With the first event of a task, and the first for context switches, the kernel
// rewrites instructions of its scheduler (static keys), by way of a breakpoint
// that the other CPUs may run into; with the last one it writes them back. QEMU,
// which emulates each CPU in a thread of its own, now and then goes on to execute
// a translation of that breakpoint, and the CPU is lost for good. While these
// events are open nothing is rewritten when those of a measurement come and go.
func holdEvents() error {
	for _, config := range []uint64{unix.PERF_COUNT_SW_DUMMY, unix.PERF_COUNT_SW_CONTEXT_SWITCHES} {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: config, Bits: unix.PerfBitDisabled}
		const self, anyCPU, noGroup = 0, -1, -1
		if _, err := unix.PerfEventOpen(&attr, self, anyCPU, noGroup, unix.PERF_FLAG_FD_CLOEXEC); err != nil {
			return fmt.Errorf("hold software event %d: %w", config, err)
		}
	}
	return nil
}
