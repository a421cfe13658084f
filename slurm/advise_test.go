package slurm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/predictor/score/scoretest"
	"bandmate.dev/bandmate/units"
)

// known advises on the shared situations: writer and reader cause 10 GB/s,
// plain and tender suffer from it, quiet does neither.
func known(t testing.TB) *advisor.Advisor {
	t.Helper()
	text, err := os.ReadFile("../predictor/score/testdata/situations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := scoretest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return table.Advisor()
}

// cluster has nodes n1, n2, … of 8 CPUs on two sockets, all in partition pack,
// the odd ones in odd too.
func cluster(nodes int, jobs ...Job) *Cluster {
	c := &Cluster{Partitions: []Partition{
		{Name: "odd"}, {Name: "pack", Default: true, OverSubscribe: "NO"}, {Name: "share", OverSubscribe: "FORCE:2"}, {Name: "whole", OverSubscribe: "EXCLUSIVE"},
	}}
	for i := 1; i <= nodes; i++ {
		n := Node{
			Name: fmt.Sprintf("n%d", i), CPUs: 8, Sockets: 2, CoresPerSocket: 4, ThreadsPerCore: 1, State: "IDLE",
			Features: []string{MachineFeature + "=blade"}, Partitions: []string{"pack", "share", "whole"},
		}
		if i%2 == 1 {
			n.Partitions = append(n.Partitions, "odd")
		}
		c.Nodes = append(c.Nodes, n)
	}
	for i, j := range jobs {
		if j.ID == 0 {
			j.ID = int64(i + 1)
		}
		c.Jobs = append(c.Jobs, j)
	}
	return c
}

// runs is a job that has CPUs of nodes.
func runs(application string, cpus int, nodes ...string) Job {
	return Job{State: Running, Comment: "bandmate=" + application, CPUs: cpus * len(nodes), NodeCount: len(nodes), Nodes: nodes}
}

func wants(application string, nodes int, cpus float64) Request {
	return Request{Application: application, Nodes: nodes, CPUsPerNode: cpus}
}

func advise(t *testing.T, c *Cluster, r Request, o Options) *Advice {
	t.Helper()
	advice, err := (&Advisor{Advisor: known(t), Options: o}).Advise(c, r)
	if err != nil {
		t.Fatal(err)
	}
	return advice
}

func ranked(a *Advice) string {
	var names []string
	for _, c := range a.Candidates {
		names = append(names, c.Node)
	}
	return strings.Join(names, " ")
}

func TestAdvise(t *testing.T) {
	with := func(c *Cluster, change func(*Cluster)) *Cluster { change(c); return c }
	busy := func() *Cluster {
		return cluster(4, runs("reader", 4, "n1"), runs("writer", 4, "n2"), runs("quiet", 8, "n3"))
	}
	for _, test := range []struct {
		name            string
		cluster         *Cluster
		request         Request
		options         Options
		ranked, chosen  string
		exclude         string
		exceeded        bool
		firstIsNotKnown bool
	}{
		{
			name: "the best with room is chosen, the worse excluded, the full left open", cluster: busy(),
			request: wants("tender", 1, 4), ranked: "n4 n1 n2 n3", chosen: "n4", exclude: "n[1-2]",
		},
		{
			name: "two nodes", cluster: busy(),
			request: wants("tender", 2, 4), ranked: "n4 n1 n2 n3", chosen: "n4 n1", exclude: "n2",
		},
		{
			name: "more nodes than have room: nothing is chosen, nothing excluded", cluster: busy(),
			request: wants("tender", 4, 4), ranked: "n4 n1 n2 n3",
		},
		{
			name: "equal nodes stay open", cluster: cluster(3),
			request: wants("tender", 1, 4), ranked: "n1 n2 n3", chosen: "n1",
		},
		{
			name: "tasks of an array do not pile up", cluster: cluster(3, runs("quiet", 1, "n1", "n2", "n3")),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 2, Copies: 3}, ranked: "n1 n2 n3", chosen: "n1 n2 n3",
		},
		{
			name:    "a limit excludes full nodes, too",
			cluster: cluster(3, runs("writer", 8, "n1"), runs("quiet", 2, "n2")),
			request: wants("tender", 1, 4), options: Options{Limit: 1.15}, ranked: "n3 n2 n1", chosen: "n3", exclude: "n[1-2]",
		},
		{
			name:    "a limit that is exceeded everywhere leaves the best open",
			cluster: cluster(3, runs("writer", 4, "n1"), runs("reader", 4, "n2"), runs("torrent", 4, "n3")),
			request: wants("tender", 1, 4), options: Options{Limit: 1.05}, ranked: "n2 n1 n3", exclude: "n[1,3]", exceeded: true,
		},
		{
			name:    "a resident's own limit counts without one of ours",
			cluster: cluster(2, Job{State: Running, Comment: "bandmate=plain bandmate-limit=1.05", CPUs: 1, Nodes: []string{"n1"}}, runs("plain", 7, "n2")),
			request: Request{Application: "writer", Nodes: 1, CPUsPerNode: 1}, ranked: "n2 n1", chosen: "n2", exclude: "n1",
		},
		{
			name: "only the partition's nodes", cluster: busy(),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 4, Partitions: []string{"odd"}}, ranked: "n1 n3", chosen: "n1",
		},
		{
			name: "what the user excluded stays excluded", cluster: busy(),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 4, Excluded: []string{"n4", "n9"}}, ranked: "n1 n2 n3", chosen: "n1", exclude: "n[2,4,9]",
		},
		{
			name: "what the user requires is not excluded", cluster: busy(),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 4, Required: []string{"n2"}}, ranked: "n2", chosen: "n2",
		},
		{
			name: "features", cluster: with(busy(), func(c *Cluster) { c.Nodes[1].Features = append(c.Nodes[1].Features, "fast", "big") }),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 4, Features: "fast&big"}, ranked: "n2", chosen: "n2",
		},
		{
			name: "down and drained nodes", cluster: with(busy(), func(c *Cluster) { c.Nodes[3].State = "DOWN"; c.Nodes[0].Flags = []string{"DRAIN"} }),
			request: wants("tender", 1, 4), ranked: "n2 n3", chosen: "n2",
		},
		{
			name: "a shared partition has room on full nodes", cluster: cluster(1, Job{State: Running, Comment: "bandmate=quiet", CPUs: 8, Nodes: []string{"n1"}, Partitions: []string{"share"}}),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 8, Partitions: []string{"share"}}, ranked: "n1", chosen: "n1",
		},
		{
			name: "an exclusive job wants an empty node", cluster: cluster(2, runs("quiet", 1, "n1")),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 1, Exclusive: true}, ranked: "n2 n1", chosen: "n2",
		},
		{
			name: "so does a partition of whole nodes", cluster: cluster(2, runs("quiet", 1, "n1")),
			request: Request{Application: "tender", Nodes: 1, CPUsPerNode: 1, Partitions: []string{"whole"}}, ranked: "n2 n1", chosen: "n2",
		},
		{
			name: "a memory pool of two nodes",
			cluster: with(cluster(3, runs("writer", 8, "n1")), func(c *Cluster) {
				for i := range 2 {
					c.Nodes[i].Features = append(c.Nodes[i].Features, DomainFeature+"=pool")
				}
			}),
			request: wants("tender", 1, 4), ranked: "n3 n2 n1", chosen: "n3", exclude: "n2",
		},
		{
			name: "suspended and completing jobs cause no traffic",
			cluster: cluster(2, Job{State: Suspended, Comment: "bandmate=writer", CPUs: 4, Nodes: []string{"n1"}},
				Job{State: Running, Flags: []State{Completing}, Comment: "bandmate=writer", CPUs: 4, Nodes: []string{"n1"}}),
			request: wants("tender", 1, 4), ranked: "n1 n2", chosen: "n1",
		},
		{
			name: "what is hardly worse stays open", cluster: cluster(3, runs("writer", 4, "n1"), runs("quiet", 4, "n2")), options: Options{Tolerance: 0.01},
			request: wants("tender", 1, 4), ranked: "n3 n2 n1", chosen: "n3", exclude: "n1",
		},
		{
			name: "an unknown job", cluster: busy(), request: wants("ghost", 1, 4), ranked: "n1 n2 n4 n3", chosen: "n1", firstIsNotKnown: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := advise(t, test.cluster, test.request, test.options)
			if got := ranked(a); got != test.ranked {
				t.Errorf("ranked %s, want %s", got, test.ranked)
			}
			if got := strings.Join(a.Chosen, " "); got != test.chosen {
				t.Errorf("chosen %q, want %q", got, test.chosen)
			}
			if got := a.ExcludeList(); got != test.exclude || a.LimitExceeded != test.exceeded {
				t.Errorf("excluded %q, exceeded %v; want %q, %v", got, a.LimitExceeded, test.exclude, test.exceeded)
			}
			if a.Candidates[0].Score.Newcomer.Known == test.firstIsNotKnown {
				t.Errorf("known: %v", a.Candidates[0].Score.Newcomer.Known)
			}
			for _, c := range a.Candidates {
				if c.Reason == "" {
					t.Errorf("%s has no reason", c.Node)
				}
			}
		})
	}
}

