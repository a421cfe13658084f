package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// inventory is what one output of sinfo says.
type inventory struct {
	cluster, version string
	nodes            map[string]*Node
	partitions       []Partition
	warnings         []string
}

func newInventory() *inventory { return &inventory{nodes: map[string]*Node{}} }

// node returns the node of this name, a new one when it was not named yet.
func (v *inventory) node(name string) *Node {
	n := v.nodes[name]
	if n == nil {
		n = &Node{Name: name}
		v.nodes[name] = n
	}
	return n
}

// partition adds the node to a partition.
func (v *inventory) partition(p Partition, n *Node) {
	if p.Name == "" {
		return
	}
	if !slices.Contains(n.Partitions, p.Name) {
		n.Partitions = append(n.Partitions, p.Name)
	}
	if !slices.ContainsFunc(v.partitions, func(other Partition) bool { return other.Name == p.Name }) {
		v.partitions = append(v.partitions, p)
	}
}

// reserve notes which reservation holds a node at a time; releases before 23.02 do not
// name it with the node.
func (v *inventory) reserve(all []Reservation, at time.Time) {
	for _, r := range all {
		if at.Before(r.Start) || !at.Before(r.End) {
			continue
		}
		for _, name := range r.Nodes {
			if n := v.nodes[name]; n != nil && n.Reservation == "" {
				n.Reservation = r.Name
			}
		}
	}
}

// sorted returns the nodes in natural order.
func (v *inventory) sorted() []Node {
	nodes := make([]Node, 0, len(v.nodes))
	for _, n := range v.nodes {
		slices.Sort(n.Partitions) // sinfo's order changes from call to call
		nodes = append(nodes, *n)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return hostlist.Compare(a.Name, b.Name) })
	return nodes
}

// nodeRecord is a node in the JSON of sinfo 22.05, and of scontrol show nodes
// since 23.02.
type nodeRecord struct {
	Name       text   `json:"name"`
	CPUs       number `json:"cpus"`
	Sockets    number `json:"sockets"`
	Cores      number `json:"cores"`
	Threads    number `json:"threads"`
	AllocCPUs  number `json:"alloc_cpus"`
	State      words  `json:"state"`
	StateFlags words  `json:"state_flags"`
	Features   words  `json:"features"`
	Partitions words  `json:"partitions"`

	RealMemory  number `json:"real_memory"`
	AllocMemory number `json:"alloc_memory"`
	Gres        text   `json:"gres"`
	GresUsed    text   `json:"gres_used"`
	Reservation text   `json:"reservation"`
}

// groupRecord is an element of "sinfo", which sinfo prints since 23.02: nodes
// that are alike, or with -N a single one, in one partition.
type groupRecord struct {
	Cluster text `json:"cluster"`
	Node    struct {
		State words `json:"state"`
	} `json:"node"`
	Nodes struct {
		Nodes words `json:"nodes"`
	} `json:"nodes"`
	CPUs struct {
		Allocated number `json:"allocated"`
		Maximum   number `json:"maximum"`
	} `json:"cpus"`
	Sockets  atMost `json:"sockets"`
	Cores    atMost `json:"cores"`
	Threads  atMost `json:"threads"`
	Features struct {
		Total words `json:"total"`
	} `json:"features"`
	Partition partitionRecord `json:"partition"`
}

type atMost struct {
	Maximum number `json:"maximum"`
}

// partitionRecord is a partition since data_parser v0.0.39.
type partitionRecord struct {
	Name     text `json:"name"`
	Maximums struct {
		OverSubscribe struct {
			Jobs  number `json:"jobs"`
			Flags words  `json:"flags"`
		} `json:"oversubscribe"`
	} `json:"maximums"`
}

