package slurm

import (
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/units"
)

// waits is a job in the queue that Slurm has just taken.
func waits(application, user string, cpus int, at time.Time) Job {
	return Job{State: Pending, Comment: "bandmate=" + application, User: user, CPUs: cpus, NodeCount: 1, Partitions: []string{"pack"}, Submitted: at}
}

// TestAdviseTasksTogether checks that an array keeps to a limit however Slurm spreads
// its tasks, which have one list of excluded nodes.
func TestAdviseTasksTogether(t *testing.T) {
	const tight = 1.01 // two plain ones slow each other down by more
	array := func(copies int, cpus float64) Request {
		return Request{Application: "plain", Nodes: 1, CPUsPerNode: cpus, Copies: copies}
	}
	alone := advise(t, cluster(3), array(1, 1), Options{Limit: tight})
	if alone.LimitExceeded || alone.Candidates[0].OverLimit != 0 {
		t.Fatalf("one task alone: %+v", alone.Candidates[0])
	}
	with := func(r Request, change func(*Request)) Request { change(&r); return r }
	rich := func() *Cluster {
		c := cluster(3)
		c.Consumable.Memory = true
		for i := range c.Nodes {
			c.Nodes[i].Gres, c.Nodes[i].Memory = map[string]int{"gpu": 1}, 1000
		}
		return c
	}
	for _, test := range []struct {
		name     string
		cluster  *Cluster
		request  Request
		exceeded bool
		together int
	}{
		{"tasks that share no node", cluster(3), with(array(8, 1), func(r *Request) { r.Exclusive = true }), false, 0},
		{"a partition of whole nodes", cluster(3), with(array(8, 1), func(r *Request) { r.Partitions = []string{"whole"} }), false, 0},
		{"a partition that shares CPUs", cluster(3), with(array(20, 1), func(r *Request) { r.Partitions = []string{"share"} }), true, 16},
		{"one GPU on every node", rich(), with(array(8, 1), func(r *Request) { r.Gres, r.Memory = map[string]int{"gpu": 1}, 1 }), false, 0},
		{"memory for two", rich(), with(array(8, 1), func(r *Request) { r.Memory = 400 }), true, 2},
		{"eight on one node", cluster(3), array(8, 1), true, 8},
		{"three that find three nodes, where Slurm may pile them", cluster(3), array(3, 1), true, 3},
		{"as many as a node has room for", cluster(3), array(8, 4), true, 2},
		{"tasks of whole nodes", cluster(3), array(8, 8), false, 0},
		{"room for one beside a resident that ends", cluster(3, runs("quiet", 4, "n1"), runs("quiet", 4, "n2"), runs("quiet", 4, "n3")), array(2, 4), true, 2},
	} {
		a := advise(t, test.cluster, test.request, Options{Limit: tight})
		if a.LimitExceeded != test.exceeded || a.Candidates[0].Together != test.together {
			t.Errorf("%s: exceeded %v with %d together, want %v with %d", test.name, a.LimitExceeded, a.Candidates[0].Together, test.exceeded, test.together)
		}
		if test.exceeded && (a.Candidates[0].TogetherSlowdown <= tight || !strings.Contains(a.Candidates[0].Reason, "of its tasks at once would be slowed down")) {
			t.Errorf("%s: %+v", test.name, a.Candidates[0])
		}
		if a := advise(t, test.cluster, test.request, Options{}); a.LimitExceeded {
			t.Errorf("%s: a limit is exceeded that nobody set", test.name)
		}
	}
}

