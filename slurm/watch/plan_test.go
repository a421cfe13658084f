package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
)

func planner(tb testing.TB) Planner {
	tb.Helper()
	return Planner{Site: &slurm.Site{}, Advisor: known(tb), Limit: 1.15}
}

func plan(tb testing.TB, p Planner, f *fake, m Memory) map[int64]Decision {
	tb.Helper()
	m, _ = m.Reconcile(&f.cluster, p.Site)
	decisions, err := p.Plan(&f.cluster, m)
	if err != nil {
		tb.Fatal(err)
	}
	of := make(map[int64]Decision)
	for _, d := range decisions {
		of[d.Job.ID] = d
	}
	return of
}

// leastLimit is a site whose operator bounds the limits of users.
func leastLimit(tb testing.TB, limit string) *slurm.Site {
	tb.Helper()
	site, err := slurm.ParseSite([]byte("apiVersion: bandmate.dev/v1alpha1\nkind: SlurmSite\nleastLimit: " + limit + "\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return site
}

// A range of nodes gives way to a limit, and a job that did not start where it could does not
// get the nodes over the limit in the next round.
func TestPlanRange(t *testing.T) {
	for _, nodes := range []int{3, 4} {
		f := newFake(nodes)
		f.run(1, "tender", "n01")
		if nodes == 4 { // good, but without room
			f.run(2, "light", "n04").CPUs = 8
		}
		f.submit(10, "heavy", func(j *slurm.Job) { j.MostNodes = 4 })
		first := plan(t, planner(t), f, nil)[10]
		if first.Excluded != "n01" || !first.Startable || !slices.Equal(first.Expected, []string{"n02", "n03"}) {
			t.Errorf("%d nodes: excludes %q, expected on %v, startable %v; want n01, n02 and n03", nodes, first.Excluded, first.Expected, first.Startable)
		}
		stalled := plan(t, planner(t), f, Memory{10: {Turn: 1, Startable: true}})[10]
		if stalled.Excluded != "n01" || !stalled.Startable {
			t.Errorf("%d nodes: excludes %q in the second round, startable %v; want n01", nodes, stalled.Excluded, stalled.Startable)
		}
	}
}

func TestPlan(t *testing.T) {
	needs := func(nodes int) func(*slurm.Job) {
		return func(j *slurm.Job) { j.NodeCount, j.CPUs = nodes, nodes }
	}
	upTo := func(nodes int) func(*slurm.Job) { return func(j *slurm.Job) { j.MostNodes = nodes } }
	waits := func(reason string) func(*slurm.Job) { return func(j *slurm.Job) { j.Reason = reason } }
	for _, c := range []struct {
		name  string
		nodes int
		queue func(*fake)
		p     func(*Planner)
		// want is action and excluded nodes of job 10.
		want, reason string
	}{
		{
			name: "an empty cluster", nodes: 3, queue: func(f *fake) { f.submit(10, "heavy") },
			want: "keep", reason: "every node is good",
		},
		{
			name: "a resident that suffers", nodes: 3, queue: func(f *fake) { f.run(1, "tender", "n02"); f.submit(10, "heavy") },
			want: "exclude n02", reason: "on n02 it would slow down 1 (tender) from 1.00× to 1.59×, above its limit of 1.15×",
		},
		{
			name: "a newcomer that suffers", nodes: 3, queue: func(f *fake) { f.run(1, "heavy", "n01"); f.submit(10, "tender") },
			want: "exclude n01",
		},
		{
			name: "nobody suffers", nodes: 3, queue: func(f *fake) { f.run(1, "heavy", "n01"); f.submit(10, "light") },
			want: "keep",
		},
		{
			name: "the job's own limit is wider", nodes: 3,
			queue: func(f *fake) {
				f.run(1, "heavy", "n01").Comment += " bandmate-limit=3"
				f.submit(10, "heavy").Comment += " bandmate-limit=3"
			},
			want: "keep",
		},
		{
			name: "a limit that nobody can keep", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01").Comment += " bandmate-limit=1.01"; f.submit(10, "heavy") },
			p:     func(p *Planner) { p.Limit = 3 },
			want:  "exclude n01", reason: "above its limit of 1.01×",
		},
		{
			name: "counts as the least that the operator grants", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01").Comment += " bandmate-limit=1.01"; f.submit(10, "heavy") },
			p:     func(p *Planner) { p.Limit, p.Site = 3, leastLimit(t, "2") },
			want:  "keep",
		},
		{
			name: "several residents", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.run(2, "heavy", "n03"); f.submit(10, "heavy") },
			want:  "exclude n[01,03]",
		},
		{
			name: "a resident of a running job on two nodes", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01", "n02"); f.submit(10, "heavy") },
			want:  "exclude n[01-02]",
		},
		{
			name: "nodes that share memory", nodes: 3,
			queue: func(f *fake) {
				for i := range 2 {
					f.cluster.Nodes[i].Features = append(f.cluster.Nodes[i].Features, "bandmate-domain=pool")
				}
				f.run(1, "tender", "n01")
				f.submit(10, "heavy")
			},
			want: "exclude n[01-02]",
		},
		{
			name: "never every node", nodes: 2,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.run(2, "tender", "n02"); f.submit(10, "heavy") },
			want:  "exclude n02", reason: "n01 stays open nevertheless",
		},
		{
			name: "the one that stays open is where it has to wait", nodes: 2,
			queue: func(f *fake) {
				f.run(1, "tender", "n01")
				f.run(2, "tender", "n02").CPUs = 8
				f.submit(10, "heavy")
			},
			want: "exclude n01",
		},
		{
			name: "never every node that is up", nodes: 3,
			queue: func(f *fake) {
				f.run(1, "tender", "n01")
				f.cluster.Nodes[1].State, f.cluster.Nodes[2].Flags = "DOWN", []string{"DRAIN"}
				f.submit(10, "heavy")
			},
			want: "keep", reason: "n01 stays open",
		},
		{
			name: "a range of nodes", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.submit(10, "heavy", upTo(3)) },
			p:     func(p *Planner) { p.Limit, p.Margin = 0, 0.05 },
			want:  "keep",
		},
		{
			name: "a range of nodes gives way to a limit", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.submit(10, "heavy", upTo(3)) },
			want:  "exclude n01", reason: "above its limit",
		},
		{
			name: "not below the least of a range", nodes: 4,
			queue: func(f *fake) {
				f.run(1, "tender", "n01", "n02", "n03")
				f.submit(10, "heavy", needs(2), upTo(4))
			},
			want: "exclude n[02-03]", reason: "2 nodes must remain",
		},
		{
			name: "as many nodes as it needs", nodes: 4,
			queue: func(f *fake) { f.run(1, "tender", "n01", "n02", "n03"); f.submit(10, "heavy", needs(3)) },
			want:  "exclude n03", reason: "3 nodes must remain",
		},
		{
			name: "fewer nodes than it needs", nodes: 2,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.submit(10, "heavy", needs(3)) },
			want:  "keep", reason: "fewer than 3 nodes are up",
		},
		{
			name: "the user's exclusion stays", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.submit(10, "heavy", excluding("n03")) },
			want:  "exclude n[01,03]",
		},
		{
			name: "the user excluded the good ones", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.submit(10, "heavy", excluding("n[02-03]")) },
			want:  "keep", reason: "n01 stays open",
		},
		{
			name: "the user chose nodes", nodes: 3,
			queue: func(f *fake) {
				f.run(1, "tender", "n01")
				f.submit(10, "heavy", func(j *slurm.Job) { j.Required = []string{"n01"} })
			},
			want: "skip", reason: "the user chose the nodes",
		},
		{
			name: "another partition", nodes: 3,
			queue: func(f *fake) {
				f.cluster.Nodes[0].Partitions = []string{"odd"}
				f.run(1, "tender", "n01", "n02")
				f.submit(10, "heavy")
			},
			want: "exclude n02",
		},
		{
			name: "two partitions", nodes: 3,
			queue: func(f *fake) {
				f.cluster.Nodes[0].Partitions = []string{"odd"}
				f.cluster.Partitions = append(f.cluster.Partitions, slurm.Partition{Name: "odd"})
				f.run(1, "tender", "n01", "n02")
				f.submit(10, "heavy", func(j *slurm.Job) { j.Partitions = []string{"odd", "pack"} })
			},
			want: "exclude n[01-02]",
		},
		{
			name: "a feature that one node has", nodes: 3,
			queue: func(f *fake) {
				f.cluster.Nodes[0].Features = append(f.cluster.Nodes[0].Features, "gpu")
				f.run(1, "tender", "n01", "n02")
				f.submit(10, "heavy", func(j *slurm.Job) { j.Features = "gpu" })
			},
			want: "keep", reason: "n01 stays open",
		},
		{
			name: "nodes that are too small do not count as open", nodes: 3,
			queue: func(f *fake) {
				f.cluster.Nodes[2].CPUs = 2
				f.run(1, "tender", "n01", "n02")
				f.submit(10, "heavy", func(j *slurm.Job) { j.CPUs = 4 })
			},
			want: "exclude n02", reason: "n01 stays open",
		},
		{
			name: "no profile", nodes: 3, queue: func(f *fake) { f.run(1, "tender", "n01"); f.submit(10, "stranger") },
			want: "skip", reason: "no profile of stranger",
		},
		{
			name: "more than any node has", nodes: 3,
			queue: func(f *fake) { f.submit(10, "heavy", func(j *slurm.Job) { j.CPUs = 9 }) },
			want:  "skip", reason: "no node can run it",
		},
		{
			name: "no application", nodes: 3,
			queue: func(f *fake) {
				j := f.submit(10, "heavy")
				j.Comment, j.Name = "bandmate=$(rm -rf /)", "a;b"
			},
			want: "skip", reason: "no application is named",
		},
		{
			name: "unknown residents are avoided when told", nodes: 3,
			queue: func(f *fake) { f.run(1, "stranger", "n01"); f.submit(10, "heavy") },
			p:     func(p *Planner) { p.Score.Unknown = score.Avoid },
			want:  "exclude n01", reason: "kept apart",
		},
		{
			name: "a margin instead of a limit", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.run(2, "light", "n02"); f.submit(10, "heavy") },
			p:     func(p *Planner) { p.Limit, p.Margin = 0, 0.05 },
			want:  "exclude n01", reason: "other nodes cost less",
		},
		{
			name: "a node of a machine without profiles is no measure", nodes: 2,
			queue: func(f *fake) {
				f.cluster.Nodes[1].Features = []string{"bandmate-machine=newest"}
				f.run(1, "tender", "n01")
				f.submit(10, "heavy")
			},
			p:    func(p *Planner) { p.Limit, p.Margin = 0, 0.05 },
			want: "keep",
		},
		{
			name: "held jobs are kept up to date", nodes: 3,
			queue: func(f *fake) { f.run(1, "tender", "n01"); f.submit(10, "heavy", waits("JobHeldUser")) },
			want:  "exclude n01",
		},
		{
			name: "held and dependent jobs take no node from others", nodes: 1,
			queue: func(f *fake) {
				f.submit(8, "heavy", waits("Dependency"))
				f.submit(7, "heavy", waits("None")).Dependency = "afterok:3(unfulfilled)"
				f.submit(9, "heavy", waits("JobHeldAdmin"))
				f.submit(10, "heavy", func(j *slurm.Job) { j.CPUs = 8 })
			},
			want: "keep",
		},
		{
			name: "several held jobs do not push each other onto a bad node", nodes: 3,
			queue: func(f *fake) {
				f.run(1, "tender", "n01")
				for id := range int64(5) {
					f.submit(5+id, "heavy", waits("JobHeldUser"))
				}
				f.submit(10, "heavy", waits("JobHeldUser"))
			},
			want: "exclude n01",
		},
		{
			name: "a bad node is the last resort", nodes: 2,
			queue: func(f *fake) {
				f.run(1, "tender", "n01")
				f.run(2, "light", "n02").CPUs = 8
				for id := range int64(5) {
					f.submit(5+id, "heavy")
				}
				f.submit(10, "heavy")
			},
			want: "exclude n01", reason: "n02 stays open",
		},
		{
			name: "jobs that end and suspended ones cause no traffic", nodes: 2,
			queue: func(f *fake) {
				f.run(1, "tender", "n01").Flags = []slurm.State{slurm.Completing}
				f.run(2, "tender", "n02").State = slurm.Suspended
				f.submit(10, "heavy")
			},
			want: "keep",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(c.nodes)
			c.queue(f)
			p := planner(t)
			if c.p != nil {
				c.p(&p)
			}
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			d := plan(t, p, f, nil)[10]
			got := string(d.Action)
			if d.Action == Exclude {
				got += " " + d.Excluded
			}
			if got != c.want || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("%s: %q, want %s: %q", got, d.Reason, c.want, c.reason)
			}
		})
	}
}

