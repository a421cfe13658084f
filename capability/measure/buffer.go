package measure

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/internal/memory"
	"bandmate.dev/bandmate/units"
)

// line is a cache line of numbers.
type line = [units.LineBytes / 8]float64

// buffer is memory as lines or words. Its zero value may be freed.
type buffer struct{ *memory.Buffer }

// newBuffer makes a buffer, with pages from one NUMA node or, with nil, from that
// of the thread that first touches them.
func newBuffer(size int64, node *int) (buffer, error) {
	b, err := memory.New(size, node)
	if errors.Is(err, unix.ENOMEM) {
		err = fmt.Errorf("%w: ask for less memory", err)
	}
	return buffer{b}, err
}

// lines returns the buffer as lines, without an incomplete last one.
func (b buffer) lines() []line {
	return unsafe.Slice((*line)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), len(b.Bytes())/units.LineBytes)
}

// words returns the buffer as words of 32 bits, without an incomplete last one.
func (b buffer) words() []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), len(b.Bytes())/4)
}
