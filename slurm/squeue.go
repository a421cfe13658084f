package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// queue is what one output of squeue says.
type queue struct {
	cluster, version string
	jobs             []Job
	warnings         []string
	// coreless is true where the form of the output says nothing about cores.
	coreless bool
	// expanded are the node lists read so far: many jobs have the same.
	expanded map[string][]string
}

// jobRecord is a job in the JSON of squeue: openapi v0.0.38 (22.05), and
// data_parser v0.0.39 (23.02) to v0.0.43 (25.05).
type jobRecord struct {
	JobID           number `json:"job_id"`
	ArrayJobID      number `json:"array_job_id"`
	ArrayTaskID     number `json:"array_task_id"`
	ArrayTaskString text   `json:"array_task_string"`
	HetJobID        number `json:"het_job_id"`
	HetJobOffset    number `json:"het_job_offset"`
	Name            text   `json:"name"`
	Comment         text   `json:"comment"`
	AdminComment    text   `json:"admin_comment"`
	UserName        text   `json:"user_name"`
	UserID          text   `json:"user_id"`
	Account         text   `json:"account"`
	Cluster         text   `json:"cluster"`
	Partition       text   `json:"partition"`
	JobState        words  `json:"job_state"`
	StateReason     text   `json:"state_reason"`
	Hold            words  `json:"hold"`
	Dependency      text   `json:"dependency"`
	NodeCount       number `json:"node_count"`
	MaxNodes        number `json:"max_nodes"`
	CPUs            number `json:"cpus"`
	Tasks           number `json:"tasks"`
	CPUsPerTask     number `json:"cpus_per_task"`
	ThreadsPerCore  number `json:"threads_per_core"`
	Features        text   `json:"features"`
	Shared          words  `json:"shared"`
	Exclusive       words  `json:"exclusive"`
	RequiredNodes   text   `json:"required_nodes"`
	ExcludedNodes   text   `json:"excluded_nodes"`
	Nodes           text   `json:"nodes"`
	TimeLimit       number `json:"time_limit"`
	SubmitTime      number `json:"submit_time"`
	StartTime       number `json:"start_time"`
	EndTime         number `json:"end_time"`

	MemoryPerNode number `json:"memory_per_node"`
	MemoryPerCPU  number `json:"memory_per_cpu"`
	Requested     text   `json:"tres_req_str"`
	PerJob        text   `json:"tres_per_job"`
	PerNode       text   `json:"tres_per_node"`
	PerSocket     text   `json:"tres_per_socket"`
	PerTask       text   `json:"tres_per_task"`
	Reservation   text   `json:"resv_name"`

	Resources resourcesRecord `json:"job_resources"`
}

// squeueJSON reads the output of squeue --json.
func squeueJSON(data []byte) (queue, error) {
	var answer struct {
		envelope

		Jobs *[]jobRecord `json:"jobs"`
	}
	if err := decode("squeue", data, &answer); err != nil {
		return queue{}, err
	}
	if answer.Jobs == nil {
		reason := cmp.Or(answer.firstError(), "the output has no list of jobs")
		return queue{}, fmt.Errorf("squeue: %s: is it the output of squeue --json?", reason)
	}
	// Slurm 22.05 writes an empty list, and ends with 0, where slurmctld did not answer.
	if len(*answer.Jobs) == 0 && len(answer.Errors) > 0 {
		return queue{}, answer.failure("squeue")
	}
	q := queue{
		version: string(answer.Meta.Slurm.Release),
		cluster: string(answer.Meta.Slurm.Cluster),
		jobs:    make([]Job, 0, len(*answer.Jobs)),
	}
	for _, e := range answer.Errors {
		q.warnings = append(q.warnings, "squeue: "+e.value.String())
	}
	for i := range *answer.Jobs {
		record := &(*answer.Jobs)[i]
		q.cluster = cmp.Or(q.cluster, string(record.Cluster))
		q.add(record.job(&q))
	}
	return q, nil
}

// add appends a job; one without an id cannot be spoken of.
func (q *queue) add(j Job) {
	if j.ID == 0 {
		q.warnings = append(q.warnings, "squeue: a job without a job id is left out")
		return
	}
	if !j.State.known() {
		q.warnings = append(q.warnings, fmt.Sprintf("squeue: job %s is in state %q, which this version does not know: it counts as running if it has nodes", &j, j.State))
	}
	q.jobs = append(q.jobs, j)
}

// nodeNames expands a node list; one that cannot be read becomes a warning. Equal
// lists share their names, and appending to one leaves the others alone.
func (q *queue) nodeNames(job int64, what, list string) []string {
	list = clean(list)
	if names, ok := q.expanded[list]; ok {
		return names
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		q.warnings = append(q.warnings, fmt.Sprintf("squeue: job %d: %s cannot be read and counts as empty: %v", job, what, err))
		return nil
	}
	if q.expanded == nil {
		q.expanded = map[string][]string{}
	}
	names = slices.Clip(names)
	q.expanded[list] = names
	return names
}

// clean returns a field without the words that Slurm writes for nothing.
func clean(field string) string {
	switch field = strings.TrimSpace(field); field {
	case "(null)", "N/A", "n/a", "None", "None assigned":
		return ""
	}
	return field
}

