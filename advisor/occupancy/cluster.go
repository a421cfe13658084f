package occupancy

// Cluster is the nodes of a cluster by memory domain. Its zero value is empty. It
// serves one goroutine at a time.
type Cluster struct {
	nodes   []*Node
	byName  map[string]*Node
	domains map[string]*Domain // by key
}

// key identifies the memory domain of a node. No name of a domain starts with a
// slash.
func (n *Node) key() string {
	if n.Domain == "" {
		return "/" + n.Name
	}
	return n.Domain
}

// Add adds a node to its memory domain.
func (c *Cluster) Add(n *Node) {
	if c.byName == nil {
		c.byName, c.domains = map[string]*Node{}, map[string]*Domain{}
	}
	c.nodes = append(c.nodes, n)
	c.byName[n.Name] = n
	d := c.domains[n.key()]
	if d == nil {
		d = &Domain{Name: n.Domain}
		if d.Name == "" {
			d.Name = n.Name
		}
		c.domains[n.key()] = d
	}
	d.Nodes = append(d.Nodes, n)
	n.shared = d
}

// Nodes returns all nodes in the order in which they were added.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Node returns the node of a name; nil without one.
func (c *Cluster) Node(name string) *Node { return c.byName[name] }

// DomainOf returns the memory domain of a node that was added.
func (c *Cluster) DomainOf(n *Node) *Domain { return n.shared }