// TestAdviseLargeArray checks that nodes stay open for the tasks of an array that were not
// placed, even if they are worse than those of the others.
func TestAdviseLargeArray(t *testing.T) {
	for copies, want := range map[int]string{mostCopies - 1: "n1", mostCopies: ""} {
		c := cluster(mostCopies+1, runs("writer", 4, "n1"))
		if got := advise(t, c, Request{Application: "tender", Nodes: 1, CPUsPerNode: 4, Copies: copies}, Options{}).ExcludeList(); got != want {
			t.Errorf("%d tasks: excluded %q, want %q", copies, got, want)
		}
	}
}

// TestAdviseRunningJob checks that a job is no neighbor of its own.
func TestAdviseRunningJob(t *testing.T) {
	c := cluster(2, runs("torrent", 8, "n1"), runs("quiet", 1, "n2"))
	j := &c.Jobs[0]
	a := advise(t, c, (&Site{}).Request(j), Options{})
	here := a.Candidates[slices.IndexFunc(a.Candidates, func(c Candidate) bool { return c.Node == "n1" })]
	if len(here.Residents) != 0 || !here.Fits || here.Slowdown != 1 || a.Job != "1" {
		t.Errorf("%+v", here)
	}
}

// upTo returns the numbers from 0 to n − 1.
func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