func (r *jobRecord) job(q *queue) Job {
	id := r.JobID.value
	j := Job{
		ID:             id,
		ArrayID:        r.ArrayJobID.value,
		PendingTasks:   clean(string(r.ArrayTaskString)),
		HetID:          r.HetJobID.value,
		HetOffset:      r.HetJobOffset.value,
		Name:           string(r.Name),
		Comment:        string(r.Comment),
		AdminComment:   string(r.AdminComment),
		User:           cmp.Or(string(r.UserName), string(r.UserID)),
		Account:        string(r.Account),
		Partitions:     list(string(r.Partition)),
		Reason:         clean(string(r.StateReason)),
		Dependency:     clean(string(r.Dependency)),
		NodeCount:      r.NodeCount.count(),
		CPUs:           r.CPUs.count(),
		Tasks:          r.Tasks.count(),
		CPUsPerTask:    r.CPUsPerTask.count(),
		ThreadsPerCore: r.ThreadsPerCore.count(),
		Features:       clean(string(r.Features)),
		// "none" is JOB_SHARED_NONE: nothing is shared with others.
		Exclusive:     slices.Contains(r.Exclusive, "true") || slices.Contains(r.Shared, "none"),
		ExclusiveUser: slices.Contains(r.Exclusive, "user") || slices.Contains(r.Shared, "user"),
		Oversubscribe: slices.Contains(r.Shared, "shared") || slices.Contains(r.Shared, "oversubscribe"),
		Required:      q.nodeNames(id, "the list of required nodes", string(r.RequiredNodes)),
		Excluded:      q.nodeNames(id, "the list of excluded nodes", string(r.ExcludedNodes)),
		TimeLimit:     r.TimeLimit.minutes(),
		Submitted:     r.SubmitTime.moment(),
		Started:       r.StartTime.moment(),
		Ends:          r.EndTime.moment(),
		MemoryPerCPU:  r.MemoryPerCPU.count(),
	}
	if most := r.MaxNodes.count(); most > j.NodeCount {
		j.MostNodes = most
	}
	j.Memory, j.Gres = r.memory(&j), r.gres(&j)
	j.Reservation = clean(string(r.Reservation))
	if r.ArrayTaskID.set && j.ArrayID != 0 && j.PendingTasks == "" {
		j.Task = &r.ArrayTaskID.value
	}
	j.setStates(r.JobState)
	if slices.Contains(r.Hold, "true") && j.Reason == "" {
		j.Reason = heldByUser
	}
	// A pending job may name the nodes of its last run.
	if !j.Pending() {
		j.Nodes = q.nodeNames(id, "the list of nodes", string(r.Nodes))
		j.Allocations = r.Resources.allocations()
	}
	return j
}

// memory returns what the job asks for on each node. Where it asks for none,
// Slurm's own sum says what it gets.
func (r *jobRecord) memory(j *Job) int {
	if m := r.MemoryPerNode.count(); m > 0 {
		return m
	}
	if j.MemoryPerCPU > 0 {
		return j.memoryOfCPUs()
	}
	for part := range strings.SplitSeq(string(r.Requested), ",") {
		if amount, ok := strings.CutPrefix(part, "mem="); ok {
			return mebibytes(amount) / max(1, j.NodeCount)
		}
	}
	return 0
}

// gres returns the generic resources that the job asks for on each node.
func (r *jobRecord) gres(j *Job) map[string]int {
	nodes := max(1, j.NodeCount)
	perNode := perNodeGres{nodes: nodes, tasks: (max(1, j.Tasks) + nodes - 1) / nodes}
	return perNode.sum(string(r.PerNode), string(r.PerJob), string(r.PerTask), string(r.PerSocket))
}

// perNodeGres turns requests for generic resources into those for one node.
type perNodeGres struct{ nodes, tasks int }

func (p perNodeGres) sum(node, job, task, socket string) map[string]int {
	var all map[string]int
	for _, part := range []struct {
		list                 string
		multiplied, dividing int
	}{{node, 1, 1}, {socket, 1, 1}, {task, p.tasks, 1}, {job, 1, p.nodes}} {
		for name, count := range gresOf(part.list) {
			if all == nil {
				all = map[string]int{}
			}
			all[name] = max(all[name], (count*part.multiplied+part.dividing-1)/part.dividing)
		}
	}
	return all
}

// setStates separates the base state from the flags. Slurm lists the base state
// first, but a job that completes may be written as just that.
func (j *Job) setStates(states []string) {
	for _, s := range states {
		state := State(strings.ToUpper(clean(s)))
		if state == "" {
			continue
		}
		if j.State == "" || (!j.State.known() && state.known()) {
			if j.State != "" {
				j.Flags = append(j.Flags, j.State)
			}
			j.State = state
			continue
		}
		j.Flags = append(j.Flags, state)
	}
	if j.State == Completing || j.State == Configuring {
		j.Flags = append(j.Flags, j.State)
		j.State = Running
	}
}

// list splits a comma-separated field.
func list(field string) []string {
	var parts []string
	for part := range strings.SplitSeq(clean(field), ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
