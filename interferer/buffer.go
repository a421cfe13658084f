package interferer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/kernel"
)

// hugePage is the size of a transparent huge page, where there are any.
const hugePage = 2 << 20

// buffer is memory to stream through: outside the Go heap, on huge pages where
// the system has them, full of random bytes.
type buffer struct {
	mapping []byte
	// bytes is the part of the mapping that starts on a huge page.
	bytes []byte
}

// newBuffer makes a buffer of size bytes, on a NUMA node or, with nil, where
// the calling thread runs. It touches all of it.
func newBuffer(size int64, node *int, seed uint64) (*buffer, error) {
	mapping, err := unix.Mmap(-1, 0, int(size)+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("buffer of %d MiB: mmap: %w: ask for smaller buffers: %w", size>>20, err, ErrMemory)
	}
	start := -uintptr(unsafe.Pointer(&mapping[0])) & (hugePage - 1)
	b := &buffer{mapping: mapping, bytes: mapping[start : int64(start)+size]}
	if node != nil {
		if err := bind(mapping, *node); err != nil {
			return nil, errors.Join(err, b.free())
		}
	}
	// Advice: without huge pages it is slower, which report tells.
	_ = unix.Madvise(mapping, unix.MADV_HUGEPAGE)
	kernel.Fill(b.bytes, seed)
	return b, nil
}

// free gives the memory back.
func (b *buffer) free() error {
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
	switch errno {
	case 0:
		return nil
	case unix.EINVAL:
		return fmt.Errorf("memory node %d: no such node, no memory on it, or outside the cpuset of this process", node)
	case unix.EPERM:
		return fmt.Errorf("memory node %d: mbind is not permitted here: in a container, add CAP_SYS_NICE: %w", node, errno)
	default:
		return fmt.Errorf("memory node %d: mbind: %w", node, errno)
	}
}

// onlyNode reports whether node is the only NUMA node of the machine, or the
// kernel knows none and node is 0. No memory has to be bound then, which
// containers often do not permit. root is the file system at "/".
func onlyNode(root fs.FS, node int) bool {
	text, err := fs.ReadFile(root, "sys/devices/system/node/online")
	if errors.Is(err, fs.ErrNotExist) {
		return node == 0
	}
	if err != nil {
		return false
	}
	nodes, err := cpuset.Parse(strings.TrimSpace(string(text)))
	return err == nil && nodes.Equals(cpuset.New(node))
}

// hugeBytes returns how many bytes of the mappings that contain one of the
// addresses are on transparent huge pages. It reads /proc/PID/smaps, where a
// mapping is
//
//	7f2a40000000-7f2a50000000 rw-p 00000000 00:00 0
//	Size:             262144 kB
//	AnonHugePages:    262144 kB
func hugeBytes(smaps io.Reader, addresses ...uintptr) (int64, error) {
	var total int64
	wanted := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if low, high, ok := addressRange(fields[0]); ok {
			wanted = false
			for _, a := range addresses {
				wanted = wanted || low <= uint64(a) && uint64(a) < high
			}
			continue
		}
		if wanted && fields[0] == "AnonHugePages:" && len(fields) > 1 {
			kB, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("smaps: %q: %w", lines.Text(), err)
			}
			total += kB << 10
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("smaps: %w", err)
	}
	return total, nil
}

// addressRange reads "7f2a40000000-7f2a50000000".
func addressRange(s string) (low, high uint64, ok bool) {
	first, second, ok := strings.Cut(s, "-")
	if !ok {
		return 0, 0, false
	}
	low, errLow := strconv.ParseUint(first, 16, 64)
	high, errHigh := strconv.ParseUint(second, 16, 64)
	return low, high, errLow == nil && errHigh == nil
}