// Jobs that came together do not all go where it was best for the first.
func TestBurst(t *testing.T) {
	p := planner(t)
	f := newFake(4)
	for i := range 4 {
		f.submit(int64(10+i), "heavy")
	}
	f.submit(20, "light")
	decisions := plan(t, p, f, nil)
	var together []string
	for id := int64(10); id < 14; id++ {
		d := decisions[id]
		if len(d.Expected) != 1 {
			t.Fatalf("job %d is expected on %v, want one node", id, d.Expected)
		}
		if slices.Contains(together, d.Expected[0]) {
			t.Errorf("job %d is expected on %s, where another is", id, d.Expected[0])
		}
		together = append(together, d.Expected[0])
	}
	wantApart(t, p, f, decisions)
	if d := decisions[20]; d.Action != Keep {
		t.Errorf("the light job: %s %s: %s, want it free to go anywhere", d.Action, d.Excluded, d.Reason)
	}
}

// Neither do those that came together while there was no room.
func TestBurstInFrontOfAFullCluster(t *testing.T) {
	p := planner(t)
	f := newFake(4)
	for i := range f.cluster.Nodes {
		f.run(int64(i+1), "light", f.cluster.Nodes[i].Name).CPUs = 8
	}
	for i := range 4 {
		f.submit(int64(10+i), "heavy")
	}
	decisions := plan(t, p, f, nil)
	wantApart(t, p, f, decisions)
	for id := int64(10); id < 14; id++ {
		if d := decisions[id]; len(d.Expected) > 0 {
			t.Errorf("job %d is expected on %v, where there is no room", id, d.Expected)
		}
	}
}

