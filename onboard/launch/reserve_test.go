package launch

import (
	"testing"
	"testing/fstest"
)

func TestFreeMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	proc := fstest.MapFS{
		"meminfo":     file("MemTotal: 9000 kB\nMemFree: 4000 kB\nMemAvailable: 8000 kB\n"),
		"self/cgroup": file("0::/a\n"),
	}
	limited := fstest.MapFS{"fs/cgroup/a/memory.max": file("2097152\n"), "fs/cgroup/a/memory.current": file("1048576\n")}
	for _, test := range []struct {
		name      string
		sys, proc fstest.MapFS
		want      int64
	}{
		{"the machine", fstest.MapFS{}, proc, 4000 << 10},
		{"a control group", limited, proc, 1 << 20},
		{"unknown", limited, fstest.MapFS{}, 0},
	} {
		if got := freeMemory(test.sys, test.proc); got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, test.want)
		}
	}
}