func TestAdviseSockets(t *testing.T) {
	onSocket := func(j Job, socket int) Job {
		j.Allocations = []Allocation{{j.Nodes[0], map[int][]int{socket: upTo(j.CPUs)}}}
		return j
	}
	c := cluster(2, onSocket(runs("writer", 4, "n1"), 1), onSocket(runs("writer", 2, "n2"), 0))
	a := advise(t, c, wants("tender", 1, 4), Options{Sockets: true})
	// On n1 only socket 0 has room, and nobody is there; on n2 only socket 1.
	for _, candidate := range a.Candidates {
		if candidate.Slowdown != 1 {
			t.Errorf("%s: %v on %s", candidate.Node, candidate.Slowdown, candidate.Domain)
		}
	}
	// One CPU may come to run beside the writer on n2.
	a = advise(t, c, wants("tender", 1, 1), Options{Sockets: true})
	if got := a.Candidates[1]; got.Node != "n2" || got.Domain != "n2/0" || got.Slowdown < 1.2 {
		t.Errorf("%+v", got)
	}
	// Where Slurm does not tell, a job is on all sockets.
	a = advise(t, cluster(1, runs("writer", 2, "n1")), wants("tender", 1, 1), Options{Sockets: true})
	if got := a.Candidates[0]; len(got.Residents) != 1 || got.Slowdown < 1.2 {
		t.Errorf("%+v", got)
	}
}

func TestAdviseFaults(t *testing.T) {
	c := cluster(1)
	for _, test := range []struct {
		request Request
		options Options
		want    string
	}{
		{wants("plain", 0, 1), Options{}, "0 nodes"},
		{wants("plain", 1, 0), Options{}, "0 CPUs"},
		{Request{Application: "plain", Nodes: 1, CPUsPerNode: 1, Copies: -1}, Options{}, "-1 copies"},
		{wants("plain", 1, 1), Options{Limit: 0.5}, "limit of 0.5"},
		{wants("plain", 1, 1), Options{Tolerance: math.NaN()}, "a tolerance of NaN"},
		{wants("plain", 1, 1), Options{Score: score.Options{Unknown: score.Assume}}, "stand-in"},
		{wants("plain", 1, 9), Options{}, ErrNoNode.Error()},
		{wants("plain", 2, 1), Options{}, "the job needs 2 nodes, and only 1 can run it: see partition"},
	} {
		_, err := (&Advisor{Advisor: known(t), Options: test.options}).Advise(c, test.request)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want: %s", test.request, err, test.want)
		}
	}
	_, err := (&Advisor{Advisor: known(t)}).Advise(c, Request{Application: "plain", Nodes: 1, CPUsPerNode: 1, Partitions: []string{"none"}})
	if !errors.Is(err, ErrNoNode) {
		t.Errorf("no such partition: %v", err)
	}
}

