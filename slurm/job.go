package slurm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Job is a record of squeue: a job, one component of a heterogeneous job, a
// task of an array, or the tasks of an array that are still pending together.
// What Slurm did not tell is the zero value.
type Job struct {
	// ID is Slurm's job_id: unique among records, also of array tasks.
	ID int64
	// ArrayID is the job id of the array, 0 outside arrays. Task is the index
	// of a single task; it is nil outside arrays and for the pending rest of
	// one, whose tasks PendingTasks lists, as "3-9,12".
	ArrayID      int64
	Task         *int64
	PendingTasks string
	// HetID is the job id of the leader of a heterogeneous job, 0 outside
	// those; HetOffset is the component's number, from 0.
	HetID     int64
	HetOffset int64

	// Name and Comment are whatever the user wrote: hostile until proven
	// otherwise.
	Name, Comment, AdminComment string
	// AdminCommentUntold is true where AdminComment is empty because Slurm did not tell it.
	AdminCommentUntold bool
	User               string
	Account            string
	// Partitions are where it runs, or may run while it is pending.
	Partitions []string

	// State is the base state; Flags are the states that come on top, such as
	// COMPLETING, and unknown ones.
	State State
	Flags []State
	// Reason says why a pending job waits, as "Dependency".
	Reason string
	// Dependency is Slurm's expression, as "afterok:12(unfulfilled)".
	Dependency string

	// NodeCount, CPUs, Tasks and CPUsPerTask are what the job asks for while it
	// is pending, and what it has while it runs.
	NodeCount, CPUs, Tasks, CPUsPerTask int
	// MostNodes is how many nodes a job takes at most that asks for a range of more than
	// NodeCount; 0 for others, or when it is not told.
	MostNodes int
	// ThreadsPerCore is how many threads of each core it uses; 0 for all, or when it is not
	// told.
	ThreadsPerCore int
	// Features is the constraint on nodes, as "gpu&fast".
	Features string
	// Exclusive is true when the job wants whole nodes, ExclusiveUser when it shares them
	// only with jobs of the same user.
	Exclusive, ExclusiveUser bool
	// Oversubscribe is true when it asks to share CPUs.
	Oversubscribe bool
	// Memory is what the job asks for on each node, in MiB; 0 when it is not told.
	// MemoryPerCPU is what it asks for by CPU; 0 when it does not, or that is not told.
	Memory, MemoryPerCPU int
	// Gres counts the generic resources that it asks for on each node.
	Gres map[string]int
	// Reservation is the one that it runs in; empty for none.
	Reservation string
	// Required and Excluded are the node lists that were set with the job or
	// changed later, expanded.
	Required, Excluded []string

	// Nodes are those allocated, expanded, and Allocations say which part of
	// each, where Slurm tells.
	Nodes       []string
	Allocations []Allocation

	// TimeLimit is how long it may run; 0 when unlimited or not told.
	TimeLimit time.Duration
	// Submitted, Started and Ends are zero when unknown; of a pending job,
	// Started is Slurm's estimate.
	Submitted, Started, Ends time.Time
}

// Allocation is the part of a node that a job holds.
type Allocation struct {
	Node string
	// Cores are the numbers of the cores that the job holds, in ascending order, by socket
	// number. Both count from 0, the cores in each socket.
	Cores map[int][]int
}

// coresOn returns the cores of a job on a node by socket; nil when not told.
func (j *Job) coresOn(n *Node) map[int][]int { return coresOn(j.Allocations, n) }

func coresOn(all []Allocation, n *Node) map[int][]int {
	for _, a := range all {
		if a.Node == n.Name {
			return a.Cores
		}
	}
	return nil
}

// State is a job state, or a flag on top of it, as Slurm's long names.
type State string

// The states that Bandmate acts upon. Slurm knows more, and every version adds
// some.
const (
	Pending     State = "PENDING"
	Running     State = "RUNNING"
	Suspended   State = "SUSPENDED"
	Configuring State = "CONFIGURING"
	Completing  State = "COMPLETING"
)

// heldByUser is the reason of a job that its user held.
const heldByUser = "JobHeldUser"

// finished are the base states of jobs that hold no node.
func finished() []State {
	return []State{
		"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", //nolint:misspell // Slurm spells it so.
		"DEADLINE", "OUT_OF_MEMORY", "LAUNCH_FAILED", "RECONFIG_FAIL", "REVOKED",
	}
}

