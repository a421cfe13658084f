package slurm

import (
	"slices"
	"strconv"
	"strings"
)

// Node is a compute node as sinfo shows it. What Slurm did not tell is the zero
// value.
type Node struct {
	Name string
	// CPUs is how many CPUs Slurm schedules; Sockets and ThreadsPerCore are per
	// node and per core.
	CPUs, Sockets, CoresPerSocket, ThreadsPerCore int
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
}

// Available reports whether jobs can start on the node when there is room: not
// down, drained, or reserved for maintenance. A state that Bandmate does not
// know counts as available: Slurm decides in the end.
func (n *Node) Available() bool {
	if slices.Contains([]string{"DOWN", "ERROR", "FUTURE", "UNKNOWN", "FAIL", "FAILING"}, n.State) {
		return false
	}
	for _, f := range []string{"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "NOT_RESPONDING", "MAINTENANCE", "INVALID_REG", "POWERING_DOWN"} {
		if slices.Contains(n.Flags, f) || n.State == f {
			return false
		}
	}
	return true
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

// Forced reports whether jobs share CPUs in this partition without asking.
func (p Partition) Forced() bool { return strings.HasPrefix(p.OverSubscribe, "FORCE") }
