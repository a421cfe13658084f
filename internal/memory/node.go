package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"
)

// ErrNode is wrapped where memory of a NUMA node cannot be had.
var ErrNode = errors.New("no such node, no memory on it, or outside the cpuset of this process")

// maxNodes is more than any kernel numbers (CONFIG_NODES_SHIFT is at most 10).
const maxNodes = 1 << 15

// bind has the pages of the buffer taken from one NUMA node, and from no other.
func (b *Buffer) bind(node int) error {
	if node < 0 || node >= maxNodes {
		return fmt.Errorf("memory node %d: %w", node, ErrNode)
	}
	const bits = 64
	mask := make([]uint64, node/bits+1)
	mask[node/bits] = 1 << (node % bits)
	// The kernel takes the number of bits plus one.
	_, _, errno := unix.Syscall6(unix.SYS_MBIND,
		uintptr(unsafe.Pointer(&b.mapping[0])), uintptr(len(b.mapping)), unix.MPOL_BIND,
		uintptr(unsafe.Pointer(&mask[0])), uintptr(len(mask)*bits+1), 0)
	switch errno {
	case 0:
		return nil
	case unix.EINVAL:
		return fmt.Errorf("memory node %d: %w", node, ErrNode)
	case unix.EPERM:
		return fmt.Errorf("memory node %d: mbind is not permitted here: in a container, add CAP_SYS_NICE: %w", node, errno)
	default:
		return fmt.Errorf("memory node %d: mbind: %w", node, errno)
	}
}

// OnlyNode reports whether node is the only NUMA node with memory, or the kernel
// knows none and node is 0. It is false where that cannot be read. root is the
// file system at "/", whose sys/devices/system/node/has_memory is a list as
// "0-1".
func OnlyNode(root fs.FS, node int) bool {
	text, err := fs.ReadFile(root, "sys/devices/system/node/has_memory")
	if errors.Is(err, fs.ErrNotExist) {
		return node == 0
	}
	if err != nil {
		return false
	}
	nodes, err := cpuset.Parse(strings.TrimSpace(string(text)))
	return err == nil && nodes.Equals(cpuset.New(node))
}
