package measure

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newMemory maps memory on a NUMA node, or anywhere with nil, and touches all of
// it.
func newMemory(size int64, node *int) ([]byte, error) {
	memory, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("%d MiB for messages: mmap: %w: ask for smaller ones with --message-size", size>>20, err)
	}
	if node != nil {
		if err := bind(memory, *node); err != nil {
			return nil, errors.Join(err, unix.Munmap(memory))
		}
	}
	// Advice; small pages are slower and work.
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	return memory, nil
}

// bind has the pages of a mapping taken from one NUMA node (mbind(2)).
func bind(mapping []byte, node int) error {
	const bits = 64
	mask := make([]uint64, node/bits+1)
	mask[node/bits] = 1 << (node % bits)
	_, _, errno := unix.Syscall6(unix.SYS_MBIND,
		uintptr(unsafe.Pointer(&mapping[0])), uintptr(len(mapping)), unix.MPOL_BIND,
		uintptr(unsafe.Pointer(&mask[0])), uintptr(len(mask)*bits+1), 0)
	switch errno {
	case 0:
		return nil
	case unix.EPERM:
		return fmt.Errorf("memory node %d: mbind is not permitted here: in a container, add CAP_SYS_NICE: %w", node, errno)
	default:
		return fmt.Errorf("memory node %d: mbind: %w: choose nodes with memory that this process may use, with --nodes", node, errno)
	}
}
