package kernel

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns pages of random contents, multiples of 4 KiB, between two
// pages that fault when touched.
func guarded(t testing.TB, size int, seed uint64) []byte {
	t.Helper()
	page := os.Getpagesize()
	inner := (size + page - 1) / page * page
	mapping, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatalf("map %d bytes: %v", inner+2*page, err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mapping); err != nil {
			t.Errorf("unmap: %v", err)
		}
	})
	usable := mapping[page : page+inner]
	if err := unix.Mprotect(usable, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatalf("make %d bytes accessible: %v", inner, err)
	}
	// The end of the buffer touches the guard page.
	buf := usable[inner-size:]
	Fill(buf, seed)
	return buf
}
