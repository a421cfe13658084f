package watch

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// Table is what job_submit.lua reads: the nodes of every partition that new jobs
// should stay off. manifests/slurm/job_submit.lua describes the format.
type Table struct {
	Written time.Time
	// MaxAge is how long the table is valid.
	MaxAge time.Duration
	// LeastMemory is what every node has, in MiB.
	LeastMemory int
	// LeastCPUs is what every node has that remains for some line.
	LeastCPUs int
	// Names are the applications of jobs by the names that the site file gives.
	Names map[string]string
	Lines []TableLine
}

// TableLine keeps an application off nodes of a partition.
type TableLine struct {
	Application, Partition string
	// Kept is how many nodes that are up remain in the partition.
	Kept int
	// Excluded is a host list.
	Excluded string

	leastCPUs int // of the nodes kept
}

// Table returns the table for the cluster after the decisions.
func (p Planner) Table(c *slurm.Cluster, decisions []Decision, now time.Time, maxAge time.Duration) (Table, error) {
	t := Table{Written: now, MaxAge: maxAge, Names: p.Site.Names()}
	for i := range c.Nodes {
		if m := c.Nodes[i].Memory; i == 0 || m < t.LeastMemory {
			t.LeastMemory = m
		}
	}
	round, err := p.open(c)
	if err != nil {
		return t, err
	}
	for _, d := range decisions {
		for _, name := range d.Expected {
			round.expected.place(d.Job, c.Node(name))
		}
	}
	for _, application := range p.Advisor.Applications() {
		for _, partition := range c.Partitions {
			line, err := round.line(application, partition)
			if err != nil {
				return t, fmt.Errorf("table for %s in %s: %w", application, partition.Name, err)
			}
			if line.Excluded != "" && line.Kept > 0 && words(line.Application, line.Partition, line.Excluded) {
				if len(t.Lines) == 0 || line.leastCPUs < t.LeastCPUs {
					t.LeastCPUs = line.leastCPUs
				}
				t.Lines = append(t.Lines, line)
			}
		}
	}
	return t, nil
}

// line asks about a job of one CPU with nothing but an application: slowdowns do not
// depend on its CPUs.
func (r *round) line(application string, partition slurm.Partition) (TableLine, error) {
	line := TableLine{Application: application, Partition: partition.Name}
	j := &slurm.Job{Partitions: []string{partition.Name}, CPUs: 1, NodeCount: 1}
	r.expected.SetLabel(j, slurm.Label{Application: application, Limit: r.planner.Limit})
	request := slurm.Request{Job: j, Application: application, Nodes: 1, CPUsPerNode: 1, Partitions: j.Partitions}
	w := &waiting{job: j, application: application, request: request, nodes: request.Matching(r.cluster)}
	w.nodes = slices.DeleteFunc(w.nodes, func(n *slurm.Node) bool { return !r.expected.knows(j, n) })
	options, err := r.expected.options(w)
	if err != nil {
		return line, err
	}
	var closed []string
	for _, o := range options {
		switch {
		case !o.good():
			closed = append(closed, o.node.Name)
		case r.now.CanStart(&request, o.node):
			if line.Kept == 0 || o.node.CPUs < line.leastCPUs {
				line.leastCPUs = o.node.CPUs
			}
			line.Kept++
		}
	}
	line.Excluded = hostlist.Compress(closed)
	return line, nil
}

// words reports whether each is one word of the table.
func words(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool {
		return s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	})
}

// Encode returns the text of the table.
func (t Table) Encode() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "bandmate-advice 1\nwritten %d\nmax-age %d\n", t.Written.Unix(), int64(t.MaxAge.Seconds()))
	if t.LeastMemory > 0 {
		fmt.Fprintf(&b, "least-memory %d\n", t.LeastMemory)
	}
	if t.LeastCPUs > 0 {
		fmt.Fprintf(&b, "least-cpus %d\n", t.LeastCPUs)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Names)) {
		if words(name, t.Names[name]) {
			fmt.Fprintf(&b, "job-name %s %s\n", name, t.Names[name])
		}
	}
	for _, l := range t.Lines {
		fmt.Fprintf(&b, "exclude %s %s %d %s\n", l.Application, l.Partition, l.Kept, l.Excluded)
	}
	b.WriteString("end\n")
	return []byte(b.String())
}

// write replaces the file in one step.
func (t Table) write(file string) error {
	if err := renameio.WriteFile(file, t.Encode(), 0o644); err != nil {
		return fmt.Errorf("table for job_submit.lua: %w: make its folder, or name another file with --table", err)
	}
	return nil
}

// removeTable removes the table: no advice is better than old advice.
func removeTable(file string) error {
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("table for job_submit.lua: %w", err)
	}
	return nil
}
