package topology

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/utils/cpuset"
	"pgregory.net/rapid"
)

func TestPlace(t *testing.T) {
	tests := []struct {
		name, machine               string
		allowed, target, interferer string
		memory                      *int
		wantTarget, wantInterferer  string
		wantMemory                  *int
		warning                     string // a part of one; "" wants none
	}{
		{
			name: "the other socket", machine: "intel-2socket-smt",
			wantTarget: "0-3,8-11", wantInterferer: "4-7", wantMemory: new(0),
		},
		{
			name: "memory asked for moves the target", machine: "intel-2socket-smt", memory: new(1),
			wantTarget: "4-7,12-15", wantInterferer: "0-3", wantMemory: new(1),
		},
		{
			name: "one socket allowed", machine: "intel-2socket-smt", allowed: "4-7,12-15",
			wantTarget: "4-5,12-13", wantInterferer: "6-7", wantMemory: new(1), warning: "share a last-level cache",
		},
		{
			name: "few CPUs of socket 0 allowed: target takes socket 1", machine: "intel-2socket-smt", allowed: "0,4-7",
			wantTarget: "4-7", wantInterferer: "0", wantMemory: new(1),
		},
		{
			name: "one core allowed", machine: "intel-2socket-smt", allowed: "1,9",
			wantTarget: "1", wantInterferer: "9", wantMemory: new(0), warning: "share a core",
		},
		{
			name: "siblings of the target's core stay idle", machine: "intel-2socket-smt", allowed: "0-3,8-11", target: "0",
			wantTarget: "0", wantInterferer: "1-3", wantMemory: new(0), warning: "share a last-level cache",
		},
		{
			name: "target given", machine: "intel-2socket-smt", target: "5",
			wantTarget: "5", wantInterferer: "0-3", wantMemory: new(1),
		},
		{
			name: "interferer given", machine: "intel-2socket-smt", interferer: "0-1",
			wantTarget: "4-7,12-15", wantInterferer: "0-1", wantMemory: new(1),
		},
		{
			name: "interferer given on both sockets", machine: "intel-2socket-smt", interferer: "0,4",
			wantTarget: "1-3,9-11", wantInterferer: "0,4", wantMemory: new(0), warning: "share a last-level cache",
		},
		{
			name: "both given, on one core", machine: "intel-2socket-smt", target: "0", interferer: "8",
			wantTarget: "0", wantInterferer: "8", wantMemory: new(0), warning: "share a core",
		},
		{
			name: "target over both nodes", machine: "intel-2socket-smt", target: "0-4", interferer: "5",
			wantTarget: "0-4", wantInterferer: "5", warning: "spans 2 NUMA nodes",
		},
		{
			name: "sub-NUMA clusters: another socket, not another cluster", machine: "intel-2socket-snc",
			wantTarget: "0-1", wantInterferer: "4-7", wantMemory: new(0),
		},
		{
			name: "sub-NUMA clusters of one socket", machine: "intel-2socket-snc", allowed: "4-7",
			wantTarget: "4-5", wantInterferer: "6-7", wantMemory: new(2), warning: "share a last-level cache",
		},
		{
			name: "half of the complexes", machine: "epyc-ccx",
			wantTarget: "0-3,8-11", wantInterferer: "4,6-7",
		},
		{
			name: "complexes other than the target's", machine: "epyc-ccx", target: "0",
			wantTarget: "0", wantInterferer: "2-4,6-7",
		},
		{
			name: "one complex", machine: "epyc-ccx", allowed: "2-3",
			wantTarget: "2", wantInterferer: "3", warning: "share a last-level cache",
		},
		{
			name: "memory-only node is not chosen", machine: "cxl",
			wantTarget: "0-1", wantInterferer: "2-3", wantMemory: new(0),
		},
		{
			name: "memory-only node asked for", machine: "cxl", memory: new(2),
			wantTarget: "0-1", wantInterferer: "2-3", wantMemory: new(2), warning: "way to remote memory",
		},
		{
			name: "two CPUs", machine: "vm-2cpu",
			wantTarget: "0", wantInterferer: "1", warning: "virtual machine (KVM)",
		},
		{
			name: "no caches listed", machine: "bare", allowed: "1-3",
			wantTarget: "1-2", wantInterferer: "3", warning: "not known",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := machine(t, tt.machine).Place(Request{
				Target:     mustParse(t, tt.target),
				Interferer: mustParse(t, tt.interferer),
				Allowed:    mustParse(t, tt.allowed),
				MemoryNode: tt.memory,
			})
			if err != nil {
				t.Fatal(err)
			}
			if p.Target.String() != tt.wantTarget || p.Interferer.String() != tt.wantInterferer {
				t.Errorf("target %s, interferer %s; want %s and %s", p.Target, p.Interferer, tt.wantTarget, tt.wantInterferer)
			}
			if (p.MemoryNode == nil) != (tt.wantMemory == nil) || p.MemoryNode != nil && *p.MemoryNode != *tt.wantMemory {
				t.Errorf("memory node differs:\n%s", describePlacement(p))
			}
			warnings := strings.Join(p.Warnings, "\n")
			if !strings.Contains(warnings, tt.warning) || (tt.warning == "") != (warnings == "") {
				t.Errorf("warnings %q, want %q", warnings, tt.warning)
			}
		})
	}
}

