package slurm

import (
	"errors"
	"math"
	"path"
	"slices"
	"strings"

	"bandmate.dev/bandmate/slurm/hostlist"
	"bandmate.dev/bandmate/slurm/sbatch"
)

// RequestOf returns what a component of a submission asks for; user is who
// submits it. It fails on host lists that Slurm would refuse.
func (s *Site) RequestOf(c *sbatch.Component, user string) (Request, error) {
	j := Job{Name: c.Value("job-name"), Comment: c.Value("comment"), User: user}
	if j.Name == "" {
		j.Name = path.Base(c.Program)
	}
	if c.Has("wrap") && !c.Has("job-name") {
		j.Name = "wrap"
	}
	r := Request{
		Nodes: c.Number("nodes", 1), Features: c.Value("constraint"),
		Exclusive:     c.Has("exclusive") && !slices.Contains([]string{"user", "mcs", "no"}, c.Value("exclusive")),
		ExclusiveUser: c.Value("exclusive") == "user",
		Oversubscribe: c.Has("oversubscribe") || c.Has("share"),
		Limit:         s.Limit(&j), Copies: 1,
	}
	r.Application, r.Source = s.application(&j)
	tasks := c.Number("ntasks", r.Nodes*c.Number("ntasks-per-node", 1))
	if !c.Has("nodes") && c.Has("ntasks-per-node") {
		perNode := c.Number("ntasks-per-node", 1)
		r.Nodes = (tasks + perNode - 1) / perNode
	}
	perTask := c.Number("cpus-per-task", 1)
	r.CPUsPerNode = float64(tasks*perTask) / float64(r.Nodes)
	if c.Has("overcommit") {
		r.CPUsPerNode = float64(perTask) // however many tasks there are
	}
	if c.Splits(tasks, r.Nodes) {
		r.CPUsPerTask = float64(perTask)
	}
	r.ThreadsPerCore = c.Number("threads-per-core", 0)
	if c.Value("hint") == "nomultithread" {
		r.ThreadsPerCore = 1
	}
	if partition := c.Value("partition"); partition != "" {
		r.Partitions = strings.Split(partition, ",")
	}
	if c.Has("array") {
		r.Copies = pendingTasks(c.Value("array"))
	}
	r.User, r.Reservation, r.TimeLimit = user, c.Value("reservation"), minutes(c.Value("time"))
	r.Gres = gresPerNode(c, &r, tasks)
	r.Memory = memoryPerNode(c, &r)
	var err, err2 error
	r.Excluded, err = hostlist.Expand(c.Value("exclude"))
	r.Required, err2 = hostlist.Expand(c.Value("nodelist"))
	return r, errors.Join(err, err2)
}

// memoryPerNode returns what a component asks for on each node, in MiB; 0 when it asks for
// none.
func memoryPerNode(c *sbatch.Component, r *Request) int {
	switch {
	case c.Has("mem"):
		return memoryOf(c.Value("mem"))
	case c.Has("mem-per-cpu"):
		return int(math.Ceil(float64(mebibytes(c.Value("mem-per-cpu"))) * r.CPUsPerNode))
	case c.Has("mem-per-gpu"):
		return mebibytes(c.Value("mem-per-gpu")) * r.Gres["gpu"]
	}
	return 0
}

// gresPerNode returns the generic resources that a component asks for on each node.
func gresPerNode(c *sbatch.Component, r *Request, tasks int) map[string]int {
	gpus := func(name string) string {
		if v := c.Value(name); v != "" {
			return "gpu:" + strings.ReplaceAll(v, ",", ",gpu:")
		}
		return ""
	}
	join := func(lists ...string) string {
		return strings.Join(slices.DeleteFunc(lists, func(s string) bool { return s == "" || s == "NONE" }), ",")
	}
	perNode := perNodeGres{nodes: r.Nodes, tasks: (tasks + r.Nodes - 1) / r.Nodes}
	return perNode.sum(join(c.Value("gres"), gpus("gpus-per-node")), gpus("gpus"), join(c.Value("tres-per-task"), gpus("gpus-per-task")), gpus("gpus-per-socket"))
}
