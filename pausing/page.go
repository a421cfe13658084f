package pausing

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// page is the memory that a group shares with its watchdog.
type page struct {
	memory []byte
	header *header
	slots  []slot
}

// maxSlots bounds the processes of a group. Memory is taken only for slots in use.
const maxSlots = 1 << 16

const (
	headerBytes = 64
	slotBytes   = int64(unsafe.Sizeof(slot{}))
	pageBytes   = headerBytes + maxSlots*slotBytes
)

// header is written by the group, except for ready and awake.
type header struct {
	// deadline of the pause, on CLOCK_MONOTONIC in nanoseconds; 0 without a pause.
	deadline atomic.Int64
	// pauses counts them.
	pauses atomic.Uint64
	// ready is 1 once the watchdog watches.
	ready atomic.Uint32
	// awake is 1 while the watchdog looks at the page by itself. Otherwise it
	// waits for a byte in its pipe.
	awake atomic.Uint32
	// used is the number of slots that were ever used.
	used atomic.Uint32
	// frozen is the state of the freezer.
	frozen atomic.Uint32
}

// slot is a process of the group.
type slot struct {
	// pid and start identify a process: numbers are used again, but not with the
	// same time of start.
	pid, start atomic.Uint64
	state      atomic.Uint32
	_          uint32
}

// States of a slot, and of the freezer. A state is stored with the number of its
// pause, so that the watchdog cannot change that of a later one. The group moves
// running → pausing → paused → running, the watchdog paused → releasing → released.
const (
	running uint32 = iota
	// pausing: the pause may or may not have been asked for yet. The watchdog
	// cannot tell, so it continues the process again and again.
	pausing
	paused
	// releasing: the watchdog is continuing the process.
	releasing
	// released: the watchdog has continued the process.
	released

	stateBits = 3
	stateMask = 1<<stateBits - 1
)

// enter stores a state of the current pause.
func (p *page) enter(state *atomic.Uint32, s uint32) {
	state.Store(uint32(p.header.pauses.Load())<<stateBits | s)
}

// turn changes a state of the current pause to another; false where it is not in the first.
func (p *page) turn(state *atomic.Uint32, from, to uint32) bool {
	pause := uint32(p.header.pauses.Load()) << stateBits
	return state.CompareAndSwap(pause|from, pause|to)
}

func newPage() (*page, *os.File, error) {
	fd, err := unix.MemfdCreate("bandmate-watchdog", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("page of the watchdog: memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "bandmate-watchdog")
	if err := file.Truncate(pageBytes); err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("page of the watchdog: %w", err)
	}
	p, err := mapPage(fd)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return p, file, nil
}

func mapPage(fd int) (*page, error) {
	memory, err := unix.Mmap(fd, 0, int(pageBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("page of the watchdog: mmap: %w", err)
	}
	return &page{
		memory: memory,
		header: (*header)(unsafe.Pointer(&memory[0])),
		slots:  unsafe.Slice((*slot)(unsafe.Pointer(&memory[headerBytes])), maxSlots),
	}, nil
}

func (p *page) unmap() error { return unix.Munmap(p.memory) }

// now is the time on CLOCK_MONOTONIC, which all processes share.
func now() time.Duration {
	var ts unix.Timespec
	// The only errors are those of a wrong clock or address.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}
