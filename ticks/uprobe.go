package ticks

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	goperf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/sysfile"
)

// mostThreads bounds the events of a program. Each costs it some tens of
// nanoseconds a call, whichever thread makes it.
const mostThreads = 256

// uprobe counts how often the instruction at an offset of a file is reached, in
// threads that are added to it.
//
// The events must not be inherited: the kernel reads the file's name anew for
// each thread that the program starts, from the program's memory, does not find
// it there, and the start fails (Linux 4.17 to 6.18 at least).
type uprobe struct {
	kind   uint32
	path   *byte // where the kernel reads the file's name when an event is opened
	file   *os.File
	offset uint64
	stop   func()

	mu sync.Mutex
	// events are those of threads, by their numbers.
	events map[int]*goperf.Event
	// ended is what threads counted that have ended.
	ended float64
	// err is why a thread cannot be counted.
	err error
}

// uprobeType is the number of the device of uprobes among perf events.
func uprobeType() (uint32, error) {
	const file = "/sys/bus/event_source/devices/uprobe/type"
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("the kernel has no uprobe events; use one with CONFIG_UPROBE_EVENTS, and mount /sys (%w)", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	return uint32(n), nil
}

// newUprobe returns a uprobe of no thread yet.
//
// It keeps the file open: a name below /proc/PID is gone when that process ends or
// executes something else, and others of the program may go on.
func newUprobe(name string, offset uint64) (*uprobe, error) {
	kind, err := uprobeType()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	path, err := syscall.BytePtrFromString("/proc/self/fd/" + strconv.Itoa(int(file.Fd())))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	u := &uprobe{kind: kind, path: path, file: file, offset: offset, events: map[int]*goperf.Event{}, stop: func() {}}
	return u, nil
}

// openUprobe counts in all threads of a program, and in those that it starts
// later from when they are found.
func openUprobe(pid int, file string, offset uint64) (reader, error) {
	u, err := newUprobe(file, offset)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	u.stop = follow(func() { u.addThreads(pid) })
	if err := u.fault(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnavailable, explainUprobe(err)), u.close())
	}
	return u, nil
}

// addThreads opens an event for each thread that has none, and closes those of
// threads that have ended. Both may take a tenth of a second, in which u can be
// read.
func (u *uprobe) addThreads(pid int) {
	running := map[int]bool{}
	for _, process := range append([]int{pid}, descendants(pid)...) {
		for _, thread := range threadsOf(process) {
			running[thread] = true
		}
	}
	for _, event := range u.takeEnded(running) {
		_ = event.Close()
	}
	for thread := range running {
		if !u.wants(thread) {
			continue
		}
		event, err := u.openThread(thread)
		if !errors.Is(err, unix.ESRCH) { // it has ended
			u.keep(thread, event, err)
		}
	}
}

// takeEnded removes the events of threads that do not run any more.
func (u *uprobe) takeEnded(running map[int]bool) (taken []*goperf.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for thread, event := range u.events {
		if !running[thread] {
			n, _ := readEvent(event)
			u.ended += n
			delete(u.events, thread)
			taken = append(taken, event)
		}
	}
	return taken
}

// wants reports whether a thread is to be opened.
func (u *uprobe) wants(thread int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil || u.events[thread] != nil {
		return false
	}
	if len(u.events) == mostThreads {
		u.err = fmt.Errorf("the program has more than %d threads; count something else", mostThreads)
		return false
	}
	return true
}

func (u *uprobe) keep(thread int, event *goperf.Event, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.err = err
		return
	}
	u.events[thread] = event
}

func (u *uprobe) fault() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

func threadsOf(pid int) []int {
	threads, _ := sysfile.Numbers(os.DirFS("/proc"), strconv.Itoa(pid)+"/task")
	return threads
}

// openThread opens an event whose config1 is the address of the file's name and
// whose config2 is the offset (perf_event_open(2)).
func (u *uprobe) openThread(thread int) (*goperf.Event, error) {
	return goperf.Open(&goperf.Attr{
		Label: "uprobe", Type: goperf.EventType(u.kind),
		Config1: uint64(uintptr(unsafe.Pointer(u.path))), Config2: u.offset,
	}, thread, goperf.AnyCPU, nil)
}

func readEvent(event *goperf.Event) (float64, error) {
	fd, err := event.FD()
	if err != nil {
		return 0, err
	}
	return readCount(fd)
}

// readCount reads the count of an event.
func readCount(fd int) (float64, error) {
	var data [8]byte
	if n, err := unix.Read(fd, data[:]); err != nil || n != len(data) {
		return 0, fmt.Errorf("%d bytes of 8: %w", n, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return float64(binary.NativeEndian.Uint64(data[:])), nil
}

func (u *uprobe) read() (float64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLost, u.err)
	}
	sum := u.ended
	for _, event := range u.events {
		n, err := readEvent(event)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrLost, err)
		}
		sum += n
	}
	return sum, nil
}

func (u *uprobe) close() error {
	u.stop()
	u.mu.Lock()
	defer u.mu.Unlock()
	var faults []error
	for _, event := range u.events {
		faults = append(faults, event.Close())
	}
	u.events = nil
	return errors.Join(append(faults, u.file.Close())...)
}
