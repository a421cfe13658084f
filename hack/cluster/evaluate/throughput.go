package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
	"bandmate.dev/bandmate/hack/cluster/results"
)

// residents is how many pods each node has before the first batch.
const residents = 30

// foreignLimit is the part of the CPU time that others may have taken in a round
// that counts. What the kernel does for our programs without telling whose it is
// stays below it.
const foreignLimit = 0.05

// throughput places batches of pods without and with a plugin in turn, each by a
// scheduler of its own while the other one only follows, and writes what they took after
// each block of rounds. Between blocks it changes from one plugin to the other.
func throughput(ctx context.Context, s settings) (err error) {
	c, client, err := populated(ctx, s)
	if err != nil {
		return err
	}
	if s.dir == "" {
		defer func() { err = errors.Join(err, c.Down(), os.RemoveAll(filepath.Dir(c.Kubeconfig()))) }()
	}
	bound, err := watchPlaced(ctx, client)
	if err != nil {
		return err
	}
	contenders := []contender{bandmate(s, c)}
	if s.trimaran != "" {
		loads, err := startLoadWatcher(ctx, s.nodes)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, loads.stop()) }()
		contenders = append(contenders, trimaran(s, c, loads))
	}
	record := results.Throughput{
		Conditions: results.Now(s.kubernetes), Nodes: s.nodes, Residents: residents, Labeled: s.labeled, Profiles: s.profile,
		Batch: s.batch, ForeignLimit: foreignLimit,
	}
	b := bench{settings: s, cluster: c, client: client, placed: bound}
	for round := 0; round < s.rounds; round += s.block {
		for _, d := range contenders {
			if err := b.allowed(ctx); err != nil {
				return err
			}
			rounds, err := b.block(ctx, d, round, min(s.block, s.rounds-round))
			if err != nil {
				return fmt.Errorf("%s: %w", d.plugin, err)
			}
			record.Rounds = append(record.Rounds, rounds...)
			record.Time = results.Now("").Time
			if err := results.Write(s.records, fmt.Sprintf("throughput-%d-%d-%d", s.nodes, s.labeled, s.profile), record); err != nil {
				return err
			}
		}
		slices.Reverse(contenders)
	}
	_, err = fmt.Fprint(s.out, results.ThroughputTable([]results.Throughput{record}))
	return err
}

// bench is a populated cluster without a scheduler.
type bench struct {
	settings
	cluster *controlplane.Cluster
	client  kubernetes.Interface
	placed  *placements
}

// allowed waits until the file exists that says when to measure.
func (b *bench) allowed(ctx context.Context) error {
	for b.when != "" {
		if _, err := os.Stat(b.when); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return ctx.Err()
}

// atRest is the part of a CPU that a scheduler takes at most in a second in which
// it counts as having nothing to do.
const atRest = 0.1

// rested waits until the schedulers have nothing to do: what it does once after its
// start, and once for every application, is no part of a round.
func (b *bench) rested(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		before, err := now(b.cluster)
		if err != nil {
			return err
		}
		start := time.Now()
		select {
		case <-ctx.Done():
			return fmt.Errorf("the schedulers are not at rest after %v: %w", patience, ctx.Err())
		case <-time.After(time.Second):
		}
		after, err := now(b.cluster)
		if err != nil {
			return err
		}
		if used := after.since(before).scheduler; max(used[without], used[with]) <= atRest*time.Since(start).Seconds() {
			return nil
		}
	}
}

// block starts the schedulers of a contender, warms them up by two batches without
// and two with the plugin, measures rounds and stops them. In every other round the
// plugin goes first.
func (b *bench) block(ctx context.Context, d contender, first, rounds int) (done []results.Round, err error) {
	if err := d.start(ctx, b.cluster); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop(b.cluster)) }()
	if err := b.rested(ctx); err != nil {
		return nil, err
	}
	for _, scheduler := range []string{without, with, with, without} {
		if _, err := b.batch(ctx, scheduler, -1); err != nil {
			return nil, err
		}
	}
	if err := b.rested(ctx); err != nil {
		return nil, err
	}
	for i := range rounds {
		r := results.Round{Plugin: d.plugin, Scheduler: d.version}
		order := []string{without, with}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, scheduler := range order {
			measured, err := b.batch(ctx, scheduler, first+i)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "round %d: %s, %s: %.0f pods/s, %.2f ms of its CPU a pod, %.2f of it garbage that is due, %.1f%% foreign, %.1f%% stolen\n", first+i, d.plugin, scheduler,
				measured.PodsPerSecond, 1000*measured.SchedulerSecondsPerPod, 1000*measured.GarbageSecondsPerPod, 100*measured.Foreign, 100*measured.Steal)
			if scheduler == with {
				r.With = measured
			} else {
				r.Without = measured
			}
		}
		done = append(done, r)
	}
	return done, d.check()
}
