package slurm

import (
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/slurm/hostlist"
)

// sinfoColumns are the node, its partition, the partition's sharing, the CPUs,
// sockets, cores and threads, the allocated CPUs, the state, the features, memory
// and generic resources; and the partition's availability, job sizes, time limit and
// CPUs of a job on a node (man sinfo, -o).
func sinfoColumns() []string {
	return []string{"N", "P", "h", "c", "X", "Y", "Z", "C", "T", "f", "m", "G", "a", "s", "l", "B"}
}

// sinfoText reads the output of sinfo -N -o with the given fields: one row for
// each node in each of its partitions.
func sinfoText(f fields, output []byte) (*inventory, error) {
	rows, err := f.rows("sinfo", output)
	if err != nil {
		return nil, err
	}
	v := newInventory()
	for _, row := range rows {
		name := strings.TrimSpace(row["N"])
		if !hostlist.Valid(name) {
			v.warnings = append(v.warnings, fmt.Sprintf("sinfo: %q cannot be the name of a node: it is left out", name))
			continue
		}
		n := v.node(name)
		n.CPUs, n.Sockets = int(whole(row["c"])), int(whole(row["X"]))
		n.CoresPerSocket, n.ThreadsPerCore = int(whole(row["Y"])), int(whole(row["Z"]))
		allocated, _, _ := strings.Cut(strings.TrimSpace(row["C"]), "/") // allocated/idle/other/total
		n.AllocatedCPUs = int(whole(allocated))
		n.setState(textState(row["T"]))
		n.Features = list(row["f"])
		partition, isDefault := strings.CutSuffix(strings.TrimSpace(row["P"]), "*")
		n.Memory, n.Gres = int(whole(row["m"])), gresOf(row["G"])
		least, most, isRange := strings.Cut(row["s"], "-")
		if !isRange { // the least is the most
			most = row["s"]
		}
		v.partition(Partition{
			Name: partition, Default: isDefault, OverSubscribe: clean(row["h"]),
			Closed:     slices.Contains([]string{"down", "inact", "drain"}, strings.ToLower(clean(row["a"]))),
			LeastNodes: int(whole(least)), MostNodes: int(whole(most)), MostCPUsPerNode: int(whole(row["B"])), TimeLimit: duration(row["l"]),
		}, n)
	}
	return v, nil
}

// textState separates a state such as "idle*" into the state and the flag that
// its last letters stand for (man sinfo, NODE STATE CODES).
func textState(field string) []string {
	field = strings.TrimSpace(field)
	state := strings.TrimRight(field, "*~#!%$@^-+")
	states := []string{state}
	for _, mark := range field[len(state):] {
		switch mark {
		case '*':
			states = append(states, "NOT_RESPONDING")
		case '$':
			states = append(states, "MAINTENANCE")
		case '%':
			states = append(states, "POWERING_DOWN")
		case '~':
			states = append(states, "POWERED_DOWN")
		case '#':
			states = append(states, "POWERING_UP")
		case '!':
			states = append(states, "POWER_DOWN")
		case '@':
			states = append(states, "REBOOT_REQUESTED")
		case '^':
			states = append(states, "REBOOT_ISSUED")
		case '-':
			states = append(states, "PLANNED")
		}
	}
	return states
}
