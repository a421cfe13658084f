package slurm

import (
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/slurm/sbatch/sbatchtest"

	"bandmate.dev/bandmate/slurm/sbatch"
)

// asked is the request of the arguments of sbatch in a cluster.
func asked(t *testing.T, c *Cluster, args string) Request {
	t.Helper()
	s, err := sbatch.Parse("sbatch", strings.Split(args+"|--wrap=true", "|"), sbatchtest.Environ(), sbatchtest.Script)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&Site{}).RequestIn(c, &s.Components[0], "user")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A job that leaves the number of nodes to Slurm gets as many as its memory and its generic
// resources take.
func TestRequestSpreads(t *testing.T) {
	c := cluster(3)
	c.Consumable.Memory = true
	c.Partitions = append(c.Partitions, Partition{Name: "wide", LeastNodes: 2}, Partition{Name: "capped", MostCPUsPerNode: 4}, Partition{Name: "narrow", MostNodes: 2})
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Memory, n.Gres, n.Partitions = 1000, map[string]int{"gpu": 2}, append(n.Partitions, "wide", "capped", "narrow")
	}
	for _, test := range []struct {
		args     string
		nodes    int
		cpus     float64
		memory   int
		matching int
	}{
		{"-n8|--mem-per-cpu=100", 1, 8, 800, 3},
		{"-n8|--mem-per-cpu=200", 2, 4, 800, 3},
		{"-n8|--mem-per-cpu=200|-N1", 1, 8, 1600, 0},
		{"-n8|--mem-per-cpu=200|-N1-3", 3, 8. / 3, 534, 3},
		{"-n8|--mem-per-cpu=999|-N1-3", 1, 8, 7992, 0},
		{"-n4|--gpus-per-task=1", 2, 2, 0, 3},
		{"-n20|-N1-3", 3, 20. / 3, 0, 3},
		{"-n20|-N2-3", 3, 20. / 3, 0, 3},
		{"-n2|-N1-3", 2, 1, 0, 3},
		{"-N1-3", 3, 1, 0, 3},
		{"-N2-9|-c4", 3, 4, 0, 3},
		{"-N1-3|-n3|-p|narrow", 2, 1.5, 0, 3},
		{"-n6|-p|wide", 2, 3, 0, 3},
		{"-n6|-p|wide,pack", 1, 6, 0, 3},
		{"-n6|-p|capped", 2, 3, 0, 3},
		{"-n6|-p|capped,pack", 1, 6, 0, 3},
		{"-n20|--overcommit|-c2", 1, 2, 0, 3},
		{"-n1|--mem-per-gpu=300|--gres=gpu:2", 1, 1, 600, 3},
	} {
		r := asked(t, c, test.args)
		if got := len(r.Matching(c)); r.Nodes != test.nodes || r.CPUsPerNode != test.cpus || r.Memory != test.memory || got != test.matching {
			t.Errorf("%s: %d nodes of %v CPUs and %d MiB, of which %d match; want %d of %v and %d, of which %d match",
				test.args, r.Nodes, r.CPUsPerNode, r.Memory, got, test.nodes, test.cpus, test.memory, test.matching)
		}
	}
}

// A job that names a range gets as many nodes of it as have room now: n1 has 2 CPUs free, n2
// none, n3 all.
func TestRequestOfRange(t *testing.T) {
	c := cluster(3, runs("quiet", 6, "n1"), runs("quiet", 8, "n2"))
	for _, test := range []struct {
		args  string
		nodes int
		cpus  float64
	}{
		{"-N1-3", 2, 1},
		{"-N1-3|-n3", 2, 1.5},
		{"-N1-3|-n5", 1, 5},
		{"-N1-3|-c3", 1, 3},
		{"-N1-3|--exclusive", 1, 1},
		{"-N3-9", 3, 1},
		{"-N1-3|-n4|-w|n2", 1, 4},
		{"-N1-3|-n3|-w|n3", 2, 1.5},
	} {
		if r := asked(t, c, test.args); r.Nodes != test.nodes || r.CPUsPerNode != test.cpus {
			t.Errorf("%s: %d nodes of %v CPUs, want %d of %v", test.args, r.Nodes, r.CPUsPerNode, test.nodes, test.cpus)
		}
	}
}

