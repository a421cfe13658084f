package samples

import (
	"fmt"
	"unsafe"
)

const (
	hugePage  = 2 << 20
	lineBytes = 64
	// staggerBytes separates the starts of arrays beyond their lengths, so
	// that equal indices of two arrays do not meet in the same cache set or
	// alias in the store buffer.
	staggerBytes = 17 * lineBytes
	// maxArrays bounds the arrays one region is carved into.
	maxArrays = 16
)

// region is zeroed memory outside the Go heap from which a sample takes its
// arrays. It must not hold Go pointers.
type region struct {
	mapping []byte
	free    []byte
}

// newRegion returns a region with room for arrays of size bytes together.
func newRegion(size int) (*region, error) {
	if size == 0 {
		return &region{}, nil
	}
	mapping, err := mapMemory(size + hugePage + maxArrays*(staggerBytes+lineBytes))
	if err != nil {
		return nil, fmt.Errorf("allocate %d MiB: %w", size>>20, err)
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(mapping)))
	aligned := (start + hugePage - 1) &^ uintptr(hugePage-1)
	return &region{mapping: mapping, free: mapping[aligned-start:]}, nil
}

// release gives the memory back; the arrays taken from it are then invalid.
func (r *region) release() {
	if r.mapping != nil {
		unmapMemory(r.mapping)
	}
	*r = region{}
}

// element is what arrays of a region may hold.
type element interface {
	~int32 | ~uint32 | ~uint64 | ~float64
}

// array takes n elements, aligned to a cache line. It panics when the sample
// asks for more than it declared as its working set.
func array[T element](r *region, n int) []T {
	if n == 0 {
		return nil
	}
	var zero T
	size := (n*int(unsafe.Sizeof(zero)) + lineBytes - 1) &^ (lineBytes - 1)
	taken := r.free[:size]
	r.free = r.free[min(size+staggerBytes, len(r.free)):]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(taken))), n)
}
