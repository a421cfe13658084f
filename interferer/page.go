package interferer

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// controlPage is the memory that the parent shares with the child: a header in
// which the parent writes the setting, and a slot for each thread, in which
// the thread writes what it has done.
//
// The protocol: the parent writes the setting, then a new sequence number, and
// wakes the threads that sleep on it. Each thread sees the number, reads the
// setting, publishes a record that ends the previous setting and acknowledges
// the number. The parent writes no further setting before all threads have.
type controlPage struct {
	memory []byte
	header *header
	slots  []slot
}

const (
	headerBytes = 128
	slotBytes   = 384
)

// header is written by the parent only.
type header struct {
	// sequence numbers the settings; threads that are idle sleep on it (futex).
	sequence atomic.Uint32
	// stop asks the child to end, once sequence has changed.
	stop    atomic.Uint32
	setting settingCode
	_       [headerBytes - 48]byte
}

// slot is written by one thread only.
type slot struct {
	// version counts the records published. records[version%2] is the latest;
	// the thread writes into the other one. So a thread that is stopped or
	// killed halfway blocks no reader.
	version atomic.Uint64
	// acknowledged is the sequence number of the setting that is followed.
	acknowledged atomic.Uint32
	_            [slotBytes - 2*128 - 12]byte
	records      [2]recordCode
}

// record is what one thread has done since its start.
type record struct {
	// time is when this was so, on CLOCK_MONOTONIC.
	time time.Duration
	// streaming says that bytes grow with time, so that they belong to the
	// moment time. Otherwise they are true at any later moment too.
	streaming             bool
	readBytes, writeBytes uint64
	late, offCPU          time.Duration
	// windows are kept by the first thread for all.
	windows windowSums
}

// newControlPage returns the page of an interferer with a number of threads, and
// the file in memory that passes it to the child.
func newControlPage(threads int) (*controlPage, *os.File, error) {
	fd, err := unix.MemfdCreate("bandmate-interferer", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("control page: memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "bandmate-interferer")
	if err := file.Truncate(controlPageBytes(threads)); err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("control page: %w", err)
	}
	page, err := mapControlPage(file, threads)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return page, file, nil
}

// mapControlPage maps the page that newControlPage made.
func mapControlPage(file *os.File, threads int) (*controlPage, error) {
	size := controlPageBytes(threads)
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("control page: %w", err)
	}
	// Beyond the end of the file an access would kill the process.
	if info.Size() < size {
		return nil, fmt.Errorf("control page: %d bytes, want %d for %d threads", info.Size(), size, threads)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("control page: mmap: %w", err)
	}
	return overlay(memory, threads), nil
}

// overlay lays the page over memory that is large enough and starts at a
// multiple of 8.
func overlay(memory []byte, threads int) *controlPage {
	return &controlPage{
		memory: memory,
		header: (*header)(unsafe.Pointer(&memory[0])),
		slots:  unsafe.Slice((*slot)(unsafe.Pointer(&memory[headerBytes])), threads),
	}
}

func controlPageBytes(threads int) int64 { return headerBytes + int64(threads)*slotBytes }

// unmap ends every use of p.
func (p *controlPage) unmap() error { return unix.Munmap(p.memory) }

// request asks the threads to follow s, which must be valid, and returns its
// sequence number.
func (p *controlPage) request(s Setting) uint32 {
	p.header.setting.store(s)
	sequence := p.header.sequence.Add(1)
	p.wake()
	return sequence
}

// requestStop asks the child to end.
func (p *controlPage) requestStop() {
	p.header.stop.Store(1)
	p.header.sequence.Add(1)
	p.wake()
}

// acknowledged reports whether every thread follows the setting of a sequence
// number.
func (p *controlPage) acknowledged(sequence uint32) bool {
	for i := range p.slots {
		if p.slots[i].acknowledged.Load() != sequence {
			return false
		}
	}
	return true
}

// counters sums up the threads as of now.
func (p *controlPage) counters(now time.Duration) Counters {
	c := Counters{threads: len(p.slots)}
	var since time.Duration
	for i := range p.slots {
		r := p.slots[i].latest()
		moment := now
		if r.streaming {
			moment = r.time
		}
		// The mean of the moments, as a sum of differences that cannot overflow.
		since += now - moment
		c.ReadBytes += r.readBytes
		c.WriteBytes += r.writeBytes
		c.Late += r.late
		c.OffCPU += r.offCPU
		c.windows.count += r.windows.count
		c.windows.sum += r.windows.sum
		c.windows.squares += r.windows.squares
	}
	c.Time = now - since/time.Duration(max(len(p.slots), 1))
	return c
}

// publish makes r the latest record. Only the slot's own thread may call it.
func (s *slot) publish(r record) {
	version := s.version.Load() + 1
	s.records[version%2].store(r)
	s.version.Store(version)
}

// latest returns the latest record.
func (s *slot) latest() record {
	for {
		version := s.version.Load()
		r := s.records[version%2].load()
		// The thread writes into these words only after it has published
		// the other record.
		if s.version.Load() == version {
			return r
		}
	}
}

// wake ends the sleep of every thread that waits for a new sequence number.
func (p *controlPage) wake() {
	// The only errors are those of a wrong address.
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX,
		uintptr(unsafe.Pointer(&p.header.sequence)), futexWake, 1<<30, 0, 0, 0)
}

// sleep returns when the sequence number differs from the one given, after
// timeout, or earlier for no reason.
func (p *controlPage) sleep(sequence uint32, timeout time.Duration) {
	ts := unix.NsecToTimespec(int64(timeout))
	// Awoken, timed out, interrupted, changed already: all are reasons to look.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX,
		uintptr(unsafe.Pointer(&p.header.sequence)), futexWait, uintptr(sequence),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// Operations of futex(2), on memory that processes share.
const (
	futexWait = 0
	futexWake = 1
)
