package slurm

import (
	"encoding/json"
	"slices"
)

// resourcesRecord says which cores of which nodes a running job has.
//
// openapi v0.0.38 to data_parser v0.0.40 write
//
//	{"nodes": "n01", "allocated_nodes": [{"nodename": "n01", "sockets": {"0": {"cores": {"1": "allocated"}}}}]}
//
// and since v0.0.41 (24.05)
//
//	{"nodes": {"list": "n01", "allocation": [{"name": "n01", "sockets": [{"index": 0, "cores": [{"index": 1, "status": ["ALLOCATED"]}]}]}]}}
type resourcesRecord struct {
	AllocatedNodes each[nodeResources] `json:"allocated_nodes"`
	Nodes          nodesResources      `json:"nodes"`
}

// nodesResources is an object since v0.0.41, and a node list before.
type nodesResources struct {
	Allocation each[nodeResources]
}

// UnmarshalJSON implements json.Unmarshaler; it never fails.
func (n *nodesResources) UnmarshalJSON(data []byte) error {
	var object struct {
		Allocation each[nodeResources] `json:"allocation"`
	}
	*n = nodesResources{}
	if len(data) > 0 && data[0] == '{' && json.Unmarshal(data, &object) == nil {
		n.Allocation = object.Allocation
	}
	return nil
}

type nodeResources struct {
	NodeName text                  `json:"nodename"`
	Name     text                  `json:"name"`
	Sockets  each[socketResources] `json:"sockets"`
}

type socketResources struct {
	Index number              `json:"index"`
	Cores each[coreResources] `json:"cores"`
}

// coreResources is a core of a socket: a word, or an object with words.
type coreResources struct {
	index     number
	allocated bool
}

// UnmarshalJSON implements json.Unmarshaler; it never fails.
func (c *coreResources) UnmarshalJSON(data []byte) error {
	*c = coreResources{}
	var status words
	if len(data) > 0 && data[0] == '{' {
		var object struct {
			Index  number `json:"index"`
			Status words  `json:"status"`
		}
		_ = json.Unmarshal(data, &object) // another form is as good as none
		c.index, status = object.Index, object.Status
	} else {
		_ = status.UnmarshalJSON(data) // never fails
	}
	for _, s := range status {
		switch s {
		case "allocated", "ALLOCATED", "in_use", "IN_USE", "allocated_and_in_use":
			c.allocated = true
		}
	}
	return nil
}

// allocations returns the cores by node and socket; nodes of which nothing is
// told are absent.
func (r *resourcesRecord) allocations() []Allocation {
	var all []Allocation
	for _, n := range append(r.AllocatedNodes, r.Nodes.Allocation...) {
		a := Allocation{Node: string(n.value.NodeName + n.value.Name), Cores: map[int][]int{}}
		for _, s := range n.value.Sockets {
			socket := s.index
			if s.value.Index.set {
				socket = s.value.Index.count()
			}
			for _, core := range s.value.Cores {
				if !core.value.allocated {
					continue
				}
				number := core.index
				if core.value.index.set {
					number = core.value.index.count()
				}
				a.Cores[socket] = append(a.Cores[socket], number)
			}
		}
		for socket, cores := range a.Cores {
			slices.Sort(cores)
			a.Cores[socket] = slices.Compact(cores)
		}
		if a.Node != "" && len(a.Cores) > 0 {
			all = append(all, a)
		}
	}
	return all
}
