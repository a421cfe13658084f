package memory

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestAvailable(t *testing.T) {
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
		{"group that is throttled before its limit", map[string]string{
			"proc/meminfo":                   meminfo,
			"proc/self/cgroup":               "0::/a\n",
			"sys/fs/cgroup/a/memory.max":     "max\n",
			"sys/fs/cgroup/a/memory.high":    "1000000\n",
			"sys/fs/cgroup/a/memory.current": "400000\n",
		}, nil, 600000},
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
			got, known := Available(sub(t, root, "sys"), sub(t, root, "proc"), test.node)
			if known != (test.want >= 0) || known && got != test.want {
				t.Errorf("%d bytes, %v; want %d", got, known, test.want)
			}
		})
	}
}

func FuzzAvailable(f *testing.F) {
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
		if got, _ := Available(sub(t, root, "sys"), sub(t, root, "proc"), nil); got < 0 {
			t.Errorf("%d bytes available", got)
		}
	})
}

func sub(t *testing.T, root fs.FS, dir string) fs.FS {
	t.Helper()
	below, err := fs.Sub(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	return below
}
