package slurm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Reader reads a cluster. Runner must be set, or both files.
type Reader struct {
	Runner Runner
	// JobsFile and NodesFile, where set, are read instead of calling squeue and
	// sinfo: what `squeue --json` and `sinfo --json` printed some time.
	JobsFile, NodesFile string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Read asks squeue once and sinfo once and returns what they saw of this cluster,
// also where the clusters of a federation are shown together. It fails when
// either cannot be run or understood; what is odd but does not matter becomes a
// warning of the Cluster.
//
// Jobs are read as JSON, which says which cores a job has; where a squeue cannot
// write it, it is called a second time for text, and scontrol for the cores. Nodes are read as text, in which
// every version also says how a partition shares CPUs; the JSON of 22.05 does not.
// What is allocated beside CPUs, reservations, some settings of partitions, and what jobs
// consume at all is known to scontrol; where that fails, a warning says so.
func (r Reader) Read(ctx context.Context) (*Cluster, error) {
	now := r.Now
	if now == nil {
		now = time.Now
	}
	c := &Cluster{Time: now()}
	q, err := r.jobs(ctx)
	if err != nil {
		return nil, err
	}
	v, err := r.nodes(ctx)
	if err != nil {
		return nil, err
	}
	if r.NodesFile == "" {
		if err := r.details(ctx, c, &q, v); err != nil {
			return nil, err
		}
	}
	c.Name, c.Version = cmp.Or(q.cluster, v.cluster), cmp.Or(q.version, v.version)
	c.Jobs, c.Nodes, c.Partitions = q.jobs, v.sorted(), v.partitions
	slices.SortFunc(c.Partitions, func(a, b Partition) int { return cmp.Compare(a.Name, b.Name) })
	c.Warnings = append(c.Warnings, append(q.warnings, v.warnings...)...)
	return c, nil
}

func (r Reader) jobs(ctx context.Context) (queue, error) {
	if r.JobsFile != "" {
		data, err := os.ReadFile(r.JobsFile)
		if err != nil {
			return queue{}, fmt.Errorf("jobs: %w", err)
		}
		return squeueJSON(data)
	}
	data, err := r.Runner.Run(ctx, "squeue", "--local", "--all", "--json")
	if failed := (*CommandError)(nil); errors.As(err, &failed) && !errors.Is(err, ErrUnreachable) && jsonRefused(failed) {
		f := newFields(squeueColumns())
		if data, err = r.Runner.Run(ctx, "squeue", "--local", "--all", "--noheader", "-o", f.format()); err != nil {
			return queue{}, err
		}
		return squeueText(f, data)
	}
	if err != nil {
		return queue{}, err
	}
	return squeueJSON(data)
}

func (r Reader) nodes(ctx context.Context) (*inventory, error) {
	if r.NodesFile != "" {
		data, err := os.ReadFile(r.NodesFile)
		if err != nil {
			return nil, fmt.Errorf("nodes: %w", err)
		}
		return sinfoJSON(bytes.TrimSpace(data))
	}
	f := newFields(sinfoColumns())
	data, err := r.Runner.Run(ctx, "sinfo", "--local", "--all", "--Node", "--noheader", "-o", f.format())
	if err != nil {
		return nil, err
	}
	return sinfoText(f, data)
}

// details reads what only scontrol says, also of hidden partitions (-a). It fails when
// slurmctld does not answer.
func (r Reader) details(ctx context.Context, c *Cluster, q *queue, v *inventory) error {
	type question struct {
		what      string
		arguments []string
		take      func([]byte)
	}
	questions := []question{
		{"nodes", []string{"--local", "-a", "-d", "-o", "show", "nodes"}, func(output []byte) { scontrolNodes(output, v.nodes) }},
		{"partitions", []string{"--local", "-a", "-o", "show", "partitions"}, func(output []byte) { scontrolPartitions(output, v.partitions) }},
		{"reservations", []string{"--local", "-a", "-o", "show", "reservations"}, func(output []byte) {
			c.Reservations = scontrolReservations(output, v.nodes)
			v.reserve(c.Reservations, c.Time)
		}},
		{"the configuration", []string{"show", "config"}, func(output []byte) {
			c.Consumable = scontrolConfig(output)
			for _, n := range v.nodes {
				n.WholeSockets = c.Consumable.Sockets
			}
		}},
	}
	if q.coreless {
		questions = append(questions, question{"the cores of jobs", []string{"--local", "-a", "-d", "-o", "show", "jobs"}, func(output []byte) {
			scontrolJobs(output, q.jobs, v.nodes)
		}})
	}
	for _, question := range questions {
		output, err := r.Runner.Run(ctx, "scontrol", question.arguments...)
		switch {
		case err == nil:
			question.take(output)
		case ctx.Err() != nil, errors.Is(err, ErrTimeout), errors.Is(err, ErrUnreachable):
			return err
		default:
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s of Slurm cannot be shown, and what they say does not count: %v", question.what, err))
		}
	}
	return nil
}