// Where jobs hold whole sockets, one CPU takes all of its socket.
func TestRequestOfSockets(t *testing.T) {
	c := cluster(2, runs("quiet", 4, "n1"))
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Sockets, n.CoresPerSocket, n.ThreadsPerCore, n.WholeSockets = 2, 2, 2, true // 8 CPUs
	}
	c.Nodes[1].CPUs, c.Nodes[1].SystemCPUs = 6, 2
	for _, test := range []struct {
		args          string
		takes, second float64
		fits          bool
	}{
		{"-n1", 4, 4, true},
		{"-n4", 4, 4, true},
		{"-n5|-N1", 8, 6, false},
		{"-n3|-N1|--threads-per-core=1", 8, 6, false},
	} {
		r := asked(t, c, test.args)
		room := NewRoom(c)
		if first, second := room.Takes(&r, &c.Nodes[0]), room.Takes(&r, &c.Nodes[1]); first != test.takes || second != test.second || room.Fits(&r, &c.Nodes[0]) != test.fits {
			t.Errorf("%s: takes %v and %v, want %v and %v; fits: %v", test.args, first, second, test.takes, test.second, !test.fits)
		}
	}
	if got := NewRoom(c).together(&Request{CPUsPerNode: 1}, &c.Nodes[0], 8); got != 1 {
		t.Errorf("%d jobs of one CPU on a socket, want 1", got)
	}
}

// --mem=0 is all memory of the node, which has to be free.
func TestRequestOfAllMemory(t *testing.T) {
	c := cluster(2)
	c.Consumable = Consumable{Memory: true, MemoryPerCPU: 10}
	for i := range c.Nodes {
		c.Nodes[i].Memory = 1000
	}
	c.Nodes[0].AllocatedMemory = 1
	for _, memory := range []string{"0", "0M"} {
		r := asked(t, c, "--mem="+memory)
		room := NewRoom(c)
		if room.Fits(&r, &c.Nodes[0]) || !room.Fits(&r, &c.Nodes[1]) {
			t.Errorf("--mem=%s fits beside memory of others, or nowhere: %d MiB", memory, r.Memory)
		}
	}
}

