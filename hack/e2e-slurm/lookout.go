package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	bandmate "bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/slurm/hostlist"
)

// waiting is a job of which the lookout knows.
type waiting struct {
	job     job
	queue   queue
	place   partition
	program string
	// kept says that the job stayed off a node for the watch.
	kept bool
	// since is when Slurm said first, and ever since, that it would start the job without
	// that; zero where it did not say so the last time.
	since time.Time
}

// lookout looks at the whole queue, and finds jobs that would start but for the watch.
type lookout struct {
	patience time.Duration
	asks     bandmate.Commands

	mu   sync.Mutex
	jobs map[string]*waiting
	// longest is how long a job stayed off nodes on which Slurm would have started it;
	// asked how often Slurm was asked.
	longest time.Duration
	asked   int
}

func newLookout(patience time.Duration) *lookout {
	return &lookout{patience: patience, jobs: map[string]*waiting{}}
}

func (l *lookout) add(id string, w waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[id] = &w
}

func (l *lookout) everKept(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs[id].kept
}

// watch looks at the queue twice a second until ctx ends. The error is that a job stayed
// off nodes for too long.
func (l *lookout) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
		if err := l.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// row is a line of squeue.
type row struct{ id, state, reason, excluded, nodes string }

func (l *lookout) look(ctx context.Context) error {
	text, err := slurm(ctx, "squeue", "--noheader", "--states=PD,R,CG", "--format=%i|%T|%r|%x|%N")
	if err != nil {
		return err
	}
	var rows []row
	var busy []string
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 5 {
			return fmt.Errorf("squeue says %q", line)
		}
		rows = append(rows, row{f[0], f[1], f[2], f[3], f[4]})
		nodes, err := hostlist.Expand(f[4])
		if err != nil {
			return err
		}
		busy = append(busy, nodes...)
	}
	for _, r := range rows {
		if err := l.judge(ctx, r, busy); err != nil {
			return err
		}
	}
	return nil
}

// judge asks Slurm about a job that stays off nodes for the watch.
func (l *lookout) judge(ctx context.Context, r row, busy []string) error {
	l.mu.Lock()
	w := l.jobs[r.id]
	l.mu.Unlock()
	if w == nil || r.state != "PENDING" {
		return nil
	}
	excluded, err := hostlist.Expand(strings.TrimPrefix(r.excluded, "(null)"))
	if err != nil {
		return err
	}
	own := 0
	if w.job.excluded > 0 {
		own = 1
	}
	starts := false
	// A job that waits for its turn would wait for it without the watch, too.
	if len(excluded) > own && r.reason != "Priority" {
		starts = l.wouldStart(ctx, w, busy)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.kept = w.kept || len(excluded) > own
	now := time.Now()
	if !starts {
		w.since = time.Time{}
		return nil
	}
	if w.since.IsZero() {
		w.since = now
	}
	lasts := now.Sub(w.since)
	l.longest = max(l.longest, lasts)
	if lasts > l.patience {
		return fmt.Errorf("queue %d: job %s, %+v, has excluded %s for %v (%s), and Slurm would start it without that", w.queue.number, r.id, w.job, r.excluded, lasts.Round(time.Second), r.reason)
	}
	return nil
}

// wouldStart asks Slurm whether it would start the job now with the exclusions of its user
// alone. Where there are limits, nodes that somebody uses do not count.
func (l *lookout) wouldStart(ctx context.Context, w *waiting, busy []string) bool {
	excluded := ""
	if w.queue.limits {
		off := slices.Clone(busy)
		if w.job.excluded > 0 {
			off = append(off, w.place.nodes[w.job.excluded-1])
		}
		off = slices.DeleteFunc(off, func(name string) bool { return !slices.Contains(w.place.nodes, name) })
		slices.Sort(off)
		off = slices.Compact(off)
		if len(off) == len(w.place.nodes) {
			return false
		}
		excluded = strings.Join(off, ",")
	}
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	// An error is that Slurm refuses the job, as it does where too few nodes are left.
	start, err := l.asks.TestStart(ctx, "sbatch", w.job.arguments(w.place, "asked", excluded, w.program))
	return err == nil && !start.After(time.Now().Add(time.Second))
}
