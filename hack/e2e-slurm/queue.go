package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// nodesEach is how many nodes a partition has.
const nodesEach = 4

// queue is what is played twice.
type queue struct {
	number int
	jobs   []job
	// reserved is the place of a node that is reserved; 0 for none.
	reserved int
	// limits says that some jobs have a limit.
	limits bool
}

// job is one that its partition can run. Nodes are given by their places, from 1 on; 0 is
// none.
type job struct {
	// after is when it is submitted, counted from the job before it.
	after       time.Duration
	application string
	limit       string
	cpus, nodes int
	memory      int // MiB on each node
	gpu         bool
	// named is the node that the user chose, excluded the one that they excluded.
	named, excluded int
	inReservation   bool
	seconds         string
}

// randomQueue makes a queue; the same one for the same seed and number.
func randomQueue(seed uint64, number int) queue {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	q := queue{number: number, limits: number%2 == 1}
	if r.IntN(4) == 0 {
		q.reserved = 2 + r.IntN(nodesEach-1) // the first has the GPUs
	}
	for range 16 + r.IntN(8) {
		j := job{
			after: time.Duration(r.IntN(600)) * time.Millisecond, application: []string{"heavy", "tender", "light"}[r.IntN(3)],
			cpus: 1 << r.IntN(4), nodes: 1, memory: 10 + 200*r.IntN(5), seconds: []string{"0.5", "1", "3", "5"}[r.IntN(4)],
		}
		switch r.IntN(12) {
		case 0:
			j.nodes, j.cpus = 2, 8
		case 1, 2:
			j.gpu = true
		case 3:
			j.excluded = 2 + r.IntN(nodesEach-1)
		case 4:
			j.named = 1
		case 5:
			j.inReservation, j.memory = q.reserved > 0, 10
		}
		if q.limits && r.IntN(3) > 0 {
			j.limit = "1.15"
		}
		q.jobs = append(q.jobs, j)
	}
	return q
}

// partition is where a queue is played.
type partition struct {
	name  string
	nodes []string
	// labeled says that the jobs name their applications.
	labeled bool
}

// arguments are those of sbatch. Exclusions of the user are replaced by excluded, unless
// that is empty.
func (j job) arguments(p partition, name, excluded, program string) []string {
	args := []string{
		"--parsable", "--output=/dev/null", "--job-name=" + name, "--partition=" + p.name,
		"--nodes=" + strconv.Itoa(j.nodes), "--ntasks=" + strconv.Itoa(j.cpus), "--mem=" + strconv.Itoa(j.memory),
	}
	if j.nodes > 1 {
		args = append(args, "--ntasks-per-node="+strconv.Itoa(j.cpus/j.nodes))
	}
	if p.labeled {
		comment := "--comment=bandmate=" + j.application
		if j.limit != "" {
			comment += " bandmate-limit=" + j.limit
		}
		args = append(args, comment)
	}
	if j.gpu {
		args = append(args, "--gres=gpu:1")
	}
	if j.inReservation {
		args = append(args, "--reservation="+p.name)
	}
	if j.named > 0 {
		args = append(args, "--nodelist="+p.nodes[j.named-1])
	}
	if excluded == "" && j.excluded > 0 {
		excluded = p.nodes[j.excluded-1]
	}
	if excluded != "" {
		args = append(args, "--exclude="+excluded)
	}
	return append(args, program, j.seconds)
}

// partitions returns the k-th pair of partitions, as hack/e2e-slurm-watch.sh makes them.
func partitions(k int) (with, without partition) {
	nodes := func(first int) (names []string) {
		for i := range nodesEach {
			names = append(names, fmt.Sprintf("n%02d", first+i))
		}
		return names
	}
	first := 2*nodesEach*(k-1) + 1
	return partition{fmt.Sprintf("with%d", k), nodes(first), true},
		partition{fmt.Sprintf("without%d", k), nodes(first + nodesEach), false}
}