func TestAdviseWarnings(t *testing.T) {
	c := cluster(2, runs("quiet", 1, "n1"))
	c.Nodes[1].AllocatedCPUs = 4
	c.Nodes[0].Features = nil
	c.Warnings = []string{"squeue: odd"}
	site, err := ParseSite([]byte("apiVersion: bandmate.dev/v1alpha1\nkind: SlurmSite\nnodes:\n- {nodes: n7, domain: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	j := Job{ID: 3, State: Pending, CPUs: 1, Comment: "bandmate=plain bandmate-limit=none", Features: "[a|b]"}
	r := site.Request(&j)
	advice, err := (&Advisor{Site: site, Advisor: known(t)}).Advise(c, r)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(advice.Warnings, "\n")
	for _, want := range []string{
		"squeue: odd", "CPUs on n2 are held by jobs that cannot be seen", "the cluster has no node n7",
		"the machine has no name", `bandmate-limit="none"`, `the constraint "[a|b]" is left to Slurm`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning of %q in:\n%s", want, all)
		}
	}
}

// TestAdviseNeverExcludesEverything draws clusters and jobs: enough nodes that can
// run the job stay open, what the user excluded stays excluded, and nothing is
// chosen that is excluded.
func TestAdviseNeverExcludesEverything(t *testing.T) {
	profiles := known(t)
	applications := []string{"quiet", "reader", "writer", "torrent", "tender", "plain", "ghost"}
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 7).Draw(t, "nodes")
		c := cluster(nodes)
		for i := range rapid.IntRange(0, 10).Draw(t, "jobs") {
			j := runs(rapid.SampledFrom(applications).Draw(t, "application"), rapid.IntRange(1, 8).Draw(t, "CPUs"), c.Nodes[rapid.IntRange(0, nodes-1).Draw(t, "node")].Name)
			j.ID = int64(i + 1)
			c.Jobs = append(c.Jobs, j)
		}
		r := Request{
			Application: rapid.SampledFrom(applications).Draw(t, "newcomer"), Nodes: rapid.IntRange(1, nodes).Draw(t, "wanted"),
			CPUsPerNode: float64(rapid.IntRange(1, 8).Draw(t, "CPUs each")), Copies: rapid.IntRange(0, 5).Draw(t, "copies"),
		}
		if rapid.Bool().Draw(t, "excludes") && r.Nodes < nodes {
			r.Excluded = []string{c.Nodes[0].Name}
		}
		o := Options{
			Limit:   units.Slowdown(rapid.SampledFrom([]float64{0, 1, 1.05, 1.3}).Draw(t, "limit")),
			Sockets: rapid.Bool().Draw(t, "sockets"), Score: score.Options{Unknown: rapid.SampledFrom([]score.Policy{score.Ignore, score.Avoid}).Draw(t, "policy")},
		}
		a, err := (&Advisor{Advisor: profiles, Options: o}).Advise(c, r)
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, candidate := range a.Candidates {
			if !slices.Contains(a.Exclude, candidate.Node) {
				open++
			}
		}
		if open < min(r.Nodes, len(a.Candidates)) {
			t.Fatalf("%d nodes open, %d wanted", open, r.Nodes)
		}
		for _, node := range a.Chosen {
			if slices.Contains(a.Exclude, node) {
				t.Fatalf("%s is chosen and excluded", node)
			}
		}
		for _, node := range r.Excluded {
			if !slices.Contains(a.Exclude, node) {
				t.Fatalf("%s is not excluded any more", node)
			}
		}
	})
}

// Nodes of a machine without profiles are no measure for others, and keep no limit, unless
// nobody is there.
func TestAdviseUnknownMachine(t *testing.T) {
	c := cluster(3, runs("writer", 4, "n1"), runs("writer", 4, "n2"))
	c.Nodes[1].Features = []string{MachineFeature + "=newest"}
	c.Nodes[2].State = "DOWN"
	a := advise(t, c, wants("tender", 1, 4), Options{})
	if len(a.Exclude) > 0 {
		t.Errorf("excluded are %v in favor of a node of which nothing is known", a.Exclude)
	}
	a = advise(t, c, wants("tender", 1, 4), Options{Limit: 9})
	if !slices.Equal(a.Chosen, []string{"n1"}) || a.ExcludeList() != "n2" || a.DemandedList() != "n2" || a.LimitExceeded {
		t.Errorf("with a limit: chosen %v, excluded %v, demanded %q", a.Chosen, a.Exclude, a.DemandedList())
	}
	if a = advise(t, c, wants("tender", 1, 4), Options{Limit: 1.0001}); !a.LimitExceeded {
		t.Error("a node of which nothing is known keeps the limit")
	}
	c.Nodes[2].State = "IDLE"
	if a = advise(t, c, wants("tender", 1, 4), Options{}); a.ExcludeList() != "n1" {
		t.Errorf("excluded are %v, want n1: n3 is known to be better", a.Exclude)
	}
	c.Nodes[2].State = "DOWN"
	c.Jobs = c.Jobs[:1]
	if a = advise(t, c, wants("tender", 1, 4), Options{Limit: 1.0001}); !slices.Equal(a.Chosen, []string{"n2"}) || a.LimitExceeded {
		t.Errorf("chosen is %v, want n2, where nobody is", a.Chosen)
	}
	array := wants("tender", 1, 4)
	array.Copies = 2
	if a = advise(t, c, array, Options{Limit: 1.0001}); !a.LimitExceeded {
		t.Errorf("two tasks that nothing is known of together keep the limit on %v", a.Chosen)
	}
}
