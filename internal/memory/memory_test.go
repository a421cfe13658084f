package memory

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/internal/requires"
)

func newBuffer(t *testing.T, size int64, node *int) *Buffer {
	t.Helper()
	b, err := New(size, node)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestBuffer(t *testing.T) {
	for _, size := range []int64{0, 1, 4096, 1 << 20, HugePage, 3*HugePage + 1} {
		b := newBuffer(t, size, nil)
		if int64(len(b.Bytes())) != size {
			t.Errorf("%d bytes, want %d", len(b.Bytes()), size)
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes()))); at%HugePage != 0 {
			t.Errorf("%d bytes begin at %#x, want a multiple of 2 MiB", size, at)
		}
		for i, v := range b.Bytes() {
			if v != 0 {
				t.Fatalf("byte %d of a new buffer is %d", i, v)
			}
		}
		for i := range b.Bytes() {
			b.Bytes()[i] = 7
		}
	}
}

// resident counts the pages of a buffer that the system has provided.
func resident(t *testing.T, b *Buffer) int {
	t.Helper()
	pages := make([]byte, (len(b.bytes)+unix.Getpagesize()-1)/unix.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b.bytes[0])), uintptr(len(b.bytes)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatalf("mincore: %v", errno)
	}
	n := 0
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}

func TestTouchProvidesEveryPage(t *testing.T) {
	page := int64(unix.Getpagesize())
	b := newBuffer(t, 100*page+1, nil)
	if n := resident(t, b); n != 0 {
		t.Errorf("%d pages are there before they are touched", n)
	}
	b.Touch()
	if n := resident(t, b); n != 101 {
		t.Errorf("%d pages are there, want 101", n)
	}
}

func TestFree(t *testing.T) {
	if err := (*Buffer)(nil).Free(); err != nil {
		t.Errorf("of nil: %v", err)
	}
	b, err := New(1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Free(); err != nil || b.Bytes() != nil {
			t.Errorf("%d bytes left, %v", len(b.Bytes()), err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, size := range []int64{-1, math.MinInt64, 1 << 48, math.MaxInt64 - HugePage, math.MaxInt64} {
		if b, err := New(size, nil); !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "buffer of ") {
			t.Errorf("%d bytes: %v, %v", size, b, err)
		}
	}
	for _, node := range []int{-1, 1000, maxNodes - 1, maxNodes, math.MaxInt} {
		_, err := New(1<<20, &node)
		unlessUnbindable(t, err)
		if !errors.Is(err, ErrNode) || !strings.Contains(err.Error(), "memory node ") {
			t.Errorf("node %d: %v", node, err)
		}
	}
}

// unlessUnbindable ends the test where mbind is forbidden or unknown.
func unlessUnbindable(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		if errors.Is(err, unix.EPERM) && (!errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "CAP_SYS_NICE")) {
			t.Errorf("no remedy: %v", err)
		}
		requires.Unmet(t, "memory cannot be bound here: %v", err)
	}
}

// policy returns what get_mempolicy(2) says of an address: with MPOL_F_ADDR its
// policy, with MPOL_F_NODE too the node of its page.
func policy(t *testing.T, address *byte, flags uintptr) int {
	t.Helper()
	var mode int32
	if _, _, errno := unix.Syscall6(unix.SYS_GET_MEMPOLICY,
		uintptr(unsafe.Pointer(&mode)), 0, 0, uintptr(unsafe.Pointer(address)), flags, 0); errno != 0 {
		requires.Unmet(t, "needs get_mempolicy: %v", errno)
	}
	return int(mode)
}

// The pages of a bound buffer lie where they were asked for, whichever thread
// touches them.
func TestPagesLieOnTheirNode(t *testing.T) {
	text, err := os.ReadFile("/sys/devices/system/node/has_memory")
	if err != nil {
		requires.Unmet(t, "needs a kernel with NUMA nodes: %v", err)
	}
	nodes, err := cpuset.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.List() {
		b := newBuffer(t, 2*HugePage, nil)
		err := b.bind(node)
		unlessUnbindable(t, err)
		if errors.Is(err, ErrNode) && nodes.Size() > 1 {
			t.Logf("node %d: %v", node, err)
			continue // outside the cpuset
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Touch()
		for i := 0; i < len(b.bytes); i += unix.Getpagesize() {
			if got := policy(t, &b.bytes[i], unix.MPOL_F_ADDR); got != unix.MPOL_BIND {
				t.Fatalf("policy %d at byte %d, want MPOL_BIND", got, i)
			}
			if got := policy(t, &b.bytes[i], unix.MPOL_F_NODE|unix.MPOL_F_ADDR); got != node {
				t.Fatalf("byte %d is on node %d, want %d", i, got, node)
			}
		}
	}
}

func TestOnlyNodeIsNotBound(t *testing.T) {
	node := 0
	b, err := New(1<<20, &node)
	unlessUnbindable(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	bound, only := policy(t, &b.bytes[0], unix.MPOL_F_ADDR) == unix.MPOL_BIND, OnlyNode(os.DirFS("/"), node)
	if bound == only {
		t.Errorf("bound: %v; the only node: %v", bound, only)
	}
}

func TestOnlyNode(t *testing.T) {
	hasMemory := func(text string) fstest.MapFS {
		return fstest.MapFS{"sys/devices/system/node/has_memory": {Data: []byte(text)}}
	}
	tests := []struct {
		name string
		root fstest.MapFS
		node int
		want bool
	}{
		{"no NUMA", fstest.MapFS{}, 0, true},
		{"no NUMA, no such node", fstest.MapFS{}, 1, false},
		{"the one", hasMemory("0\n"), 0, true},
		{"the one with memory", hasMemory("1\n"), 1, true},
		{"not the one", hasMemory("0\n"), 1, false},
		{"one of two", hasMemory("0-1\n"), 1, false},
		{"unreadable", hasMemory("?"), 0, false},
		{"a directory", fstest.MapFS{"sys/devices/system/node/has_memory/x": {}}, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := OnlyNode(test.root, test.node); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