// More jobs than nodes: what has to remain open is not the same for all.
func TestMoreThanThereIsRoomFor(t *testing.T) {
	p := planner(t)
	f := newFake(4)
	for i := range 8 {
		f.submit(int64(10+i), "heavy")
	}
	open := make(map[string]int)
	for _, d := range plan(t, p, f, nil) {
		for _, n := range f.cluster.Nodes {
			if !slices.Contains(expand(d.Excluded), n.Name) {
				open[n.Name]++
			}
		}
	}
	for name, jobs := range open {
		if jobs != 2 {
			t.Errorf("%d of 8 jobs may start on %s, want 2: %v", jobs, name, open)
		}
	}
}

// wantApart fails when two heavy jobs may start on the same node.
func wantApart(tb testing.TB, p Planner, f *fake, decisions map[int64]Decision) {
	tb.Helper()
	for _, n := range f.cluster.Nodes {
		var there []int64
		for id, d := range decisions {
			if d.Application == "heavy" && !slices.Contains(expand(d.Excluded), n.Name) {
				there = append(there, id)
			}
		}
		if len(there) > 1 {
			tb.Errorf("jobs %v may all start on %s; the limit is %v", there, n.Name, p.Limit)
		}
	}
}

// The order of decisions is that of the memory: what was decided stands.
func TestEarlierDecisionsStand(t *testing.T) {
	p := planner(t)
	f := newFake(2)
	f.submit(10, "heavy")
	f.submit(11, "heavy")
	m := Memory{11: {Turn: 1}, 10: {Turn: 2}}
	decisions := plan(t, p, f, m)
	if got := decisions[11].Expected; !slices.Equal(got, []string{"n01"}) {
		t.Errorf("the job decided about first is expected on %v, want n01", got)
	}
	if got := decisions[10].Expected; !slices.Equal(got, []string{"n02"}) {
		t.Errorf("the job decided about second is expected on %v, want n02", got)
	}
}

