package slurm

import (
	"slices"
	"testing"

	"bandmate.dev/bandmate/units"
)

// A job that takes a range of nodes gets as many as have room, but fewer rather than one where
// a limit would be exceeded, whether it is submitted or waits.
func TestAdviseRange(t *testing.T) {
	for _, test := range []struct {
		name        string
		least, most int
		limit       units.Slowdown
		nodes       int
		exclude     string
		exceeded    bool
	}{
		{"without a limit", 1, 3, 0, 3, "", false},
		{"more nodes than there are", 1, 9, 0, 3, "", false},
		{"one node within the limit", 1, 3, 1.15, 1, "n[1-2]", false},
		{"fewer within the limit than it takes", 2, 3, 1.15, 2, "n2", true},
		{"one node", 1, 1, 0, 1, "n[1-2]", false},
	} {
		c := cluster(3, runs("tender", 4, "n1"), runs("tender", 4, "n2"))
		within := NodeRange{Least: test.least, Most: test.most, On: func(nodes int) Request { return wants("torrent", nodes, 1) }}
		submitted, _ := within.Widest(c, NewRoom(c))
		job := Job{ID: 9, State: Pending, Comment: "bandmate=torrent", NodeCount: test.least, MostNodes: test.most, CPUs: test.least, CPUsPerTask: 1, Tasks: test.least}
		waits := (&Site{}).Request(&job)
		waits.Widen(c, NewRoom(c))
		for _, r := range []Request{submitted, waits} {
			a := advise(t, c, r, Options{Limit: test.limit})
			if a.Nodes != test.nodes || a.LimitExceeded != test.exceeded || a.ExcludeList() != test.exclude || a.CPUsPerNode != 1 {
				t.Errorf("%s: %d nodes of %v CPUs without %q, exceeded %v; want %d without %q, %v",
					test.name, a.Nodes, a.CPUsPerNode, a.ExcludeList(), a.LimitExceeded, test.nodes, test.exclude, test.exceeded)
			}
		}
	}
}

// Nodes within the limit that have no room now are no reason to wait.
func TestAdviseRangeStartsNow(t *testing.T) {
	c := cluster(4, runs("tender", 4, "n1", "n2"), runs("quiet", 8, "n4"))
	within := NodeRange{Least: 1, Most: 4, On: func(nodes int) Request { return wants("torrent", nodes, 1) }}
	r, _ := within.Widest(c, NewRoom(c))
	a := advise(t, c, r, Options{Limit: 1.15})
	if r.Nodes != 3 || a.Nodes != 1 || !slices.Equal(a.Chosen, []string{"n3"}) || a.ExcludeList() != "n[1-2]" || a.LimitExceeded {
		t.Errorf("%d nodes of %d, chosen %v without %q, exceeded %v; want n3 of 3 without n[1-2]", a.Nodes, r.Nodes, a.Chosen, a.ExcludeList(), a.LimitExceeded)
	}
}

// On fewer nodes, each has a larger part of the job.
func TestWiden(t *testing.T) {
	c := cluster(3, runs("quiet", 6, "n1"))
	c.Consumable.Memory = true
	for i := range c.Nodes {
		c.Nodes[i].Memory = 1000
	}
	job := Job{State: Pending, NodeCount: 1, MostNodes: 3, CPUs: 6, Tasks: 6, CPUsPerTask: 1, MemoryPerCPU: 100, Memory: 600}
	changed := func(change func(*Job)) Job { j := job; change(&j); return j }
	for _, test := range []struct {
		name   string
		job    Job
		nodes  int
		cpus   float64
		memory int
	}{
		{"all nodes", job, 3, 2, 200},
		{"no range", changed(func(j *Job) { j.MostNodes = 1 }), 1, 6, 600},
		{"a range that is not told", changed(func(j *Job) { j.MostNodes = 0 }), 1, 6, 600},
		{"two tasks", changed(func(j *Job) { j.CPUs, j.Tasks = 2, 2 }), 2, 1, 100},
		{"no tasks named", changed(func(j *Job) { j.CPUs, j.Tasks = 1, 1 }), 3, 1, 100},
		{"no tasks named, of two CPUs", changed(func(j *Job) { j.CPUs, j.Tasks, j.CPUsPerTask = 2, 1, 0 }), 3, 2, 200},
		{"room on two", changed(func(j *Job) { j.CPUs, j.Tasks = 9, 9 }), 2, 4.5, 450},
		{"room nowhere", changed(func(j *Job) { j.CPUs, j.Tasks = 30, 30 }), 1, 30, 3000},
		{"it runs", changed(func(j *Job) { j.State = Running }), 1, 6, 600},
	} {
		if j := &test.job; j.MemoryPerCPU > 0 {
			j.Memory = j.memoryOfCPUs()
		}
		r := (&Site{}).Request(&test.job)
		r.Widen(c, NewRoom(c))
		if r.Nodes != test.nodes || r.CPUsPerNode != test.cpus || r.Memory != test.memory {
			t.Errorf("%s: %d nodes of %v CPUs and %d MiB, want %d of %v and %d", test.name, r.Nodes, r.CPUsPerNode, r.Memory, test.nodes, test.cpus, test.memory)
		}
	}
}

// A job that takes a range of nodes has all of its CPUs on those that it gets.
func TestRangeInPlace(t *testing.T) {
	c := cluster(3)
	within := NodeRange{Least: 1, Most: 3, On: func(nodes int) Request { return wants("torrent", nodes, float64(6/nodes)) }}
	r, _ := within.Widest(c, NewRoom(c))
	for _, test := range []struct {
		nodes []string
		each  int
	}{{[]string{"n1", "n2", "n3"}, 2}, {[]string{"n1", "n2"}, 3}, {[]string{"n1"}, 6}} {
		with := c.With(&r, test.nodes)
		if job, n1 := with.Jobs[0], with.Node("n1"); n1.AllocatedCPUs != test.each || job.CPUs != 6 {
			t.Errorf("on %v it has %d CPUs, %d of n1; want 6, %d", test.nodes, job.CPUs, n1.AllocatedCPUs, test.each)
		}
	}
	if r.Nodes != 3 || c.Node("n1").AllocatedCPUs != 0 {
		t.Errorf("the request is for %d nodes now, n1 has %d CPUs allocated", r.Nodes, c.Node("n1").AllocatedCPUs)
	}
}

func TestParseNodes(t *testing.T) {
	for text, want := range map[string][2]int{"1": {1, 1}, "2-4": {2, 4}, "3-3": {3, 3}} {
		if least, most, err := ParseNodes(text); err != nil || least != want[0] || most != want[1] {
			t.Errorf("%q: %d to %d, %v; want %v", text, least, most, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "4-2", "2-", "-4", "1-0", "2,4", "x"} {
		if _, _, err := ParseNodes(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
