package slurm

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/slurm/hostlist"
	"bandmate.dev/bandmate/topology"
)

// Consumable says what jobs take of nodes (SelectTypeParameters).
type Consumable struct {
	// Sockets is true when jobs hold whole sockets, and not cores.
	Sockets bool
	// Memory is true when jobs hold memory.
	Memory bool
	// MemoryPerNode and MemoryPerCPU are what a job gets that asks for none, in MiB;
	// 0 for the whole node.
	MemoryPerNode, MemoryPerCPU int
}

// Reservation keeps nodes for those who may use it.
type Reservation struct {
	Name       string
	Nodes      []string
	Start, End time.Time
	// Flags are Slurm's words, as "MAINT".
	Flags []string
	// Partial is true when only some cores of the nodes are reserved. Cores then says how
	// many of each node, and Allocations which ones, of the nodes for which Slurm tells it.
	Partial     bool
	Cores       map[string]int
	Allocations []Allocation
}

// setting returns the value of KEY=VALUE in a line of scontrol -o, as far as the next
// blank; empty when the line does not have it.
func setting(line, key string) string {
	_, rest, found := strings.Cut(" "+line, " "+key+"=")
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, " ")
	return clean(value)
}

// scontrolNodes adds to the nodes what `scontrol -a -d -o show nodes` says. It knows the
// flags of a state of which sinfo prints only one, as of a busy node that is reserved.
func scontrolNodes(output []byte, nodes map[string]*Node) {
	for line := range strings.SplitSeq(string(output), "\n") {
		n := nodes[setting(line, "NodeName")]
		if n == nil {
			continue
		}
		if state := setting(line, "State"); state != "" {
			var states []string
			for part := range strings.SplitSeq(state, "+") {
				states = append(states, textState(part)...)
			}
			n.setState(states)
		}
		if total, effective := int(whole(setting(line, "CPUTot"))), int(whole(setting(line, "CPUEfctv"))); effective > 0 && effective < total {
			n.CPUs, n.SystemCPUs = effective, total-effective
			if list, err := topology.ParseList(setting(line, "CPUSpecList"), topology.MaxCPUs); err == nil && n.CoresPerSocket > 0 {
				n.SystemCores = n.coresOf(list)
			}
		}
		n.Owner, _, _ = strings.Cut(setting(line, "Owner"), "(") // the number of the user follows
		if memory := int(whole(setting(line, "RealMemory"))); memory > 0 {
			n.Memory = max(0, memory-int(whole(setting(line, "MemSpecLimit"))))
		}
		n.AllocatedMemory = int(whole(setting(line, "AllocMem")))
		n.Reservation = setting(line, "ReservationName")
		if gres := gresOf(setting(line, "Gres")); len(gres) > 0 {
			n.Gres = gres
		}
		n.GresUsed = gresOf(setting(line, "GresUsed"))
	}
}

// allocated is what scontrol says of a job's CPUs on nodes where it has the same. Who
// writes that into the name of a job misplaces that job, and no other.
var allocated = regexp.MustCompile(`  Nodes=(\S+) CPU_IDs=(\S+) Mem=`)

// scontrolJobs adds to running jobs the cores that `scontrol -a -d -o show jobs` names, by
// Slurm's own numbers of CPUs, which follow each other in a core and a socket. A job that
// is shown twice, as by what a user called another, gets none.
func scontrolJobs(output []byte, jobs []Job, nodes map[string]*Node) {
	said := map[int64]string{}
	for line := range strings.SplitSeq(string(output), "\n") {
		id := whole(setting(line, "JobId"))
		if _, again := said[id]; again {
			line = ""
		}
		said[id] = line
	}
	for i := range jobs {
		j := &jobs[i]
		// squeue prints the memory of a CPU as if it were that of a node.
		if perCPU := mebibytes(setting(said[j.ID], "MinMemoryCPU")); perCPU > 0 {
			j.Memory = int(math.Ceil(float64(perCPU) * j.CPUsPerNode()))
		}
		if len(j.Nodes) == 0 {
			continue
		}
		for _, part := range allocated.FindAllStringSubmatch(said[j.ID], -1) {
			names, wrong := hostlist.Expand(part[1])
			cpus, err := topology.ParseList(part[2], topology.MaxCPUs)
			if wrong != nil || err != nil {
				continue
			}
			for _, name := range names {
				if n := nodes[name]; n != nil && slices.Contains(j.Nodes, name) && n.CoresPerSocket > 0 {
					j.Allocations = append(j.Allocations, Allocation{name, n.coresOf(cpus)})
				}
			}
		}
	}
}

// coresOf returns the cores of CPUs by Slurm's numbers, by socket.
func (n *Node) coresOf(cpus cpuset.CPUSet) map[int][]int {
	cores := cpus.List()
	for i := range cores {
		cores[i] /= max(1, n.ThreadsPerCore)
	}
	return n.bySocket(cores)
}

// bySocket returns cores, which count from 0 in the node and are in ascending order, by
// socket.
func (n *Node) bySocket(all []int) map[int][]int {
	cores := map[int][]int{}
	for _, core := range all {
		socket := core / n.CoresPerSocket
		cores[socket] = append(cores[socket], core%n.CoresPerSocket)
	}
	for socket := range cores {
		cores[socket] = slices.Compact(cores[socket])
	}
	return cores
}

