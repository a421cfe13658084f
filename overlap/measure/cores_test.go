package measure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/topology"
)

// machine has sockets of cores with so many threads, one node each; CPUs count
// threads last, as Linux does on x86.
func machine(sockets, cores, threads int) *topology.Machine {
	m := &topology.Machine{}
	for thread := range threads {
		for socket := range sockets {
			for core := range cores {
				m.CPUs = append(m.CPUs, topology.CPU{ID: (thread*sockets+socket)*cores + core, Core: core, Socket: socket, Node: socket})
			}
		}
	}
	for node := range sockets {
		m.Nodes = append(m.Nodes, topology.Node{ID: node, MemoryBytes: 1 << 30})
	}
	return m
}

// virtual has one node, and a socket for each CPU.
func virtual(cpus int) *topology.Machine {
	m := machine(cpus, 1, 1)
	for i := range m.CPUs {
		m.CPUs[i].Node = 0
	}
	m.Nodes = m.Nodes[:1]
	return m
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		name      string
		m         *topology.Machine
		allowed   cpuset.CPUSet
		computing []int
		receiver  int
		sender    int
		warning   string
	}{
		{"two sockets", machine(2, 4, 2), cpuset.New(), []int{0, 1, 2}, 3, 4, ""},
		{"one socket", machine(1, 4, 2), cpuset.New(), []int{0, 1}, 3, 2, ""},
		{"two cores", machine(1, 2, 1), cpuset.New(), []int{0}, 1, 1, "sends and receives"},
		{"one core of two threads", machine(1, 1, 2), cpuset.New(), []int{0}, 1, 1, "share a core"},
		{"narrowed", machine(2, 4, 1), cpuset.New(5, 6, 7), []int{5}, 7, 6, ""},
		{"a core on each socket", machine(2, 4, 1), cpuset.New(0, 4), []int{0}, 4, 4, "CPU 0 computes and CPU 4 of another socket receives"},
		{"a core on each of four sockets", machine(4, 4, 1), cpuset.New(0, 4, 8, 12), []int{0}, 4, 8, "no socket has two usable cores"},
		{"one core on the first socket", machine(2, 4, 1), cpuset.New(0, 4, 5, 6), []int{4, 5}, 6, 0, ""},
		{"a socket for each CPU of a node", virtual(4), cpuset.New(), []int{0, 1}, 3, 2, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Choose(test.m, test.allowed)
			if err != nil || fmt.Sprint(c.Computing) != fmt.Sprint(test.computing) || c.Receiver != test.receiver || c.Sender != test.sender {
				t.Errorf("%+v, %v", c, err)
			}
			if warned := strings.Join(c.Warnings, "; "); !strings.Contains(warned, test.warning) || test.warning == "" && warned != "" {
				t.Errorf("warns %q, want %q", warned, test.warning)
			}
			if err := c.validate(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, m := range []*topology.Machine{machine(1, 1, 1), machine(2, 2, 1)} {
		if _, err := Choose(m, cpuset.New(0)); !errors.Is(err, topology.ErrOneCPU) {
			t.Errorf("one CPU: %v", err)
		}
	}
	// The nodes of the sockets that only receive and send are no local ones.
	if c, err := Choose(machine(4, 4, 1), cpuset.New(0, 4, 8, 12)); err != nil || !slices.Equal(c.LocalNodes, []int{0}) {
		t.Errorf("nodes %v are local, %v", c.LocalNodes, err)
	}
	if n := (Cores{LocalNodes: []int{0, 1}}).nodesPerSocket([]int{1, 2, 3}); n != 1 {
		t.Errorf("%d local nodes of 1, 2, 3", n)
	}
}

// The model numbers the nodes of the socket that computes from 0, whatever the kernel does.
func TestNodesAreNumberedFromTheComputingSocket(t *testing.T) {
	m := machine(2, 4, 1)
	c, err := Choose(m, cpuset.New(5, 6, 7))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.localFirst([]int{0, 1}); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("%v where %v are local", got, c.LocalNodes)
	}
	for want, nodes := range map[string][]int{"": {0, 1}, "they are NUMA nodes [1 0]": {1, 0}} {
		if notes := strings.Join(c.numbering(nodes), "; "); !strings.Contains(notes, want) || want == "" && notes != "" {
			t.Errorf("nodes %v: %q, want %q", nodes, notes, want)
		}
	}
	// Otherwise the fit takes the second node for one of another socket.
	divided := Cores{LocalNodes: []int{0, 1}}
	if notes := strings.Join(divided.numbering([]int{0, 1, 2, 3}), "; "); !strings.Contains(notes, "overlap fit needs --nodes-per-socket 2") {
		t.Errorf("two nodes a socket: %q", notes)
	}
	c.Computing = []int{0}
	if c.Locate(m); !slices.Equal(c.LocalNodes, []int{0}) {
		t.Errorf("CPU 0 computes: %v are local", c.LocalNodes)
	}
}

func TestOptionsRefused(t *testing.T) {
	good := Options{
		Cores: Cores{Computing: []int{0}, Receiver: 1, Sender: 1}, Nodes: []int{0}, Parts: 1,
		MessageBytes: MinMessageBytes, Window: MinWindow, Repeats: 1,
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Options){
		"no computing CPU":        func(o *Options) { o.Cores.Computing = nil },
		"want others":             func(o *Options) { o.Cores.Receiver = 0 },
		"want each once":          func(o *Options) { o.Cores.Computing = []int{0, 0} },
		"nodes [0 0]":             func(o *Options) { o.Nodes = []int{0, 0} },
		"nodes []":                func(o *Options) { o.Nodes = nil },
		"parts of a core: 0":      func(o *Options) { o.Parts = 0 },
		"messages of 0 bytes":     func(o *Options) { o.MessageBytes = 0 },
		"last-level cache of -1":  func(o *Options) { o.LastLevelCacheBytes = -1 },
		"window of 1ns":           func(o *Options) { o.Window = time.Nanosecond },
		"repeats: 0: want 1 to 1": func(o *Options) { o.Repeats = 0 },
	} {
		o := good
		spoil(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
