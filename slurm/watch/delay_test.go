package watch

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/slurm"
)

// selector is a small model of Slurm's select/cons_tres with a scheduler that starts
// every job that it can, in the order of the queue. It knows what scontrol says, and
// more: nodes that Bandmate takes for free, and licenses that are out.
type selector struct {
	*fake

	// barred are nodes that a job cannot use for a reason that Slurm does not tell.
	barred map[int64][]string
	// unlicensed jobs wait, wherever there is room.
	unlicensed map[int64]bool
}

// could returns the nodes on which a job can start now if it stays off some.
func (s *selector) could(j *slurm.Job, excluded []string) []string {
	var names []string
	for i := range s.cluster.Nodes {
		n := &s.cluster.Nodes[i]
		cpus, memory, gpus := 0, 0, 0
		for k := range s.cluster.Jobs {
			if r := &s.cluster.Jobs[k]; r.State == slurm.Running && slices.Contains(r.Nodes, n.Name) {
				cpus, memory, gpus = cpus+r.CPUs/len(r.Nodes), memory+r.Memory, gpus+r.Gres["gpu"]
			}
		}
		n.AllocatedCPUs, n.AllocatedMemory, n.GresUsed = cpus, memory, map[string]int{"gpu": gpus}
		up := n.State == "IDLE" && len(n.Flags) == 0 || slices.Equal(n.Flags, []string{"RESERVED"}) && j.Reservation == n.Reservation
		if up && cpus+j.CPUs/j.NodeCount <= n.CPUs && memory+j.Memory <= n.Memory && gpus+j.Gres["gpu"] <= n.Gres["gpu"] &&
			n.Offers(j.Features) && !slices.Contains(excluded, n.Name) && !slices.Contains(s.barred[j.ID], n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// schedule starts what can start.
func (s *selector) schedule() {
	for i := range s.cluster.Jobs {
		j := &s.cluster.Jobs[i]
		if !j.Pending() {
			continue
		}
		free := s.could(j, j.Excluded)
		switch {
		case s.unlicensed[j.ID]:
			j.Reason = "Licenses"
		case len(free) >= j.NodeCount:
			start(j, free[:j.NodeCount]...)
		default:
			j.Reason = "Resources"
		}
	}
}

// within returns which of the nodes keep everybody to the limit, by the score alone.
func (s *selector) within(tb testing.TB, p Planner, j *slurm.Job, names []string) []string {
	tb.Helper()
	scorer, err := score.New(p.Score)
	if err != nil {
		tb.Fatal(err)
	}
	job := func(j *slurm.Job) score.Job {
		limit := p.Site.Limit(j)
		if limit == 0 {
			limit = p.Limit
		}
		return score.Job{
			Name: j.String(), CPUs: float64(j.CPUs) / float64(j.NodeCount), Limit: limit,
			Application: p.Advisor.Lookup(p.Site.Application(j), "blade").Application,
		}
	}
	var good []string
	for _, name := range names {
		d := score.Domain{Name: name}
		for k := range s.cluster.Jobs {
			if r := &s.cluster.Jobs[k]; r.State == slurm.Running && slices.Contains(r.Nodes, name) {
				d.Residents = append(d.Residents, job(r))
			}
		}
		result, err := scorer.Score(job(j), d)
		if err != nil {
			tb.Fatal(err)
		}
		if result.OverLimit == 0 {
			good = append(good, name)
		}
	}
	return good
}

// randomSelector draws a cluster with memory, GPUs, features and reservations.
func randomSelector(r *rand.Rand) *selector {
	s := &selector{fake: newFake(1 + r.IntN(4)), barred: map[int64][]string{}, unlicensed: map[int64]bool{}}
	s.cluster.Consumable.Memory = true
	for i := range s.cluster.Nodes {
		n := &s.cluster.Nodes[i]
		n.Memory, n.Gres = 1000, map[string]int{}
		if r.IntN(3) == 0 {
			n.Gres["gpu"] = 1 + r.IntN(2)
		}
		if r.IntN(3) == 0 {
			n.Features = append(n.Features, "fast")
		}
		switch r.IntN(10) {
		case 0:
			n.Flags, n.Reservation = []string{"RESERVED"}, "maint"
		case 1:
			n.State = []string{"INVAL", "PLANNED", "DOWN", "QUANTUM"}[r.IntN(4)]
		}
	}
	return s
}

// arrive submits a random job.
func (s *selector) arrive(r *rand.Rand, id int64) {
	s.submit(id, []string{"heavy", "tender", "light", "stranger"}[r.IntN(4)], func(j *slurm.Job) {
		j.NodeCount = 1 + r.IntN(len(s.cluster.Nodes)+1)/2
		j.CPUs = j.NodeCount * []int{1, 2, 4, 8}[r.IntN(4)]
		j.Memory = []int{10, 100, 600, 1000}[r.IntN(4)]
		if r.IntN(4) == 0 {
			j.Gres = map[string]int{"gpu": 1}
		}
		if r.IntN(5) == 0 {
			j.Features = []string{"fast", "fast|slow", "(fast|slow)", "slow"}[r.IntN(4)]
		}
		if r.IntN(8) == 0 {
			j.Reservation = "maint"
		}
		if r.IntN(6) == 0 {
			j.Excluded = []string{s.cluster.Nodes[r.IntN(len(s.cluster.Nodes))].Name}
		}
		if r.IntN(6) == 0 {
			s.barred[id] = []string{s.cluster.Nodes[r.IntN(len(s.cluster.Nodes))].Name}
		}
		s.unlicensed[id] = r.IntN(10) == 0
	})
}

// round is a round of a watch without its files.
func (s *selector) round(tb testing.TB, w *Watcher, p Planner) {
	tb.Helper()
	w.state.Jobs, _ = w.state.Jobs.Reconcile(&s.cluster, p.Site)
	decisions, err := p.Plan(&s.cluster, w.state.Jobs)
	if err != nil {
		tb.Fatal(err)
	}
	w.remember(decisions)
	now, _ := due(decisions, w.state.Jobs, len(decisions))
	for _, d := range now {
		e := w.state.Jobs[d.Job.ID]
		e.Set = d.Excluded
		w.state.Jobs[d.Job.ID] = e
		d.Job.Excluded = expand(d.Excluded)
	}
}

// TestNobodyIsDelayed plays random queues. When Slurm has scheduled, every job that
// still waits, and could start without what Bandmate excludes, waits for one round at
// most, unless it could start only where somebody would exceed a limit.
func TestNobodyIsDelayed(t *testing.T) {
	queues, rounds := 2000, 8
	if testing.Short() {
		queues = 300
	}
	delayed, demanded, set := 0, 0, 0
	for seed := range queues {
		r := rand.New(rand.NewPCG(uint64(seed), 16)) //nolint:gosec // tests repeat
		p := planner(t)
		switch r.IntN(4) {
		case 0:
			p.Limit, p.Margin = 0, 0.05
		case 1:
			p.Margin = 0.05
		case 2:
			p.Score.Unknown = score.Avoid
		}
		s := randomSelector(r)
		w := &Watcher{Options: Options{Mode: Enforce}, journal: journal{out: io.Discard}, state: state{Jobs: Memory{}}}
		late := map[int64]int{}
		id := int64(1)
		for round := range rounds {
			for range r.IntN(4) {
				s.arrive(r, id)
				id++
			}
			s.could(&slurm.Job{NodeCount: 1}, nil) // counts what is allocated
			s.round(t, w, p)
			s.schedule()
			for i := range s.cluster.Jobs {
				j := &s.cluster.Jobs[i]
				e := w.state.Jobs[j.ID]
				if e.ours() {
					set++
				}
				free := s.could(j, expand(e.Original))
				if !j.Pending() || s.unlicensed[j.ID] || !e.ours() || len(free) < j.NodeCount {
					late[j.ID] = 0
					continue
				}
				if len(s.within(t, p, j, free)) < j.NodeCount {
					demanded++
					late[j.ID] = 0
					continue
				}
				delayed++
				if late[j.ID]++; late[j.ID] > 1 {
					t.Fatalf("queue %d, round %d: job %d excludes %s and waits, %s, for the second round, and could start on %v; its state is %+v\n%s",
						seed, round, j.ID, s.excluded(j.ID), j.Reason, s.within(t, p, j, free), e, s)
				}
			}
			for i := range s.cluster.Jobs {
				j := &s.cluster.Jobs[i]
				if j.State == slurm.Running && r.IntN(3) == 0 {
					j.State, j.Nodes = "COMPLETED", nil
				}
			}
			s.cluster.Jobs = slices.DeleteFunc(s.cluster.Jobs, func(j slurm.Job) bool { return j.State == "COMPLETED" })
		}
	}
	t.Logf("%d queues: exclusions stood in %d cases; %d jobs waited because of a limit, %d for one round without", queues, set, demanded, delayed)
	if set < queues || demanded == 0 {
		t.Errorf("exclusions stood in %d cases, limits made %d wait: the queues test nothing", set, demanded)
	}
}

// TestAdviceDelaysNobody draws clusters and asks for advice: a job that can start now
// can do so beside what is to be excluded, unless only nodes are left on which somebody
// would exceed a limit.
func TestAdviceDelaysNobody(t *testing.T) {
	clusters := 3000
	if testing.Short() {
		clusters = 300
	}
	starts, excludes := 0, 0
	for seed := range clusters {
		r := rand.New(rand.NewPCG(uint64(seed), 61)) //nolint:gosec // tests repeat
		p := planner(t)
		if r.IntN(2) == 0 {
			p.Limit = 0
		}
		s := randomSelector(r)
		for id := range int64(r.IntN(8)) {
			s.arrive(r, id+1)
		}
		s.schedule()
		s.arrive(r, 100)
		j := s.job(100)
		s.barred = nil
		free := s.could(j, j.Excluded)
		request := p.Site.Request(j)
		request.Job = nil
		advice, err := (&slurm.Advisor{Advisor: p.Advisor, Options: slurm.Options{Score: p.Score, Limit: p.Limit}}).Advise(&s.cluster, request)
		if err != nil {
			if len(free) >= j.NodeCount {
				t.Fatalf("cluster %d: %v, and %v can start on %v\n%s", seed, err, j, free, s)
			}
			continue
		}
		if len(advice.Exclude) > len(j.Excluded) {
			excludes++
		}
		if len(free) < j.NodeCount || (p.Limit != 0 && len(s.within(t, p, j, free)) < j.NodeCount) {
			continue
		}
		starts++
		if open := s.could(j, advice.Exclude); len(open) < j.NodeCount {
			t.Fatalf("cluster %d: job %v can start on %v, and with %v excluded on %v\n%s", seed, j, free, advice.Exclude, open, s)
		}
	}
	t.Logf("%d clusters: %d jobs can start, for %d something is excluded", clusters, starts, excludes)
	if starts < clusters/10 || excludes < clusters/50 {
		t.Errorf("%d jobs can start, for %d something is excluded: the clusters test nothing", starts, excludes)
	}
}

// String is the cluster for a failure's message.
func (s *selector) String() string {
	var text string
	for _, n := range s.cluster.Nodes {
		text += fmt.Sprintf("%s %s %v %v, %d MiB of %d, GPUs %v, %v\n", n.Name, n.State, n.Flags, n.Features[1:], n.AllocatedMemory, n.Memory, n.Gres, n.Reservation)
	}
	for _, j := range s.cluster.Jobs {
		text += fmt.Sprintf("job %d %s %s %s on %v: %d nodes, %d CPUs, %d MiB, %v %s %s, excludes %v, barred from %v\n",
			j.ID, j.State, j.Reason, j.Comment, j.Nodes, j.NodeCount, j.CPUs, j.Memory, j.Gres, j.Features, j.Reservation, j.Excluded, s.barred[j.ID])
	}
	return text
}