// Jobs get whole cores, and with one thread of each a core for each CPU.
func TestRequestOfCoresWithThreads(t *testing.T) {
	c := cluster(2, runs("quiet", 2, "n1"))
	c.Nodes[0].CoresPerSocket, c.Nodes[0].ThreadsPerCore = 2, 2 // 8 CPUs on 4 cores
	for _, test := range []struct {
		args   string
		takes  float64
		fits   bool
		second bool
	}{
		{"-n3", 4, true, true},
		{"-n6", 6, true, true},
		{"-n3|--hint=nomultithread", 6, true, true},
		{"-n4|-N1|--threads-per-core=1", 8, false, true},
		{"-n5|-N1|--threads-per-core=1", 10, false, true},
		{"-n2|--threads-per-core=2", 2, true, false},
	} {
		r := asked(t, c, test.args)
		room := NewRoom(c)
		if got := room.Takes(&r, &c.Nodes[0]); got != test.takes || room.Fits(&r, &c.Nodes[0]) != test.fits {
			t.Errorf("%s: takes %v, want %v; fits: %v", test.args, got, test.takes, !test.fits)
		}
		if got := slices.ContainsFunc(r.Matching(c), func(n *Node) bool { return n.Name == "n2" }); got != test.second {
			t.Errorf("%s: may run where cores have one thread: %v", test.args, got)
		}
	}
	// The CPUs of a job that runs are those of all threads already.
	q, err := squeueJSON([]byte(`{"jobs":[{"job_id":1,"job_state":["PENDING"],"threads_per_core":1},{"job_id":2,"job_state":["RUNNING"],"threads_per_core":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0} {
		if got := (&Site{}).Request(&q.jobs[i]); got.ThreadsPerCore != want {
			t.Errorf("%s: %d threads of each core, want %d", q.jobs[i].State, got.ThreadsPerCore, want)
		}
	}
	if got := NewRoom(c).together(&Request{CPUsPerNode: 1}, &c.Nodes[0], 8); got != 3 {
		t.Errorf("%d jobs of one CPU on 3 cores, want 3", got)
	}
}

// A job starts in no partition that is down or has smaller jobs.
func TestRoomWherePartitionsAreClosed(t *testing.T) {
	c := cluster(1)
	r := wants("quiet", 1, 2)
	for _, change := range []func(*Partition){
		func(p *Partition) { p.Closed = true },
		func(p *Partition) { p.Closed, p.MostCPUsPerNode = false, 1 },
	} {
		change(&c.Partitions[1])
		if NewRoom(c).Fits(&r, &c.Nodes[0]) {
			t.Errorf("starts in %+v", c.Partitions[1])
		}
		if len(r.Eligible(c)) != 1 {
			t.Errorf("%+v: may never run", c.Partitions[1])
		}
	}
}

// Slurm places some tasks of a job on nodes without room for an equal part: these are excluded
// as others are that are worse.
func TestAdvisePartly(t *testing.T) {
	small := func(c *Cluster) *Cluster { c.Nodes[0].CPUs = 4; return c }
	split := func(cpus, perTask float64) Request {
		return Request{Application: "plain", Nodes: 1, CPUsPerNode: cpus, CPUsPerTask: perTask}
	}
	for _, test := range []struct {
		name    string
		cluster *Cluster
		request Request
		limit   bool
		partly  string
		exclude string
		spread  bool
	}{
		{"a busy node", cluster(2, runs("writer", 4, "n1")), split(8, 1), false, "n1", "n1", true},
		{"a task too large for it", cluster(2, runs("writer", 4, "n1")), split(8, 8), false, "", "", false},
		{"a full node", cluster(2, runs("writer", 8, "n1")), split(8, 1), false, "", "", true},
		{"a small node", small(cluster(2, runs("writer", 2, "n1"))), split(8, 1), false, "n1", "n1", true},
		{"a small node over a limit, where others are full", small(cluster(2, runs("writer", 2, "n1"), runs("quiet", 8, "n2"))), split(8, 1), true, "n1", "n1", false},
		{"too little room on all", cluster(2, runs("writer", 6, "n1"), runs("writer", 6, "n2")), split(8, 1), false, "n1 n2", "", false},
		{"no room elsewhere", cluster(2, runs("writer", 4, "n1"), runs("writer", 4, "n2")), split(8, 1), false, "n1 n2", "", true},
	} {
		o := Options{}
		if test.limit {
			o.Limit = 1.05
		}
		a := advise(t, test.cluster, test.request, o)
		var partly []string
		for _, c := range a.Partly() {
			partly = append(partly, c.Node)
		}
		if got := strings.Join(partly, " "); got != test.partly || a.ExcludeList() != test.exclude {
			t.Errorf("%s: partly %q, want %q; excluded %q, want %q", test.name, got, test.partly, a.ExcludeList(), test.exclude)
		}
		if got, want := a.Spread(slices.Concat(a.Fitting(), a.Partly())), test.spread; got != want {
			t.Errorf("%s: the nodes together have room: %v, want %v", test.name, got, want)
		}
		if demanded := a.DemandedList(); (demanded != "") != test.limit {
			t.Errorf("%s: a limit demands %q", test.name, demanded)
		}
	}
}
