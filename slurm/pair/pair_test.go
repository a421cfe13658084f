package pair

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/slurm"
)

func profile(name string, gbps, loss float64) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{}
	p.Name = name
	p.Spec.Machine.Name = "blade"
	p.Spec.Solo = v1alpha1.Timing{Seconds: 10, Repeats: 3}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: gbps * 1e9, Source: "imc"}
	for _, share := range []float64{0.5, 1} {
		c := v1alpha1.SensitivityCurve{ReadShare: share}
		for _, level := range []float64{0.25, 0.5, 0.75, 1} {
			b := 40e9 * level
			c.Points = append(c.Points, v1alpha1.CurvePoint{
				Level: level, InterfererBytesPerSecond: b, AchievedBytesPerSecond: &b,
				NormalizedPerformance: 1 - loss*level, Repeats: 3,
			})
		}
		p.Spec.Curves = append(p.Spec.Curves, c)
	}
	return p
}

func planner() Planner {
	profiles := []*v1alpha1.ApplicationProfile{profile("heavy", 30, 0.5), profile("light", 0.1, 0.001)}
	for _, p := range []*v1alpha1.ApplicationProfile{profile("heavy", 20, 0.4), profile("light", 0.1, 0.001)} {
		p.Spec.Machine.Name = "sled"
		profiles = append(profiles, p)
	}
	return Planner{Site: &slurm.Site{}, Advisor: advisor.New(profiles, nil)}
}

// cluster has nodes of eight CPUs in the partition share, and jobs of eight
// CPUs that run the applications.
func cluster(nodes int, applications ...string) *slurm.Cluster {
	c := &slurm.Cluster{Partitions: []slurm.Partition{{Name: "share", Default: true, OverSubscribe: "FORCE:2"}}}
	for i := range nodes {
		c.Nodes = append(c.Nodes, slurm.Node{
			Name: fmt.Sprintf("n%d", i+1), CPUs: 8, State: "IDLE", Partitions: []string{"share"}, Features: []string{"bandmate-machine=blade"},
		})
	}
	for i, name := range applications {
		c.Jobs = append(c.Jobs, slurm.Job{
			ID: int64(i + 1), Comment: "bandmate=" + name, Partitions: []string{"share"}, State: slurm.Pending, Reason: "Resources",
			NodeCount: 1, CPUs: 8, Submitted: time.Unix(int64(100+i), 0),
		})
	}
	return c
}