// TestPlaceOnOneNodeOfSeveralSockets: hypervisors often make each CPU a socket of its own,
// and firmware can interleave the memory of two sockets.
func TestPlaceOnOneNodeOfSeveralSockets(t *testing.T) {
	for _, tt := range []struct {
		sockets, cpus                      int
		target, wantTarget, wantInterferer string
	}{
		{sockets: 8, cpus: 8, wantTarget: "0-3", wantInterferer: "4-7"},
		{sockets: 8, cpus: 8, target: "0", wantTarget: "0", wantInterferer: "1-7"},
		{sockets: 4, cpus: 8, wantTarget: "0-3", wantInterferer: "4-7"},
		{sockets: 2, cpus: 8, wantTarget: "0-3", wantInterferer: "4-7"},
	} {
		m := &Machine{Nodes: []Node{{MemoryBytes: 1 << 30}}}
		for id := range tt.cpus {
			m.CPUs = append(m.CPUs, CPU{ID: id, Core: id, Socket: id * tt.sockets / tt.cpus})
		}
		p, err := m.Place(Request{Target: mustParse(t, tt.target)})
		if err != nil {
			t.Fatal(err)
		}
		if p.Target.String() != tt.wantTarget || p.Interferer.String() != tt.wantInterferer {
			t.Errorf("%d CPUs in %d sockets, target %q: target %s, interferer %s; want %s and %s",
				tt.cpus, tt.sockets, tt.target, p.Target, p.Interferer, tt.wantTarget, tt.wantInterferer)
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	tests := []struct {
		name, machine               string
		allowed, target, interferer string
		memory                      *int
		want                        []string
		sentinel                    error
	}{
		{name: "one CPU", machine: "vm-2cpu", allowed: "1", want: []string{"CPU 1", "second CPU"}, sentinel: ErrOneCPU},
		{name: "no allowed CPU online", machine: "vm-2cpu", allowed: "7", want: []string{"none of the allowed CPUs 7", "online: 0-1"}},
		{name: "offline", machine: "epyc-ccx", target: "4-5", want: []string{"target CPUs 5: offline", "choose from 0-4,6-12,14-15"}},
		{name: "not allowed", machine: "epyc-ccx", allowed: "0-3", interferer: "4", want: []string{"interferer CPUs 4: not allowed", "choose from 0-3"}},
		{name: "overlap", machine: "epyc-ccx", target: "0-2", interferer: "2-3", want: []string{"CPUs 2 are both"}},
		{name: "nothing left", machine: "vm-2cpu", target: "0-1", want: []string{"takes every allowed CPU"}},
		{name: "no such node", machine: "cxl", memory: new(3), want: []string{"memory node 3", "choose from 0-2"}},
		{
			name: "every fault at once", machine: "vm-2cpu", target: "0,2", interferer: "0", memory: new(-1),
			want: []string{"target CPUs 2: offline", "CPUs 0 are both", "memory node -1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := machine(t, tt.machine).Place(Request{
				Target:     mustParse(t, tt.target),
				Interferer: mustParse(t, tt.interferer),
				Allowed:    mustParse(t, tt.allowed),
				MemoryNode: tt.memory,
			})
			if err == nil {
				t.Fatalf("placed: %s", describePlacement(p))
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if tt.sentinel != nil && !errors.Is(err, tt.sentinel) {
				t.Errorf("error %q does not wrap %q", err, tt.sentinel)
			}
		})
	}
}

// machines draws machines of up to 3 sockets × 2 nodes × 2 caches × 2 cores ×
// 2 threads, with holes.
func machines(t *rapid.T) *Machine {
	sockets := rapid.IntRange(1, 3).Draw(t, "sockets")
	nodes := rapid.IntRange(1, 2).Draw(t, "nodes per socket")
	caches := rapid.IntRange(0, 2).Draw(t, "caches per node")
	cores := rapid.IntRange(1, 2).Draw(t, "cores per cache")
	threads := rapid.IntRange(1, 2).Draw(t, "threads per core")
	m := &Machine{}
	for socket := range sockets {
		for range nodes {
			n := Node{ID: len(m.Nodes), MemoryBytes: rapid.SampledFrom([]int64{0, 1 << 30, 1 << 30}).Draw(t, "memory")}
			for range max(caches, 1) {
				cache := Cache{Level: rapid.IntRange(2, 3).Draw(t, "level"), Type: "Unified"}
				for range cores {
					core := len(m.CPUs)
					for range threads {
						id := len(m.CPUs)
						m.CPUs = append(m.CPUs, CPU{ID: id, Core: core, Socket: socket, Node: n.ID})
						n.CPUs, cache.CPUs = n.CPUs.Union(cpuset.New(id)), cache.CPUs.Union(cpuset.New(id))
					}
				}
				if caches > 0 {
					m.Caches = append(m.Caches, cache)
				}
			}
			m.Nodes = append(m.Nodes, n)
		}
	}
	return m
}

func subset(t *rapid.T, of cpuset.CPUSet, label string) cpuset.CPUSet {
	var ids []int
	for _, id := range of.List() {
		if rapid.Bool().Draw(t, label) {
			ids = append(ids, id)
		}
	}
	return cpuset.New(ids...)
}

func TestPlaceKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := machines(t)
		r := Request{Allowed: subset(t, m.Online(), "allowed")}
		allowed := r.Allowed
		if allowed.IsEmpty() {
			allowed = m.Online()
		}
		if rapid.Bool().Draw(t, "choose the target") {
			r.Target = subset(t, allowed, "target")
		}
		p, err := m.Place(r)
		if refuse := allowed.Size() < 2 || r.Target.Equals(allowed); refuse != (err != nil) {
			t.Fatalf("allowed %s, target %q: error %v, want one: %v", allowed, r.Target, err, refuse)
		}
		if err != nil {
			return
		}
		if p.Target.IsEmpty() || p.Interferer.IsEmpty() || !p.Target.Intersection(p.Interferer).IsEmpty() {
			t.Fatalf("target %q and interferer %q must be disjoint and not empty", p.Target, p.Interferer)
		}
		if !p.Target.Union(p.Interferer).IsSubsetOf(allowed) {
			t.Fatalf("target %s and interferer %s leave the allowed CPUs %s", p.Target, p.Interferer, allowed)
		}
		if !r.Target.IsEmpty() && !r.Target.Equals(p.Target) {
			t.Fatalf("target %s was asked for, got %s", r.Target, p.Target)
		}
		shareCore := !m.siblings(p.Target).Intersection(p.Interferer).IsEmpty()
		if shareCore && r.Target.IsEmpty() && len(m.cores(allowed)) > 1 {
			t.Fatalf("target %s and interferer %s share a core, of several", p.Target, p.Interferer)
		}
		if !shareCore && len(m.cores(p.Interferer)) != p.Interferer.Size() {
			t.Fatalf("interferer %s has several CPUs of one core", p.Interferer)
		}
		if p.MemoryNode != nil {
			if n, ok := m.Node(*p.MemoryNode); !ok || n.MemoryBytes == 0 {
				t.Fatalf("bound to node %d, which has no memory", *p.MemoryNode)
			}
		}
		if again, err := m.Place(r); err != nil || describePlacement(again) != describePlacement(p) {
			t.Fatalf("placed differently a second time: %v", err)
		}
	})
}