// TestAdviseAfterOwnSubmissions checks that jobs count that are about to start: three
// submissions in a row on an empty cluster go to three nodes.
func TestAdviseAfterOwnSubmissions(t *testing.T) {
	now := time.Unix(1e9, 0)
	job := func(user, reason string, submitted time.Time) Job {
		j := waits("torrent", user, 1, submitted)
		j.Reason = reason
		return j
	}
	r := Request{Application: "torrent", Nodes: 1, CPUsPerNode: 1, User: "alice"}
	for _, test := range []struct {
		name    string
		jobs    []Job
		exclude string
	}{
		{"nobody waits", nil, ""},
		{"one's own", []Job{job("alice", "Priority", now.Add(-time.Hour))}, "n1"},
		{"two of one's own", []Job{job("alice", "", now), job("alice", "None", now)}, "n[1-2]"},
		{"somebody's that was just submitted", []Job{job("bob", "None", now)}, "n1"},
		{"somebody's that has waited long", []Job{job("bob", "Priority", now.Add(-time.Hour))}, ""},
		{"one's own that is held", []Job{job("alice", "JobHeldUser", now)}, ""},
		{"one's own that waits for another", []Job{job("alice", "Dependency", now)}, ""},
	} {
		c := cluster(3, test.jobs...)
		c.Time = now
		if got := advise(t, c, r, Options{Limit: 1.15}).ExcludeList(); got != test.exclude {
			t.Errorf("%s: excluded %q, want %q", test.name, got, test.exclude)
		}
	}
	// What waits for lack of room is not there.
	c := cluster(2, runs("quiet", 8, "n1"), waits("torrent", "alice", 8, now), runs("quiet", 4, "n2"))
	c.Time = now
	if got := advise(t, c, r, Options{}).ExcludeList(); got != "" {
		t.Errorf("beside a job without room: excluded %q", got)
	}
}

// TestAdviseDelaysNothing checks that no node is excluded for a better one on which
// the job cannot start.
func TestAdviseDelaysNothing(t *testing.T) {
	for _, test := range []struct {
		name     string
		change   func(*Cluster)
		request  Request
		limit    bool
		chosen   string
		exclude  string
		exceeded bool
	}{
		{"a reservation of the only undisturbed node", func(c *Cluster) { c.Nodes[1].Flags = []string{"RESERVED"} }, wants("tender", 1, 1), false, "n1", "", false},
		{"with a limit", func(c *Cluster) { c.Nodes[1].Flags = []string{"RESERVED"} }, wants("tender", 1, 1), true, "", "", true},
		{"invalid registration", func(c *Cluster) { c.Nodes[1].State = "INVAL" }, wants("tender", 1, 1), false, "n1", "", false},
		{"the only GPU", func(c *Cluster) { c.Nodes[0].Gres = map[string]int{"gpu": 1} }, Request{Application: "tender", Nodes: 1, CPUsPerNode: 1, Gres: map[string]int{"gpu": 1}}, false, "n1", "", false},
		{"memory that is full", func(c *Cluster) {
			c.Consumable.Memory = true
			c.Nodes[0].Memory, c.Nodes[1].Memory, c.Nodes[1].AllocatedMemory = 1000, 1000, 800
		}, Request{Application: "tender", Nodes: 1, CPUsPerNode: 1, Memory: 300}, false, "n1", "", false},
		{"memory that is full, with a limit: it waits", func(c *Cluster) {
			c.Consumable.Memory = true
			c.Nodes[0].Memory, c.Nodes[1].Memory, c.Nodes[1].AllocatedMemory = 1000, 1000, 800
		}, Request{Application: "tender", Nodes: 1, CPUsPerNode: 1, Memory: 300}, true, "", "n1", false},
		{"planned for another job", func(c *Cluster) { c.Nodes[1].Flags = []string{"PLANNED"} }, wants("tender", 1, 1), false, "n1", "", false},
		{"powered down", func(c *Cluster) { c.Nodes[1].Flags = []string{"POWERED_DOWN"} }, wants("tender", 1, 1), false, "n1", "", false},
		{"nothing in the way", func(*Cluster) {}, wants("tender", 1, 1), false, "n2", "n1", false},
	} {
		c := cluster(2, runs("writer", 1, "n1"))
		test.change(c)
		o := Options{}
		if test.limit {
			o.Limit = 1.05
		}
		a := advise(t, c, test.request, o)
		if got := strings.Join(a.Chosen, " "); got != test.chosen || a.ExcludeList() != test.exclude || a.LimitExceeded != test.exceeded {
			t.Errorf("%s: chosen %q, excluded %q, exceeded %v; want %q, %q, %v", test.name, got, a.ExcludeList(), a.LimitExceeded, test.chosen, test.exclude, test.exceeded)
		}
	}
}