func mustPlan(t *testing.T, p Planner, c *slurm.Cluster) *Plan {
	t.Helper()
	plan, err := p.Plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// describe is the plan in short: pairs with nodes, then who is alone.
func describe(p *Plan) string {
	var b strings.Builder
	for _, pair := range p.Pairs {
		fmt.Fprintf(&b, "%s+%s@%s ", pair.Jobs[0].ID, pair.Jobs[1].ID, strings.Join(pair.Nodes, ","))
	}
	for _, j := range p.Alone {
		fmt.Fprintf(&b, "%s alone ", j.ID)
	}
	return strings.TrimSpace(b.String())
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name         string
		nodes        int
		applications []string
		change       func(*slurm.Cluster)
		want         string
	}{
		{name: "opposites", nodes: 2, applications: []string{"heavy", "heavy", "light", "light"}, want: "1+3@n1 2+4@n2"},
		{name: "an odd one", nodes: 2, applications: []string{"heavy", "light", "light"}, want: "2+3@n1 1 alone"},
		{name: "no node left", nodes: 1, applications: []string{"heavy", "heavy", "light", "light"}, want: "1+3@n1 2+4@"},
		{
			name: "occupied and drained nodes", nodes: 3, applications: []string{"heavy", "light"}, want: "1+2@n3",
			change: func(c *slurm.Cluster) {
				c.Nodes[0].Flags = []string{"DRAIN"}
				c.Jobs = append(c.Jobs, slurm.Job{ID: 9, State: slurm.Running, Nodes: []string{"n2"}, NodeCount: 1, CPUs: 1})
			},
		},
		{
			name: "a pair that waits for its node", nodes: 2, applications: []string{"heavy", "light", "heavy", "light"}, want: "3+4@n2",
			change: func(c *slurm.Cluster) { c.Jobs[0].Required, c.Jobs[1].Required = []string{"n1"}, []string{"n1"} },
		},
		{
			name: "a held job that names a node", nodes: 1, applications: []string{"light", "heavy", "light"}, want: "2+3@n1",
			change: func(c *slurm.Cluster) { c.Jobs[0].Required, c.Jobs[0].Reason = []string{"n1"}, "JobHeldUser" },
		},
		{
			name: "the users' exclusions", nodes: 3, applications: []string{"heavy", "light"}, want: "1+2@n3",
			change: func(c *slurm.Cluster) { c.Jobs[0].Excluded, c.Jobs[1].Excluded = []string{"n1"}, []string{"n2"} },
		},
		{
			name: "two nodes each", nodes: 3, applications: []string{"heavy", "light", "light"}, want: "1+2@n1,n2 3 alone",
			change: func(c *slurm.Cluster) {
				for i := range 2 {
					c.Jobs[i].NodeCount, c.Jobs[i].CPUs = 2, 16
				}
			},
		},
		{
			name: "a partition that does not share", nodes: 1, applications: []string{"heavy", "light"}, want: "1+2@",
			change: func(c *slurm.Cluster) { c.Partitions[0].OverSubscribe = "NO" },
		},
		{
			name: "a partition that shares on request", nodes: 1, applications: []string{"heavy", "light"}, want: "1+2@",
			change: func(c *slurm.Cluster) { c.Partitions[0].OverSubscribe = "YES:4" },
		},
		{
			name: "a node of their reservation", nodes: 2, applications: []string{"heavy", "light"}, want: "1+2@n2",
			change: func(c *slurm.Cluster) {
				c.Nodes[0].Flags, c.Nodes[1].Flags = []string{"DRAIN"}, []string{"RESERVED"}
				c.Nodes[1].Reservation, c.Jobs[0].Reservation, c.Jobs[1].Reservation = "course", "course", "course"
			},
		},
		{
			name: "half a node each", nodes: 1, applications: []string{"heavy", "light"}, want: "1+2@n1",
			change: func(c *slurm.Cluster) {
				c.Partitions[0].OverSubscribe = "NO"
				c.Jobs[0].CPUs, c.Jobs[1].CPUs = 4, 4
			},
		},
		{
			name: "half a node each in a partition of whole nodes", nodes: 1, applications: []string{"heavy", "light"}, want: "",
			change: func(c *slurm.Cluster) {
				c.Partitions[0].OverSubscribe = "EXCLUSIVE"
				c.Jobs[0].CPUs, c.Jobs[1].CPUs = 4, 4
			},
		},
		{
			name: "half a node each, and fewer CPUs for the partition", nodes: 1, applications: []string{"heavy", "light"}, want: "1+2@",
			change: func(c *slurm.Cluster) {
				c.Partitions[0].OverSubscribe, c.Partitions[0].MostCPUsPerNode = "NO", 6
				c.Jobs[0].CPUs, c.Jobs[1].CPUs = 4, 4
			},
		},
		{
			name: "half a node each, and reserved cores", nodes: 2, applications: []string{"heavy", "light"}, want: "1+2@n2",
			change: func(c *slurm.Cluster) {
				c.Time, c.Partitions[0].OverSubscribe = time.Unix(1000, 0), "NO"
				c.Reservations = []slurm.Reservation{{
					Name: "part", Nodes: []string{"n1"}, Start: time.Unix(900, 0), End: time.Unix(9000, 0), Partial: true, Cores: map[string]int{"n1": 2},
				}}
				c.Jobs[0].CPUs, c.Jobs[1].CPUs = 4, 4
			},
		},
		{
			name: "users that share no nodes", nodes: 2, applications: []string{"heavy", "light", "light"}, want: "1+3@n1 2 alone",
			change: func(c *slurm.Cluster) {
				c.Partitions[0].ExclusiveUser = true
				c.Jobs[0].User, c.Jobs[1].User, c.Jobs[2].User = "alice", "bob", "alice"
			},
		},
		{
			name: "a machine without profiles", nodes: 2, applications: []string{"heavy", "light"}, want: "1+2@n2",
			change: func(c *slurm.Cluster) { c.Nodes[0].Features = []string{"bandmate-machine=newest"} },
		},
		{
			name: "two machines", nodes: 2, applications: []string{"heavy", "heavy", "light", "light"}, want: "1+3@n1 2+4@",
			change: func(c *slurm.Cluster) { c.Nodes[1].Features = []string{"bandmate-machine=sled"} },
		},
		{
			name: "two machines, one of them busy", nodes: 2, applications: []string{"heavy", "light"}, want: "1+2@n2",
			change: func(c *slurm.Cluster) {
				c.Nodes[1].Features = []string{"bandmate-machine=sled"}
				c.Jobs = append(c.Jobs, slurm.Job{ID: 9, State: slurm.Running, Nodes: []string{"n1"}, NodeCount: 1, CPUs: 1})
			},
		},
		{
			name: "a generic resource of the second", nodes: 3, applications: []string{"heavy", "light"}, want: "1+2@n3",
			change: func(c *slurm.Cluster) {
				c.Nodes[2].Gres, c.Jobs[1].Gres = map[string]int{"gpu": 1}, map[string]int{"gpu": 1}
			},
		},
		{
			name: "one generic resource for two", nodes: 1, applications: []string{"heavy", "light"}, want: "1+2@",
			change: func(c *slurm.Cluster) {
				c.Nodes[0].Gres = map[string]int{"gpu": 1}
				for i := range c.Jobs {
					c.Jobs[i].Gres = map[string]int{"gpu": 1}
				}
			},
		},
		{
			name: "memory for one", nodes: 2, applications: []string{"heavy", "light"}, want: "1+2@n2",
			change: func(c *slurm.Cluster) {
				c.Consumable.Memory = true
				c.Nodes[0].Memory, c.Nodes[1].Memory = 8000, 16000
				c.Jobs[0].Memory, c.Jobs[1].Memory = 6000, 6000
			},
		},
		{
			name: "all memory for a job that names none", nodes: 1, applications: []string{"heavy", "light"}, want: "1+2@",
			change: func(c *slurm.Cluster) { c.Consumable.Memory, c.Nodes[0].Memory = true, 8000 },
		},
		{
			name: "a reservation of one", nodes: 2, applications: []string{"heavy", "light"}, want: "1 alone 2 alone",
			change: func(c *slurm.Cluster) { c.Jobs[1].Reservation = "maintenance" },
		},
		{name: "nobody waits", nodes: 1, want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := cluster(c.nodes, c.applications...)
			if c.change != nil {
				c.change(cluster)
			}
			if got := describe(mustPlan(t, planner(), cluster)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	plan := mustPlan(t, planner(), cluster(2, "heavy", "heavy", "light", "light"))
	if !(plan.TotalSlowdown < plan.Random) || plan.TotalSlowdown > plan.Greedy+1e-9 {
		t.Errorf("total %v, greedy %v, random %v: want the least first", plan.TotalSlowdown, plan.Greedy, plan.Random)
	}
	sum := 0.0
	for _, p := range plan.Pairs {
		for _, j := range p.Jobs {
			sum += float64(j.Slowdown)
		}
	}
	if diff := sum - plan.TotalSlowdown; diff > 1e-6 || diff < -1e-6 {
		t.Errorf("the pairs' slowdowns add up to %v, the total says %v", sum, plan.TotalSlowdown)
	}
	p := planner()
	p.Limit = 1.1
	if got := mustPlan(t, p, cluster(1, "heavy", "heavy")).OverLimit; got != 1 {
		t.Errorf("%d pairs over the limit, want 1", got)
	}
}

func TestLeftOut(t *testing.T) {
	for reason, change := range map[string]func(*slurm.Job){
		"held":                    func(j *slurm.Job) { j.Reason = "JobHeldUser" },
		"waits for other jobs":    func(j *slurm.Job) { j.Reason = "Dependency" },
		"several tasks":           func(j *slurm.Job) { j.ArrayID, j.PendingTasks = 1, "1-4" },
		"heterogeneous":           func(j *slurm.Job) { j.HetID = 1 },
		"the user chose":          func(j *slurm.Job) { j.Required = []string{"n9"} },
		"exclusive":               func(j *slurm.Job) { j.Exclusive = true },
		"no application is named": func(j *slurm.Job) { j.Comment, j.Name = "", "A B" },
		"no profile of stranger":  func(j *slurm.Job) { j.Comment = "bandmate=stranger" },
		"too few nodes":           func(j *slurm.Job) { j.CPUs = 99 },
	} {
		c := cluster(1, "heavy", "light", "light")
		change(&c.Jobs[0])
		plan := mustPlan(t, planner(), c)
		if len(plan.LeftOut) != 1 || plan.LeftOut[0].Job != c.Jobs[0].String() || !strings.Contains(plan.LeftOut[0].Reason, reason) {
			t.Errorf("%s: left out %+v", reason, plan.LeftOut)
		}
		if got := describe(plan); got != "2+3@n1" {
			t.Errorf("%s: the others are %s, want 2+3@n1", reason, got)
		}
	}
}

func TestCommands(t *testing.T) {
	p := Pair{Jobs: [2]Job{{ID: "7"}, {ID: "8_2"}}, Nodes: []string{"n2", "n1"}}
	want := [][]string{{"update", "JobId=7", "ReqNodeList=n[1-2]"}, {"update", "JobId=8_2", "ReqNodeList=n[1-2]"}}
	if got := p.Commands(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Pair{}).Commands(); got != nil {
		t.Errorf("without nodes: %q, want nothing", got)
	}
}
