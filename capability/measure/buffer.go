package measure

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/units"
)

// hugePage is the size of a transparent huge page, where there are any.
const hugePage = 2 << 20

// line is a cache line of numbers.
type line = [units.LineBytes / 8]float64

// buffer is memory outside the Go heap, on huge pages where the kernel gives
// them, so that translating addresses costs as little as it can.
type buffer struct {
	mapping []byte
	bytes   []byte
}

// newBuffer makes a buffer, with pages from one NUMA node or, with nil, from that
// of the thread that first touches them.
func newBuffer(size int64, node *int) (*buffer, error) {
	mapping, err := unix.Mmap(-1, 0, int(size)+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("buffer of %d MiB: mmap: %w: ask for less memory", size>>20, err)
	}
	start := -uintptr(unsafe.Pointer(&mapping[0])) & (hugePage - 1)
	b := &buffer{mapping: mapping, bytes: mapping[start : int64(start)+size]}
	if node != nil {
		if err := bind(mapping, *node); err != nil {
			return nil, errors.Join(err, b.free())
		}
	}
	_ = unix.Madvise(mapping, unix.MADV_HUGEPAGE) // advice: see hugePagesOff
	return b, nil
}

// lines returns the buffer as lines; a rest is left out.
func (b *buffer) lines() []line {
	return unsafe.Slice((*line)(unsafe.Pointer(unsafe.SliceData(b.bytes))), len(b.bytes)/units.LineBytes)
}

// words returns the buffer as words of 32 bits; a rest is left out.
func (b *buffer) words() []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b.bytes))), len(b.bytes)/4)
}

// free gives the memory back; it may be called on nil.
func (b *buffer) free() error {
	if b == nil {
		return nil
	}
	if err := unix.Munmap(b.mapping); err != nil {
		return fmt.Errorf("buffer: munmap: %w", err)
	}
	return nil
}

// bind has the pages of a mapping taken from one NUMA node, and from no other.
func bind(mapping []byte, node int) error {
	const bits = 64
	mask := make([]uint64, node/bits+1)
	mask[node/bits] = 1 << (node % bits)
	// The kernel takes the number of bits plus one.
	_, _, errno := unix.Syscall6(unix.SYS_MBIND,
		uintptr(unsafe.Pointer(&mapping[0])), uintptr(len(mapping)), unix.MPOL_BIND,
		uintptr(unsafe.Pointer(&mask[0])), uintptr(len(mask)*bits+1), 0)
	if errno != 0 {
		return fmt.Errorf("memory of NUMA node %d: mbind: %w: in a container, add CAP_SYS_NICE", node, errno)
	}
	return nil
}

// transparentHugePages is "always [madvise] never", the setting in brackets
// (Documentation/admin-guide/mm/transhuge.rst).
const transparentHugePages = "/sys/kernel/mm/transparent_hugepage/enabled"

// hugePagesOff reports whether the kernel gives none, as far as it says.
func hugePagesOff() bool {
	text, err := os.ReadFile(transparentHugePages)
	return err != nil || strings.Contains(string(text), "[never]")
}