// partition writes OverSubscribe as sinfo does in text.
func (r *partitionRecord) partition() Partition {
	p := Partition{Name: string(r.Name)}
	switch o := r.Maximums.OverSubscribe; {
	case !o.Jobs.set:
	case slices.ContainsFunc(o.Flags, func(f string) bool { return strings.EqualFold(f, "force") }):
		p.OverSubscribe = fmt.Sprintf("FORCE:%d", o.Jobs.count())
	case o.Jobs.count() == 0:
		p.OverSubscribe = "EXCLUSIVE"
	case o.Jobs.count() == 1:
		p.OverSubscribe = "NO"
	default:
		p.OverSubscribe = fmt.Sprintf("YES:%d", o.Jobs.count())
	}
	return p
}

// sinfoJSON reads the output of sinfo --json.
func sinfoJSON(data []byte) (*inventory, error) {
	var answer struct {
		envelope

		Nodes *[]nodeRecord  `json:"nodes"`
		Sinfo *[]groupRecord `json:"sinfo"`
	}
	if err := decode("sinfo", data, &answer); err != nil {
		return nil, err
	}
	if answer.Nodes == nil && answer.Sinfo == nil {
		reason := cmp.Or(answer.firstError(), "the output has no list of nodes")
		return nil, fmt.Errorf("sinfo: %s: is it the output of sinfo --json?", reason)
	}
	v := newInventory()
	v.version, v.cluster = string(answer.Meta.Slurm.Release), string(answer.Meta.Slurm.Cluster)
	for _, e := range answer.Errors {
		v.warnings = append(v.warnings, "sinfo: "+e.value.String())
	}
	if answer.Nodes != nil {
		for i := range *answer.Nodes {
			v.addNode(&(*answer.Nodes)[i])
		}
	}
	if answer.Sinfo != nil {
		for i := range *answer.Sinfo {
			v.addGroup(&(*answer.Sinfo)[i])
		}
	}
	return v, nil
}

func (v *inventory) addNode(r *nodeRecord) {
	if r.Name == "" {
		v.warnings = append(v.warnings, "sinfo: a node without a name is left out")
		return
	}
	n := v.node(string(r.Name))
	n.CPUs, n.Sockets, n.ThreadsPerCore = r.CPUs.count(), r.Sockets.count(), r.Threads.count()
	n.CoresPerSocket, n.AllocatedCPUs = r.Cores.count(), r.AllocCPUs.count()
	n.setState(append(r.State, r.StateFlags...))
	n.Features = r.Features.split()
	n.Memory, n.AllocatedMemory = r.RealMemory.count(), r.AllocMemory.count()
	n.Gres, n.GresUsed = gresOf(string(r.Gres)), gresOf(string(r.GresUsed))
	n.Reservation = clean(string(r.Reservation))
	for _, p := range r.Partitions {
		v.partition(Partition{Name: p}, n)
	}
}

func (v *inventory) addGroup(r *groupRecord) {
	v.cluster = cmp.Or(v.cluster, string(r.Cluster))
	for _, list := range r.Nodes.Nodes {
		names, err := hostlist.Expand(list)
		if err != nil {
			v.warnings = append(v.warnings, fmt.Sprintf("sinfo: nodes are left out: %v", err))
			continue
		}
		for _, name := range names {
			n := v.node(name)
			n.CPUs, n.Sockets = r.CPUs.Maximum.count(), r.Sockets.Maximum.count()
			n.CoresPerSocket, n.ThreadsPerCore = r.Cores.Maximum.count(), r.Threads.Maximum.count()
			n.setState(r.Node.State)
			n.Features = r.Features.Total.split()
			if len(names) == 1 && len(r.Nodes.Nodes) == 1 {
				n.AllocatedCPUs = r.CPUs.Allocated.count()
			}
			v.partition(r.Partition.partition(), n)
		}
	}
}

// setState separates Slurm's base state from the flags.
func (n *Node) setState(states []string) {
	n.State, n.Flags = "", nil
	for _, s := range states {
		switch s = strings.ToUpper(s); {
		case s == "":
		case n.State == "":
			n.State = s
		case s != n.State:
			n.Flags = append(n.Flags, s)
		}
	}
}

// split returns the words with those separated by commas apart.
func (w words) split() []string {
	var all []string
	for _, word := range w {
		all = append(all, list(word)...)
	}
	return all
}