// scontrolReservations reads the output of `scontrol -a -o show reservations`. Those of
// licenses only have no nodes.
func scontrolReservations(output []byte, nodes map[string]*Node) []Reservation {
	all := []Reservation{}
	for line := range strings.SplitSeq(string(output), "\n") {
		names, err := hostlist.Expand(setting(line, "Nodes"))
		r := Reservation{
			Name: setting(line, "ReservationName"), Nodes: names, Flags: list(setting(line, "Flags")),
			Start: moment(setting(line, "StartTime")), End: moment(setting(line, "EndTime")),
		}
		if r.Name == "" || err != nil {
			continue
		}
		cores := int(whole(setting(line, "CoreCnt")))
		if cores > 0 && cores < coresIn(names, nodes) {
			r.Partial = true
			r.Cores, r.Allocations = reservedCores(line, names, cores, nodes)
		}
		all = append(all, r)
	}
	return all
}

// reservedOn is what scontrol says of the cores of a node in a reservation.
var reservedOn = regexp.MustCompile(`NodeName=(\S+) CoreIDs=(\S+)`)

// reservedCores returns how many cores of each node are reserved, and which; where Slurm does
// not say that, an equal share of all.
func reservedCores(line string, names []string, cores int, nodes map[string]*Node) (on map[string]int, which []Allocation) {
	on = make(map[string]int, len(names))
	for _, name := range names {
		on[name] = (cores + len(names) - 1) / len(names)
	}
	for _, part := range reservedOn.FindAllStringSubmatch(line, -1) {
		ids, err := topology.ParseList(part[2], topology.MaxCPUs)
		if err != nil {
			continue
		}
		on[part[1]] = ids.Size()
		if n := nodes[part[1]]; n != nil && n.CoresPerSocket > 0 {
			which = append(which, Allocation{n.Name, n.bySocket(ids.List())})
		}
	}
	return on, which
}

// scontrolPartitions adds to the partitions what `scontrol -a -o show partitions` says and
// sinfo does not.
func scontrolPartitions(output []byte, partitions []Partition) {
	for line := range strings.SplitSeq(string(output), "\n") {
		name := setting(line, "PartitionName")
		for i := range partitions {
			if p := &partitions[i]; p.Name == name {
				p.ExclusiveUser = setting(line, "ExclusiveUser") == "YES"
				p.MemoryPerCPU, p.MemoryPerNode = int(whole(setting(line, "DefMemPerCPU"))), int(whole(setting(line, "DefMemPerNode")))
			}
		}
	}
}

// coresIn counts the cores of nodes, as far as they are known.
func coresIn(names []string, nodes map[string]*Node) int {
	cores := 0
	for _, name := range names {
		if n := nodes[name]; n != nil {
			cores += n.Sockets * n.CoresPerSocket
		}
	}
	return cores
}

// scontrolConfig reads the output of `scontrol show config`.
func scontrolConfig(output []byte) Consumable {
	var c Consumable
	for line := range bytes.Lines(output) {
		key, value, _ := strings.Cut(string(line), "=")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "SelectTypeParameters":
			value = strings.ToUpper(value)
			c.Memory, c.Sockets = strings.Contains(value, "MEMORY"), strings.Contains(value, "CR_SOCKET")
		case "DefMemPerNode":
			c.MemoryPerNode = int(whole(value))
		case "DefMemPerCPU":
			c.MemoryPerCPU = int(whole(value))
		}
	}
	return c
}

// gresOf counts generic resources in a list such as "gpu:a100:4(S:0-1),gres/tape:2":
// of every name, and of every name with its type. What cannot be read is left out.
func gresOf(field string) map[string]int {
	var all map[string]int
	for part := range strings.SplitSeq(withoutRemarks(clean(field)), ",") {
		part = strings.TrimSpace(part)
		for _, prefix := range []string{"gres/", "gres:"} {
			part = strings.TrimPrefix(part, prefix)
		}
		part = strings.ReplaceAll(part, "=", ":")
		words := strings.Split(part, ":")
		count := 1
		if last := words[len(words)-1]; len(words) > 1 {
			if n, ok := quantity(last); ok {
				count, words = n, words[:len(words)-1]
			}
		}
		if words[0] == "" || strings.HasPrefix(words[0], "%") || !isGres(words[0]) {
			continue
		}
		if all == nil {
			all = map[string]int{}
		}
		all[words[0]] += count
		if len(words) > 1 && words[1] != "" && words[1] != "no_consume" {
			all[words[0]+":"+words[1]] += count
		}
	}
	return all
}

// isGres reports whether a name in a list of resources is that of a generic one. Since
// Slurm 23.11, -c 8 is cpu=8 among the resources of a task.
func isGres(name string) bool {
	if kind, _, ofKind := strings.Cut(name, "/"); ofKind {
		return !slices.Contains([]string{"bb", "fs", "ic", "license"}, kind)
	}
	return !slices.Contains([]string{"billing", "cpu", "energy", "mem", "node", "pages", "vmem"}, name)
}

// withoutRemarks leaves out what stands in parentheses, as "(S:0-1)" and "(IDX:0,2)".
func withoutRemarks(field string) string {
	var b strings.Builder
	depth := 0
	for _, r := range field {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(0, depth-1)
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quantity reads a count such as "4" or "2K".
func quantity(text string) (int, bool) {
	factor := 1
	for suffix, f := range map[string]int{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if digits, ok := strings.CutSuffix(strings.ToLower(text), suffix); ok {
			text, factor = digits, f
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<30 {
		return 0, false
	}
	return n * factor, true
}

// mebibytes reads an amount of memory as sbatch does, where a number alone means MiB;
// 0 for none, and for what cannot be read.
func mebibytes(text string) int {
	text = strings.TrimRight(strings.ToUpper(strings.TrimSpace(text)), "NC")
	text = strings.TrimSuffix(text, "B")
	perUnit := 1.0
	for suffix, f := range map[string]float64{"K": 1. / 1024, "M": 1, "G": 1024, "T": 1024 * 1024} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			text, perUnit = digits, f
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > 1<<40 {
		return 0
	}
	return int(math.Ceil(n * perUnit))
}
