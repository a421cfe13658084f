package slurm

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Node is a compute node as sinfo shows it. What Slurm did not tell is the zero
// value.
type Node struct {
	Name string
	// CPUs is how many CPUs Slurm schedules; Sockets and ThreadsPerCore are per
	// node and per core.
	CPUs, Sockets, CoresPerSocket, ThreadsPerCore int
	// SystemCPUs is how many more the node has, which no job gets (CoreSpecCount,
	// CPUSpecList); SystemCores are their cores by socket, as in Allocation.
	SystemCPUs  int
	SystemCores map[int][]int
	// WholeSockets is true where no two jobs have cores of one socket (CR_Socket).
	WholeSockets bool
	// AllocatedCPUs is what jobs hold, those of other users included.
	AllocatedCPUs int
	// State is Slurm's base state in upper case, as "IDLE", "MIXED"; Flags are
	// what comes on top, as "DRAIN".
	State string
	Flags []string
	// Features are those available on the node.
	Features []string
	// Partitions are the names, without the mark of the default one.
	Partitions []string
	// Memory is what Slurm schedules, AllocatedMemory what jobs hold of it, both in
	// MiB; Memory is 0 when it is not told.
	Memory, AllocatedMemory int
	// Gres counts generic resources such as "gpu" and "gpu:a100", GresUsed those that
	// jobs hold.
	Gres, GresUsed map[string]int
	// Reservation names the reservation that holds the node now.
	Reservation string
	// Owner is the user whose jobs share the node with nobody else's; empty for none.
	Owner string
}

// freeStates are the base states of nodes on which jobs start when there is room.
func freeStates() []string { return []string{"", "IDLE", "MIXED", "ALLOCATED", "COMPLETING"} }

// busyStates are the states of nodes on which jobs start, but not now: a planned
// node is kept for another job, and the others first have to boot.
func busyStates() []string {
	return []string{"PLANNED", "POWERED_DOWN", "POWER_UP", "POWERING_UP"}
}

// harmlessFlags say nothing about whether jobs can start.
func harmlessFlags() []string {
	return []string{"COMPLETING", "CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "UNDRAIN", "RESUME", "REBOOT_REQUESTED", "REBOOT_CANCEL", "NET"}
}

// reserved is the state, or the flag, of a node that a reservation holds.
const reserved = "RESERVED"

// AvailableTo reports whether a job that names this reservation, or none, can start
// on the node once there is room. It cannot where the node is down, drained, in
// maintenance, registered with less than it is configured with, held by another
// reservation, or in a state that Bandmate does not know.
func (n *Node) AvailableTo(reservation string) bool {
	if n.held() && (reservation == "" || (n.Reservation != "" && n.Reservation != reservation)) {
		return false
	}
	return n.up()
}

// held reports whether a reservation holds the node now.
func (n *Node) held() bool {
	return n.Reservation != "" || n.State == reserved || slices.Contains(n.Flags, reserved)
}

// up is AvailableTo for a job that the reservation of the node, if any, does not keep off.
func (n *Node) up() bool {
	held := n.held()
	for i, s := range append([]string{n.State}, n.Flags...) {
		switch {
		case held && (s == reserved || s == "MAINT" || s == "MAINTENANCE"):
			// The job belongs there.
		case slices.Contains(busyStates(), s), i == 0 && slices.Contains(freeStates(), s):
		case i > 0 && (slices.Contains(harmlessFlags(), s) || slices.Contains(freeStates(), s)):
		default:
			return false
		}
	}
	return true
}

// Available reports whether a job without a reservation can start on the node once
// there is room.
func (n *Node) Available() bool { return n.AvailableTo("") }

// startsNow reports whether jobs start at once on an available node with room.
func (n *Node) startsNow() bool {
	return !slices.ContainsFunc(append([]string{n.State}, n.Flags...), func(s string) bool { return slices.Contains(busyStates(), s) })
}

// cpusPerCore returns how many CPUs Slurm schedules on each core: 1 where CPUs counts the
// cores of a node although they have threads (man slurm.conf, CPUs).
func (n *Node) cpusPerCore() int {
	if n.CPUs > 0 && n.CPUs+n.SystemCPUs <= n.Sockets*n.CoresPerSocket {
		return 1
	}
	return max(1, n.ThreadsPerCore)
}

// feature returns the value of the feature PREFIX=VALUE; false without one.
func (n *Node) feature(prefix string) (string, bool) {
	for _, f := range n.Features {
		if value, ok := strings.CutPrefix(f, prefix+"="); ok && value != "" {
			return value, true
		}
	}
	return "", false
}

// Partition is a queue.
type Partition struct {
	Name string
	// Default is true for the one of jobs that name none.
	Default bool
	// OverSubscribe is Slurm's word: NO, EXCLUSIVE, YES:n or FORCE:n; empty when
	// it is not told (the JSON of 22.05 does not).
	OverSubscribe string
	// Closed is true when the partition starts no jobs.
	Closed bool
	// LeastNodes is how many nodes a job gets at least that leaves the number to Slurm.
	LeastNodes int
	// MostNodes bounds the nodes of a job, MostCPUsPerNode the CPUs that all jobs of the
	// partition have of one node; 0 means any.
	MostNodes, MostCPUsPerNode int
	// TimeLimit is the longest a job may ask for; 0 when unlimited or not told.
	TimeLimit time.Duration
	// ExclusiveUser is true when jobs share their nodes only with those of the same user.
	ExclusiveUser bool
	// MemoryPerNode and MemoryPerCPU are what a job gets that asks for no memory, in MiB;
	// where both are 0, what the cluster gives it.
	MemoryPerNode, MemoryPerCPU int
}

// Admits reports whether the partition starts jobs of this size.
func (p Partition) Admits(nodes int, cpusPerNode float64, limit time.Duration) bool {
	return !p.Closed && (p.MostNodes == 0 || nodes <= p.MostNodes) &&
		(p.MostCPUsPerNode == 0 || cpusPerNode <= float64(p.MostCPUsPerNode)) &&
		(p.TimeLimit == 0 || limit <= p.TimeLimit)
}

// Shares returns how many jobs may have the same CPU in this partition when they
// ask for it: 1 when none may, or when it is not told.
func (p Partition) Shares() int {
	word, count, _ := strings.Cut(p.OverSubscribe, ":")
	if word != "FORCE" && word != "YES" {
		return 1
	}
	const slurmDefault = 4
	n, err := strconv.Atoi(count)
	if err != nil {
		return slurmDefault
	}
	return max(1, n)
}

// WholeNodes reports whether every job of the partition has its nodes for itself.
func (p Partition) WholeNodes() bool { return p.OverSubscribe == "EXCLUSIVE" }

// Forced reports whether jobs share CPUs in this partition without asking.
func (p Partition) Forced() bool { return strings.HasPrefix(p.OverSubscribe, "FORCE") }