// known reports whether Bandmate knows what the state means.
func (s State) known() bool {
	return slices.Contains([]State{Pending, Running, Suspended}, s) || slices.Contains(finished(), s)
}

// Pending reports whether the job waits for nodes.
func (j *Job) Pending() bool { return j.State == Pending }

// Held reports whether the job waits until somebody releases it. Text says that in many
// ways, as "JobHeldAdmin" and "launch failed requeued held".
func (j *Job) Held() bool {
	reason, _, _ := strings.Cut(j.Reason, ":") // nodes follow
	return j.Pending() && (reason == "JobHoldMaxRequeue" || strings.Contains(strings.ToLower(reason), "held"))
}

// Dependent reports whether the job waits for other jobs.
func (j *Job) Dependent() bool {
	return j.Pending() && (j.Reason == "Dependency" || j.Reason == "DependencyNeverSatisfied")
}

// MayStart reports whether the job waits for nothing but nodes.
func (j *Job) MayStart() bool {
	return j.Pending() && !j.Held() && !j.Dependent() && j.Dependency == "" && j.Reason != "BeginTime"
}

// freshFor is how long after its submission Slurm has looked at a job at the latest.
const freshFor = time.Minute

// Fresh reports whether a waiting job has just been submitted, and Slurm has not looked
// yet for nodes for it.
func (j *Job) Fresh(now time.Time) bool {
	age := now.Sub(j.Submitted)
	return j.MayStart() && (j.Reason == "" || j.Reason == "None") && age > -freshFor && age < freshFor
}

// Occupies reports whether the job runs on nodes, or is about to: whether its
// traffic counts. A suspended job causes none, and one whose processes are being
// ended (COMPLETING) is gone. A state that Bandmate does not know counts if
// nodes are allocated: better one resident too many.
func (j *Job) Occupies() bool {
	if len(j.Nodes) == 0 || slices.Contains(j.Flags, Completing) {
		return false
	}
	return j.State == Running || !j.State.known()
}

// String returns the job as users write it: "12", "12_3", "12_[4-9]", "12+1".
func (j *Job) String() string {
	switch {
	case j.HetID != 0:
		return fmt.Sprintf("%d+%d", j.HetID, j.HetOffset)
	case j.ArrayID != 0 && j.Task != nil:
		return fmt.Sprintf("%d_%d", j.ArrayID, *j.Task)
	case j.ArrayID != 0 && j.PendingTasks != "":
		return fmt.Sprintf("%d_[%s]", j.ArrayID, j.PendingTasks)
	}
	return strconv.FormatInt(j.ID, 10)
}

// CPUsOn returns the CPUs that the job holds on one of its n nodes: by its cores
// there where Slurm told them and threads per core are known, else an equal part
// of its CPUs.
func (j *Job) CPUsOn(n *Node) float64 {
	for _, a := range j.Allocations {
		if a.Node == n.Name && n.ThreadsPerCore > 0 {
			cores := 0
			for _, c := range a.Cores {
				cores += len(c)
			}
			if cores > 0 {
				return float64(cores * n.cpusPerCore())
			}
		}
	}
	return float64(j.CPUs) / float64(max(1, len(j.Nodes)))
}

// CPUsPerNode returns how many CPUs the job takes, or would take, on each node.
func (j *Job) CPUsPerNode() float64 {
	nodes := max(1, j.NodeCount, len(j.Nodes))
	cpus := max(1, j.CPUs, j.Tasks*max(1, j.CPUsPerTask))
	return float64(cpus) / float64(nodes)
}

// memoryOfCPUs returns what MemoryPerCPU amounts to on each node, in MiB.
func (j *Job) memoryOfCPUs() int {
	return int(math.Ceil(float64(j.MemoryPerCPU) * j.CPUsPerNode()))
}

// matches reports whether the job is what a user calls by this name.
func (j *Job) matches(name string) bool {
	name = strings.TrimSpace(name)
	if name == j.String() || name == strconv.FormatInt(j.ID, 10) {
		return true
	}
	return j.HetID != 0 && j.HetOffset == 0 && name == strconv.FormatInt(j.HetID, 10) ||
		j.ArrayID != 0 && j.Task == nil && name == strconv.FormatInt(j.ArrayID, 10)
}
