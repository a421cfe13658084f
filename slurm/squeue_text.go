package slurm

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// squeueColumns are what the text form of squeue can tell (man squeue, -o): all
// but the cores, the tasks and the comment of the administrator.
func squeueColumns() []string {
	return []string{
		"A", "i", "F", "K", "T", "r", "P", "D", "C", "l", "N", "n", "x", "E", "f", "h", "u", "a", "V", "S", "e", "m", "b", "v", "j", "k",
	}
}

// squeueText reads the output of squeue -o with the given fields.
func squeueText(f fields, output []byte) (queue, error) {
	rows, err := f.rows("squeue", output)
	if err != nil {
		return queue{}, err
	}
	q := queue{jobs: make([]Job, 0, len(rows)), coreless: true}
	for _, row := range rows {
		q.add(textJob(row, &q))
	}
	return q, nil
}

func textJob(row map[string]string, q *queue) Job {
	id := whole(row["A"])
	j := Job{
		ID:         id,
		Name:       row["j"],
		Comment:    clean(row["k"]),
		User:       clean(row["u"]),
		Account:    clean(row["a"]),
		Partitions: list(row["P"]),
		Reason:     clean(row["r"]),
		Dependency: clean(row["E"]),
		NodeCount:  int(whole(row["D"])),
		CPUs:       int(whole(row["C"])),
		Features:   clean(row["f"]),
		Exclusive:  isExclusive(row["h"]),
		Required:   q.nodeNames(id, "the list of required nodes", row["n"]),
		Excluded:   q.nodeNames(id, "the list of excluded nodes", row["x"]),
		TimeLimit:  duration(row["l"]),
		Submitted:  moment(row["V"]),
		Started:    moment(row["S"]),
		Ends:       moment(row["e"]),
	}
	j.AdminCommentUntold = true
	j.ExclusiveUser = strings.EqualFold(clean(row["h"]), "USER")
	j.Oversubscribe = strings.EqualFold(clean(row["h"]), "YES")
	j.Memory = mebibytes(row["m"])
	if strings.HasSuffix(strings.TrimSpace(row["m"]), "c") { // for each CPU
		j.Memory = int(math.Ceil(float64(j.Memory) * j.CPUsPerNode()))
	}
	j.Gres, j.Reservation = gresOf(row["b"]), clean(row["v"])
	j.setNumbers(row["i"], row["F"], row["K"])
	j.setStates([]string{row["T"]})
	if !j.Pending() {
		j.Nodes = q.nodeNames(id, "the list of nodes", row["N"])
	}
	return j
}

// setNumbers reads what the user calls the job, as "12", "12_3", "12_[4-9%2]" or
// "12+1", the array's job id and its index.
func (j *Job) setNumbers(called, array, index string) {
	if leader, offset, ok := strings.Cut(called, "+"); ok {
		j.HetID, j.HetOffset = whole(leader), whole(offset)
		return
	}
	_, task, ok := strings.Cut(called, "_")
	if !ok {
		return
	}
	j.ArrayID = whole(array)
	if pending, ok := strings.CutPrefix(task, "["); ok {
		j.PendingTasks = strings.TrimSuffix(pending, "]")
		return
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(index), 10, 64); err == nil {
		j.Task = &n
	}
}

// isExclusive reads the column OVER_SUBSCRIBE of a job.
func isExclusive(word string) bool {
	switch strings.ToUpper(strings.TrimSpace(word)) {
	case "NO", "EXCLUSIVE":
		return true
	}
	return false
}

// whole reads a number of 0 or more; 0 when there is none.
func whole(field string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// moment reads a time such as 2026-11-20T04:45:01, in the time zone of this
// process, as the commands write it; the zero time when there is none.
func moment(field string) time.Time {
	t, err := time.ParseInLocation("2006-01-02T15:04:05", strings.TrimSpace(field), time.Local)
	if err != nil {
		return time.Time{}
	}
	return t
}

// duration reads "D-HH:MM:SS", "HH:MM:SS" or "MM:SS"; 0 for UNLIMITED and what
// is none of them.
func duration(field string) time.Duration {
	field = strings.TrimSpace(field)
	var days, total int64
	if d, rest, ok := strings.Cut(field, "-"); ok {
		n, err := strconv.ParseInt(d, 10, 32)
		if err != nil {
			return 0
		}
		days, field = n, rest
	}
	parts := strings.Split(field, ":")
	if len(parts) > 3 || len(parts) < 2 {
		return 0
	}
	for _, part := range parts {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 0 || days < 0 {
			return 0
		}
		total = total*60 + n
	}
	return time.Duration(min(days*86400+total, int64(maxDuration/time.Second))) * time.Second
}

const maxDuration = 1<<63 - 1

// jsonRefused reports whether a command failed because it cannot write JSON:
// before 21.08 it has no such option, later a plugin may not be installed.
func jsonRefused(e *CommandError) bool {
	said := strings.ToLower(e.Stderr)
	for _, sign := range []string{"unrecognized option", "invalid option", "json", "serializer", "data_parser", "openapi"} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}
