package topology

import "testing"

func TestLink(t *testing.T) {
	for _, test := range []struct {
		name, machine               string
		target, interferer, allowed string
		memory                      *int
		want                        Link
		distant                     bool
	}{
		{"one memory", "vm-2cpu", "", "", "", nil, NoLink, false},
		{"two complexes, one memory", "epyc-ccx", "", "", "", nil, NoLink, false},
		{"another socket", "intel-2socket-smt", "", "", "", nil, SharedLink, true},
		{"another socket, ARM", "arm-grace-2socket", "", "", "", nil, SharedLink, true},
		{"the same socket", "intel-2socket-smt", "0", "1-3", "", nil, NoLink, false},
		{"both far from the memory", "intel-2socket-smt", "0", "1-3", "", new(1), NoLink, false},
		{"both sockets", "intel-2socket-smt", "0", "1,4", "", nil, UnknownLink, false},
		{"nobody bound", "intel-2socket-smt", "0-4", "5", "", nil, UnknownLink, false},
		{"another cluster of the socket", "intel-2socket-snc", "0", "2-3", "", nil, UnknownLink, true},
		{"another socket of clusters", "intel-2socket-snc", "", "", "", nil, SharedLink, true},
		{"memory of CXL near the target", "cxl", "0-1", "2-3", "", new(2), SharedLink, true},
		{"memory of CXL, one socket", "cxl", "0", "1", "", new(2), NoLink, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := machine(t, test.machine)
			p, err := m.Place(Request{
				Target: mustParse(t, test.target), Interferer: mustParse(t, test.interferer),
				Allowed: mustParse(t, test.allowed), MemoryNode: test.memory,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Link(p); got != test.want {
				t.Errorf("link %q, want %q (%s)", got, test.want, p.Explanation)
			}
			if got := m.Distant(p); got != test.distant {
				t.Errorf("distant %t, want %t", got, test.distant)
			}
		})
	}
}

// From a third socket, co-runners may come over another link.
func TestLinkOfFourSockets(t *testing.T) {
	m := &Machine{}
	for id := range 4 {
		m.CPUs = append(m.CPUs, CPU{ID: id, Core: id, Socket: id, Node: id})
		distances := []int{21, 21, 21, 21}
		distances[id] = 10
		m.Nodes = append(m.Nodes, Node{ID: id, CPUs: mustParse(t, string(rune('0'+id))), Distances: distances, MemoryBytes: 1 << 30})
	}
	p := Placement{Target: mustParse(t, "0"), Interferer: mustParse(t, "1"), MemoryNode: new(0)}
	if got := m.Link(p); got != UnknownLink || !m.Distant(p) {
		t.Errorf("link %q, distant %t; want an unknown one, distant", got, m.Distant(p))
	}
}
