package interferer

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestAvailableMemory(t *testing.T) {
	const meminfo = "MemTotal:       24684092 kB\nMemFree:        22973852 kB\nMemAvailable:   8000 kB\n"
	node1 := 1
	tests := []struct {
		name  string
		files map[string]string
		node  *int
		want  int64
	}{
		{"nothing known", nil, nil, -1},
		{"system", map[string]string{"proc/meminfo": meminfo}, nil, 8000 << 10},
		{"node", map[string]string{
			"proc/meminfo": meminfo,
			"sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:        6383828 kB\n" +
				"Node 1 MemFree:          400 kB\nNode 1 Inactive(file):    50 kB\n",
		}, &node1, 450 << 10},
		{"other node", map[string]string{
			"proc/meminfo":                          meminfo,
			"sys/devices/system/node/node0/meminfo": "Node 0 MemFree:          400 kB\n",
		}, &node1, 8000 << 10},
		{"group", map[string]string{
			"proc/meminfo":                          meminfo,
			"proc/self/cgroup":                      "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":          "2000000\n",
			"sys/fs/cgroup/a/b/memory.current":      "1500000\n",
			"sys/fs/cgroup/a/b/memory.stat":         "anon 1400000\ninactive_file 100000\n",
			"sys/fs/cgroup/a/memory.max":            "max\n",
			"sys/fs/cgroup/a/memory.current":        "1\n",
			"sys/fs/cgroup/cgroup.controllers":      "memory\n",
			"sys/devices/system/node/node0/meminfo": "Node 0 MemFree: 1 kB\n",
		}, nil, 600000},
		{"group above", map[string]string{
			"proc/meminfo":                     meminfo,
			"proc/self/cgroup":                 "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":     "2000000\n",
			"sys/fs/cgroup/a/b/memory.current": "0\n",
			"sys/fs/cgroup/a/memory.max":       "1000000\n",
			"sys/fs/cgroup/a/memory.current":   "0\n",
		}, nil, 1000000},
		{"container sees the root only", map[string]string{
			"proc/meminfo":                 meminfo,
			"proc/self/cgroup":             "0::/../../host/path\n",
			"sys/fs/cgroup/memory.max":     "3000000\n",
			"sys/fs/cgroup/memory.current": "1000000\n",
		}, nil, 2000000},
		{"version 1", map[string]string{
			"proc/meminfo":     meminfo,
			"proc/self/cgroup": "9:name=systemd:/\n4:memory:/j\n3:cpuset:/\n0::/\n",
			"sys/fs/cgroup/memory/j/memory.limit_in_bytes": "5000000\n",
			"sys/fs/cgroup/memory/j/memory.usage_in_bytes": "4000000\n",
			"sys/fs/cgroup/memory/j/memory.stat":           "inactive_file 5\ntotal_inactive_file 7\n",
		}, nil, 1000007},
		{"exhausted", map[string]string{
			"proc/self/cgroup":             "0::/\n",
			"sys/fs/cgroup/memory.max":     "1000\n",
			"sys/fs/cgroup/memory.current": "2000\n",
		}, nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range test.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := availableMemory(root, test.node); got != test.want {
				t.Errorf("%d bytes, want %d", got, test.want)
			}
		})
	}
}

func FuzzAvailableMemory(f *testing.F) {
	f.Add("MemAvailable: 5 kB\n", "0::/a\n4:memory:/b\n", "100", "inactive_file 5\n")
	f.Add("MemAvailable: 99999999999999999 kB\n:", "::\n0::\n", "-1", "inactive_file")
	f.Fuzz(func(t *testing.T, meminfo, cgroup, limit, stat string) {
		root := fstest.MapFS{
			"proc/meminfo":                 {Data: []byte(meminfo)},
			"proc/self/cgroup":             {Data: []byte(cgroup)},
			"sys/fs/cgroup/memory.max":     {Data: []byte(limit)},
			"sys/fs/cgroup/memory.current": {Data: []byte("0")},
			"sys/fs/cgroup/memory.stat":    {Data: []byte(stat)},
		}
		if got := availableMemory(root, nil); got < -1 {
			t.Errorf("%d bytes available", got)
		}
	})
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

func TestOnlyNode(t *testing.T) {
	online := func(text string) fstest.MapFS {
		return fstest.MapFS{"sys/devices/system/node/online": {Data: []byte(text)}}
	}
	tests := []struct {
		name string
		root fstest.MapFS
		node int
		want bool
	}{
		{"no NUMA", fstest.MapFS{}, 0, true},
		{"no NUMA, no such node", fstest.MapFS{}, 1, false},
		{"the one", online("0\n"), 0, true},
		{"not the one", online("0\n"), 1, false},
		{"one of two", online("0-1\n"), 1, false},
		{"unreadable", online("?"), 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := onlyNode(test.root, test.node); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
