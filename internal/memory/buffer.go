// Package memory takes the memory that Bandmate measures with: outside the Go
// heap, aligned to huge pages and on them where the system has any, from a
// chosen NUMA node.
package memory

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Buffer is memory outside the Go heap. The garbage collector does not look into
// it, so it must hold no Go pointers, and it stays until Free.
type Buffer struct {
	mapping []byte
	// bytes is the part of the mapping that starts on a huge page.
	bytes []byte
}

// New makes a buffer of size bytes, at least 0, that starts on a huge page and
// asks for them. The system provides a page, of zeros, when it is first touched:
// from that NUMA node and from no other (mbind(2), MPOL_BIND); with nil, from the
// node of the thread that touches it, if that has any free.
//
// The only node of a machine is not bound to, which makes no difference and which
// containers often do not permit.
//
// Errors wrap unix.ENOMEM where there is not so much memory or address space,
// ErrNode where the node cannot be had, and fs.ErrPermission where no memory may
// be bound. How to ask for less, or for another node, is the caller's to say.
func New(size int64, node *int) (*Buffer, error) {
	if size < 0 || size > math.MaxInt-HugePage {
		return nil, fmt.Errorf("buffer of %d bytes: %w", size, unix.ENOMEM)
	}
	mapping, err := unix.Mmap(-1, 0, int(size)+HugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("buffer of %d MiB: mmap: %w", size>>20, err)
	}
	start := -uintptr(unsafe.Pointer(&mapping[0])) & (HugePage - 1)
	b := &Buffer{mapping: mapping, bytes: mapping[start : int64(start)+size]}
	if node != nil && !OnlyNode(os.DirFS("/"), *node) {
		if err := b.bind(*node); err != nil {
			return nil, errors.Join(err, b.Free())
		}
	}
	// The advice may fail: small pages also work, but slower. HugeBytes reports them.
	_ = unix.Madvise(mapping, unix.MADV_HUGEPAGE)
	return b, nil
}

// Bytes returns the buffer; it is gone after Free.
func (b *Buffer) Bytes() []byte { return b.bytes }

// Touch writes to every page, so that the system provides all of them now, for
// the calling thread. It changes the first byte of each page.
func (b *Buffer) Touch() {
	for i := 0; i < len(b.bytes); i += unix.Getpagesize() {
		b.bytes[i] = 1
	}
}

// Free gives the memory back. It may be called on nil, and again.
func (b *Buffer) Free() error {
	if b == nil || b.mapping == nil {
		return nil
	}
	mapping := b.mapping
	b.mapping, b.bytes = nil, nil
	if err := unix.Munmap(mapping); err != nil {
		return fmt.Errorf("buffer: munmap: %w", err)
	}
	return nil
}
