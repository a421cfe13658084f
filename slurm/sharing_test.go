package slurm

import "testing"

// TestRoomBesideJobsThatShare checks on which nodes a job starts beside jobs of its own and
// of overlapping partitions, as Slurm 22.05 does.
func TestRoomBesideJobsThatShare(t *testing.T) {
	of := func(partition string, cpus int) Job {
		return Job{State: Running, Partitions: []string{partition}, CPUs: cpus, NodeCount: 1, Nodes: []string{"n1"}}
	}
	asks := func(j Job) Job { j.Oversubscribe = true; return j }
	in := func(partition string) Request { return Request{Partitions: []string{partition}} }
	suspended := of("pack", 8)
	suspended.State = Suspended
	for _, test := range []struct {
		name    string
		jobs    []Job
		request Request
		fits    bool
	}{
		{"own cores beside a row of another partition", []Job{of("share", 1)}, in("pack"), false},
		{"own cores beside a partition of one row", []Job{of("once", 1)}, in("pack"), true},
		{"a row beside own cores", []Job{of("pack", 1)}, in("share"), false},
		{"a row of one beside own cores", []Job{of("pack", 1)}, in("once"), false},
		{"the second row", []Job{of("share", 8)}, in("share"), true},
		{"rows that are full", []Job{of("share", 8), of("share", 8)}, in("share"), false},
		{"rows of which none has the CPUs", []Job{of("share", 7), of("share", 7)}, in("share"), false},
		{"full rows of another partition", []Job{of("share", 8), of("share", 8)}, in("other"), true},
		{"own cores of a partition that lets jobs ask", []Job{of("asked", 1)}, in("pack"), false},
		{"own cores of the same partition", []Job{of("asked", 1)}, in("asked"), true},
		{"a row that is asked for, beside own cores", []Job{of("asked", 1)}, Request{Partitions: []string{"asked"}, Oversubscribe: true}, false},
		{"a row that is asked for", []Job{asks(of("asked", 8))}, Request{Partitions: []string{"asked"}, Oversubscribe: true}, true},
		{"a row that is asked for in vain", []Job{asks(of("pack", 8))}, Request{Partitions: []string{"pack"}, Oversubscribe: true}, false},
		{"all CPUs of a row", []Job{of("share", 8)}, Request{Partitions: []string{"share"}, Exclusive: true}, true},
		{"a row beside a job with all of the node", []Job{of("whole", 1)}, in("share"), false},
		{"CPUs of a suspended job", []Job{suspended}, in("pack"), true},
	} {
		c := cluster(1, test.jobs...)
		c.Partitions = append(c.Partitions,
			Partition{Name: "once", OverSubscribe: "FORCE:1"}, Partition{Name: "other", OverSubscribe: "FORCE:3"}, Partition{Name: "asked", OverSubscribe: "YES:2"})
		c.Nodes[0].Partitions = append(c.Nodes[0].Partitions, "once", "other", "asked")
		r := test.request
		r.Application, r.Nodes, r.CPUsPerNode = "quiet", 1, 2
		room := NewRoom(c)
		for range 2 {
			if got := room.Fits(&r, &c.Nodes[0]); got != test.fits {
				t.Errorf("%s: fits: %v, want %v", test.name, got, test.fits)
			}
			// Who comes and leaves changes nothing.
			room.Take(&r, &c.Nodes[0])
			room.Leave(&r, &c.Nodes[0])
		}
	}
}

// Releases write in several ways that a job asks to share CPUs.
func TestOversubscribe(t *testing.T) {
	for _, said := range []string{`"shared":"shared"`, `"shared":["oversubscribe"]`} {
		q, err := squeueJSON([]byte(`{"jobs":[{"job_id":1,"job_state":["RUNNING"],` + said + `}]}`))
		if err != nil || !q.jobs[0].Oversubscribe {
			t.Errorf("%s: %+v, %v", said, q.jobs, err)
		}
	}
	for word, want := range map[string]bool{"YES ": true, "OK": false, "NO": false} {
		if j := textJob(map[string]string{"h": word}, &queue{}); j.Oversubscribe != want {
			t.Errorf("text %q: %+v", word, j)
		}
	}
}
