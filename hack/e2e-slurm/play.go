package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"strings"
	"time"
)

// outcome is what became of a job and its twin.
type outcome struct {
	// later is by how many seconds the job started after its twin: Slurm tells whole
	// seconds.
	later int
	// kept says that the watch kept the job off a node while it waited.
	kept bool
}

// table is a pair of partitions on which queues are played, one after the other.
type table struct {
	both    [2]partition
	program string
	lookout *lookout
}

func newTable(k int, program string, l *lookout) *table {
	with, without := partitions(k)
	return &table{[2]partition{with, without}, program, l}
}

// longest is how long a queue may take on a machine that does other things.
const longest = 4 * time.Minute

// play plays a queue on both partitions and waits until they are empty.
func (t *table) play(ctx context.Context, q queue) (outcomes []outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if q.reserved > 0 {
		defer func() { err = errors.Join(err, t.release()) }()
		if err := t.reserve(ctx, q.reserved); err != nil {
			return nil, err
		}
	}
	var pairs [][2]string
	for i, j := range q.jobs {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(j.after):
		}
		var ids [2]string
		for turn := range 2 {
			k := (turn + i) % 2 // the first of the two is now one, now the other
			name := fmt.Sprintf("q%d-%d", q.number, i)
			id, err := slurm(ctx, "sbatch", j.arguments(t.both[k], name, "", t.program)...)
			if err != nil {
				return nil, err
			}
			ids[k] = strings.TrimSpace(id)
			t.lookout.add(ids[k], waiting{job: j, queue: q, place: t.both[k], program: t.program})
		}
		pairs = append(pairs, ids)
	}
	for _, ids := range pairs {
		started, err := t.started(ctx, ids)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, outcome{
			later: int(started[0].Sub(started[1]).Round(time.Second).Seconds()),
			kept:  t.lookout.everKept(ids[0]),
		})
		if t.lookout.everKept(ids[1]) {
			return nil, fmt.Errorf("job %s names no application and stayed off nodes", ids[1])
		}
	}
	return outcomes, nil
}

// started waits until both jobs have ended and returns when they started.
func (t *table) started(ctx context.Context, ids [2]string) (times [2]time.Time, err error) {
	for k, id := range ids {
		for {
			text, err := slurm(ctx, "squeue", "--noheader", "--states=all", "--jobs="+id, "--format=%T|%S")
			if err != nil {
				return times, err
			}
			state, start, _ := strings.Cut(strings.TrimSpace(text), "|")
			if state == "COMPLETED" {
				if times[k], err = time.Parse("2006-01-02T15:04:05", start); err != nil {
					return times, err
				}
				break
			}
			if state != "PENDING" && state != "RUNNING" && state != "COMPLETING" && state != "CONFIGURING" {
				return times, fmt.Errorf("job %s of %s is %s", id, t.both[k].name, state)
			}
			select {
			case <-ctx.Done():
				return times, fmt.Errorf("job %s of %s is still %s: %w", id, t.both[k].name, state, ctx.Err())
			case <-time.After(300 * time.Millisecond):
			}
		}
	}
	return times, nil
}

// reserve reserves a node of both partitions, for jobs that name it.
func (t *table) reserve(ctx context.Context, place int) error {
	me, err := user.Current()
	if err != nil {
		return err
	}
	for _, p := range t.both {
		if _, err := slurm(ctx, "scontrol", "create", "reservation", "ReservationName="+p.name, "StartTime=now", "Duration=60",
			"Nodes="+p.nodes[place-1], "Users="+me.Username, "Flags=IGNORE_JOBS"); err != nil {
			return err
		}
	}
	return nil
}

// release ends the reservations. Jobs that ended a moment ago may still be in them.
func (t *table) release() error {
	var faults []error
	for _, p := range t.both {
		var err error
		for range 20 {
			if _, err = slurm(context.Background(), "scontrol", "delete", "ReservationName="+p.name); err == nil {
				break
			}
			time.Sleep(500 * time.Millisecond)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// slurm runs a command of Slurm and returns what it prints.
func slurm(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