func TestPlannerValidate(t *testing.T) {
	for _, c := range []struct {
		p    Planner
		want string
	}{
		{Planner{Limit: 0.9}, "limit 0.9"},
		{Planner{Margin: -1}, "margin -1"},
		{Planner{}, "nothing would ever be excluded"},
		{Planner{Limit: 1.1, Score: score.Options{Objective: "luck"}}, "luck"},
	} {
		if err := c.p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}

// randomFake draws a cluster with residents and waiting jobs of all kinds.
func randomFake(t *rapid.T) *fake {
	f := newFake(rapid.IntRange(1, 6).Draw(t, "nodes"))
	applications := rapid.SampledFrom([]string{"heavy", "tender", "light", "stranger"})
	node := rapid.IntRange(0, len(f.cluster.Nodes)-1)
	for i := range f.cluster.Nodes {
		n := &f.cluster.Nodes[i]
		n.State = rapid.SampledFrom([]string{"IDLE", "MIXED", "DOWN"}).Draw(t, "state")
		n.CPUs = rapid.SampledFrom([]int{2, 8}).Draw(t, "cpus")
		if rapid.Bool().Draw(t, "odd") {
			n.Partitions = append(n.Partitions, "odd")
		}
	}
	f.cluster.Partitions = append(f.cluster.Partitions, slurm.Partition{Name: "odd", OverSubscribe: "FORCE:2"})
	for id := range int64(rapid.IntRange(0, 6).Draw(t, "residents")) {
		f.run(id+1, applications.Draw(t, "application"), f.cluster.Nodes[node.Draw(t, "node")].Name)
	}
	for id := range int64(rapid.IntRange(0, 8).Draw(t, "waiting")) {
		f.submit(id+100, applications.Draw(t, "application"), func(j *slurm.Job) {
			j.NodeCount = rapid.IntRange(1, 3).Draw(t, "needs")
			j.CPUs = j.NodeCount * rapid.IntRange(1, 4).Draw(t, "cpus")
			j.Reason = rapid.SampledFrom([]string{"Priority", "Resources", "Dependency", "JobHeldUser"}).Draw(t, "reason")
			j.Partitions = rapid.SampledFrom([][]string{{"pack"}, {"odd"}, {"odd", "pack"}}).Draw(t, "partitions")
			if rapid.IntRange(0, 3).Draw(t, "user's") == 0 {
				j.Excluded = []string{f.cluster.Nodes[node.Draw(t, "excluded")].Name}
			}
		})
	}
	return f
}

// Whatever the queue, every job keeps as many nodes as it needs, if it had
// them, and the user's exclusions.
func TestNeverEveryNode(t *testing.T) {
	p := planner(t)
	rapid.Check(t, func(t *rapid.T) {
		f := randomFake(t)
		decisions, err := p.Plan(&f.cluster, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions {
			if err := leavesEnough(f, d); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func leavesEnough(f *fake, d Decision) error {
	excluded := expand(d.Excluded)
	for _, name := range expand(d.Original) {
		if !slices.Contains(excluded, name) {
			return fmt.Errorf("job %s: the user's %s is no longer excluded", d.Job, name)
		}
	}
	up, open := 0, 0
	request := (&slurm.Site{}).Request(d.Job)
	request.Excluded = expand(d.Original)
	for _, n := range request.Matching(&f.cluster) {
		if n.Available() {
			up++
			if !slices.Contains(excluded, n.Name) {
				open++
			}
		}
	}
	if need := min(max(1, d.Job.NodeCount), up); open < need {
		return fmt.Errorf("job %s needs %d nodes, had %d that are up and keeps %d: %s", d.Job, d.Job.NodeCount, up, open, d.Reason)
	}
	if want := hostlist.Compress(excluded); want != d.Excluded {
		return fmt.Errorf("job %s: excluded %s, want %s", d.Job, d.Excluded, want)
	}
	return nil
}
