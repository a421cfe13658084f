package memory

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestHugePagesOff(t *testing.T) {
	for text, want := range map[string]bool{
		"always [madvise] never\n": false, "[always] madvise never\n": false, "always madvise [never]\n": true,
	} {
		root := fstest.MapFS{transparentHugePages: {Data: []byte(text)}}
		if got := HugePagesOff(root); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if !HugePagesOff(fstest.MapFS{}) {
		t.Error("a kernel without huge pages: want that it gives none")
	}
}

func TestHugeBytesOfBuffers(t *testing.T) {
	if got, err := HugeBytes(); err != nil || got != 0 {
		t.Errorf("of no buffers: %d, %v", got, err)
	}
	b := newBuffer(t, 4*HugePage, nil)
	b.Touch()
	got, err := HugeBytes(b)
	if err != nil || got < 0 || got%HugePage != 0 {
		t.Errorf("%d bytes, %v; want a number of huge pages", got, err)
	}
	if HugePagesOff(os.DirFS("/")) && got != 0 {
		t.Errorf("%d bytes on huge pages, of which the system gives none", got)
	}
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	if got, err := HugeBytes(b); err != nil || got != 0 {
		t.Errorf("after Free: %d, %v", got, err)
	}
}

const smaps = `5571c0a00000-5571c0a21000 rw-p 00000000 00:00 0                          [heap]
Size:                132 kB
AnonHugePages:       999 kB
7f2a40000000-7f2a50000000 rw-p 00000000 00:00 0
Size:             262144 kB
AnonHugePages:    260096 kB
VmFlags: rd wr mr mw me ac sd hg
7f2a60000000-7f2a70000000 rw-p 00000000 00:00 0
AnonHugePages:      2048 kB
`

func TestHugeBytes(t *testing.T) {
	tests := []struct {
		name      string
		addresses []uintptr
		want      int64
	}{
		{"none", nil, 0},
		{"first", []uintptr{0x7f2a40000000}, 260096 << 10},
		{"inside", []uintptr{0x7f2a4fffffff}, 260096 << 10},
		{"behind", []uintptr{0x7f2a50000000}, 0},
		{"two in one mapping count once", []uintptr{0x7f2a40000000, 0x7f2a41000000}, 260096 << 10},
		{"two mappings", []uintptr{0x7f2a40000000, 0x7f2a60200000}, 262144 << 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := hugeBytes(strings.NewReader(smaps), test.addresses...)
			if err != nil || got != test.want {
				t.Errorf("%d bytes, %v; want %d", got, err, test.want)
			}
		})
	}
}

func FuzzHugeBytes(f *testing.F) {
	f.Add(smaps, uint64(0x7f2a40000000))
	f.Add("0-ffffffffffffffff\nAnonHugePages:\nAnonHugePages: x kB\n", uint64(0))
	f.Fuzz(func(t *testing.T, text string, address uint64) {
		if got, err := hugeBytes(strings.NewReader(text), uintptr(address)); err != nil && got != 0 {
			t.Errorf("%d bytes beside an error", got)
		}
	})
}