// TestAdviseOfNodesThatReturn checks that a limit is kept also on nodes on which the job
// cannot start before they return.
func TestAdviseOfNodesThatReturn(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(n *Node)
		limit   units.Slowdown
		exclude string
	}{
		{"not responding", func(n *Node) { n.State, n.Flags = "MIXED", []string{"NOT_RESPONDING"} }, 1.05, "n1"},
		{"drained", func(n *Node) { n.Flags = []string{"DRAIN"} }, 1.05, "n1"},
		{"reserved by others", func(n *Node) { n.Flags = []string{"RESERVED"} }, 1.05, "n1"},
		{"without a limit", func(n *Node) { n.Flags = []string{"DRAIN"} }, 0, ""},
		{"within the limit", func(n *Node) { n.Flags = []string{"DRAIN"} }, 2, ""},
		{"of a machine without a profile", func(n *Node) { n.Flags, n.Features = []string{"DRAIN"}, []string{MachineFeature + "=newest"} }, 2, "n1"},
	} {
		c := cluster(3, runs("writer", 1, "n1"))
		test.change(&c.Nodes[0])
		a := advise(t, c, wants("tender", 1, 1), Options{Limit: test.limit})
		if a.ExcludeList() != test.exclude || a.DemandedList() != test.exclude || len(a.Candidates) != 2 || a.LimitExceeded {
			t.Errorf("%s: excluded %q, demanded %q, want %q; %d candidates, want 2; exceeded %v",
				test.name, a.ExcludeList(), a.DemandedList(), test.exclude, len(a.Candidates), a.LimitExceeded)
		}
	}
}

// TestAdviseSaysWhatDoesNotCount checks that advice names nodes that cannot be scored, and
// waiting jobs that are too many.
func TestAdviseSaysWhatDoesNotCount(t *testing.T) {
	c := cluster(3, runs("writer", -1, "n1"), runs("quiet", 1, "n2"), runs("quiet", 1, "n3"))
	c.Nodes[0].Flags, c.Time = []string{"DRAIN"}, time.Unix(1e9, 0)
	for i := range mostTried + 2 {
		j := waits("torrent", "alice", 8, c.Time)
		j.ID = int64(10 + i)
		if i >= mostTried {
			j.CPUs = 1
		}
		c.Jobs = append(c.Jobs, j)
	}
	a := advise(t, c, wants("tender", 1, 1), Options{Limit: 1.15})
	all := strings.Join(a.Warnings, "\n")
	for _, want := range []string{"are not excluded: 1: node n1: ", "too many to count: 2"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning of %q in:\n%s", want, all)
		}
	}
	if got := a.ExcludeList(); got != "" {
		t.Errorf("excluded %q, because of jobs that do not count", got)
	}
}

// TestReasons checks that a node's reason says who would exceed which limit, from what
// to what.
func TestReasons(t *testing.T) {
	c := cluster(3, runs("writer", 1, "n1"),
		Job{State: Running, Comment: "bandmate=plain bandmate-limit=1.05", CPUs: 1, Nodes: []string{"n2"}})
	reasons := func(application string, o Options) map[string]string {
		of := map[string]string{}
		for _, candidate := range advise(t, c, wants(application, 1, 1), o).Candidates {
			of[candidate.Node] = candidate.Reason
		}
		return of
	}
	of := reasons("tender", Options{Limit: 1.1})
	if want := "the job itself would be slowed down 1.25× by 1 (writer), above its limit of 1.10×"; !strings.HasPrefix(of["n1"], want) {
		t.Errorf("n1: %q, want %q", of["n1"], want)
	}
	of = reasons("writer", Options{Limit: 3})
	if !strings.Contains(of["n2"], "2 (plain) would go from 1.00× to 1.") || !strings.Contains(of["n2"], "above its limit of 1.05×") {
		t.Errorf("n2: %q", of["n2"])
	}
	if of["n3"] != "no other job is there" {
		t.Errorf("n3: %q", of["n3"])
	}
}
