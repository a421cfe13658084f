package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// profile makes an application that reads gbps and keeps all but loss of its
// speed beside 40 GB/s.
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

// known is an advisor that knows heavy, which causes much traffic and suffers from it;
// tender, which causes little and suffers; and light, which does neither.
func known(tb testing.TB) *advisor.Advisor {
	tb.Helper()
	r := advisorOfThree()
	for _, name := range r.Applications() {
		if e := r.Lookup(name, "blade"); e.Application == nil {
			tb.Fatalf("%s: %s: %s", name, e.State, e.Reason)
		}
	}
	return r
}

// advisorOfThree fits the model of their memory once.
var advisorOfThree = sync.OnceValue(func() *advisor.Advisor {
	return advisor.New([]*v1alpha1.ApplicationProfile{
		profile("heavy", 30, 0.5), profile("tender", 1, 0.5), profile("light", 0.1, 0.001),
	}, nil)
})

// fake is a cluster that scontrol can change.
type fake struct {
	cluster slurm.Cluster
	// calls are the arguments of every scontrol.
	calls [][]string
	// refuse may fail a call: before anything is changed, or, when after, after.
	refuse func(arguments []string) (err error, after bool)
	// away fails every reading.
	away error
}

// newFake returns nodes n01, n02, … of eight CPUs in the partition pack.
func newFake(nodes int) *fake {
	f := &fake{cluster: slurm.Cluster{Name: "test", Partitions: []slurm.Partition{{Name: "pack", Default: true}}}}
	for i := range nodes {
		f.cluster.Nodes = append(f.cluster.Nodes, slurm.Node{
			Name: fmt.Sprintf("n%02d", i+1), CPUs: 8, Sockets: 1, State: "IDLE",
			Features: []string{"bandmate-machine=blade"}, Partitions: []string{"pack"},
		})
	}
	return f
}

// submit adds a waiting job of one CPU on one node; options change it.
func (f *fake) submit(id int64, application string, options ...func(*slurm.Job)) *slurm.Job {
	j := slurm.Job{ID: id, Name: "job", Comment: "bandmate=" + application, Partitions: []string{"pack"}, State: slurm.Pending, Reason: "Priority", NodeCount: 1, CPUs: 1}
	for _, o := range options {
		o(&j)
	}
	f.cluster.Jobs = append(f.cluster.Jobs, j)
	return f.job(id)
}

// run adds a job that runs on nodes.
func (f *fake) run(id int64, application string, nodes ...string) *slurm.Job {
	return f.submit(id, application, func(j *slurm.Job) { start(j, nodes...) })
}

func start(j *slurm.Job, nodes ...string) {
	j.State, j.Reason, j.Nodes, j.NodeCount = slurm.Running, "", nodes, len(nodes)
}

func excluding(list string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.Excluded = expand(list) }
}

func (f *fake) job(id int64) *slurm.Job {
	for i := range f.cluster.Jobs {
		if f.cluster.Jobs[i].ID == id {
			return &f.cluster.Jobs[i]
		}
	}
	return nil
}

// end takes a job out of the queue.
func (f *fake) end(id int64) {
	f.cluster.Jobs = slices.DeleteFunc(f.cluster.Jobs, func(j slurm.Job) bool { return j.ID == id })
}

func (f *fake) excluded(id int64) string { return hostlist.Compress(f.job(id).Excluded) }

// read is Watcher.Read.
func (f *fake) read(context.Context) (*slurm.Cluster, error) {
	if f.away != nil {
		return nil, f.away
	}
	c := f.cluster
	c.Jobs = slices.Clone(c.Jobs)
	return &c, nil
}

// Run implements slurm.Runner: scontrol update.
func (f *fake) Run(ctx context.Context, name string, arguments ...string) ([]byte, error) {
	if name != "scontrol" || len(arguments) < 3 || arguments[0] != "update" {
		return nil, fmt.Errorf("unexpected command %s %q", name, arguments)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f.calls = append(f.calls, arguments)
	var refusal error
	if f.refuse != nil {
		err, after := f.refuse(arguments)
		if err != nil && !after {
			return nil, err
		}
		refusal = err
	}
	for id := range strings.SplitSeq(strings.TrimPrefix(arguments[1], "JobId="), ",") {
		if err := f.update(id, arguments[2:]); err != nil {
			refusal = err
		}
	}
	return nil, refusal
}

func (f *fake) update(id string, settings []string) error {
	for i := range f.cluster.Jobs {
		j := &f.cluster.Jobs[i]
		if address(j) != id {
			continue
		}
		if !j.Pending() {
			return &slurm.CommandError{Name: "scontrol", ExitCode: 1, Stderr: "Job is no longer pending execution for job " + id}
		}
		for _, s := range settings {
			key, value, _ := strings.Cut(s, "=")
			switch key {
			case "ExcNodeList":
				j.Excluded = expand(value)
			case "AdminComment":
				j.AdminComment = value
			default:
				return fmt.Errorf("unexpected setting %q", s)
			}
		}
		return nil
	}
	return &slurm.CommandError{Name: "scontrol", ExitCode: 1, Stderr: "Invalid job id specified for job " + id}
}

func expand(list string) []string {
	names, err := hostlist.Expand(list)
	if err != nil {
		panic(err)
	}
	return names
}
