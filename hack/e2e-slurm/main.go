// Command e2e-slurm plays random queues on a real Slurm cluster, each of them twice at
// the same time: in a partition where a watch knows the applications of the jobs, and in
// another with as many nodes where it knows none. hack/e2e-slurm-watch.sh starts the
// cluster and the watch:
//
//	QUEUES=300 hack/e2e-slurm-watch.sh queues
//
// While a job of the first partition stays off nodes, Slurm is asked whether it would
// start at once without that (sbatch --test-only). The command fails if Slurm says so for
// longer than -patience: a round of the watch, and Slurm's next look at the queue. In
// every second queue some jobs have limits; there Slurm is asked about nodes that nobody
// uses, on which no limit can be exceeded.
//
// It prints by how much jobs started later or earlier than their twins. A job may start
// later although no node is kept from it: where other jobs are spread over more nodes, one
// that needs a whole node waits for them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.queues, "queues", 4, "number of queues")
	flag.IntVar(&o.pairs, "pairs", 2, "pairs of partitions, with1 and without1 and so on, of 4 nodes each: as many queues play at once")
	flag.Uint64Var(&o.seed, "seed", 16, "of the random queues; the same queues for the same seed")
	flag.DurationVar(&o.patience, "patience", 6*time.Second, "how long a job may stay off nodes on which Slurm would start it")
	flag.StringVar(&o.program, "program", "", "script that the jobs run, with a number of seconds to last")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	queues, pairs int
	seed          uint64
	patience      time.Duration
	program       string
}

func (o *options) run(ctx context.Context, w io.Writer) error {
	l := newLookout(o.patience)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() {
		failed <- l.watch(watching)
		stop()
	}()

	var mu sync.Mutex
	var all []outcome
	next := make(chan int)
	faults := make([]error, o.pairs)
	var players sync.WaitGroup
	for k := range o.pairs {
		players.Go(func() {
			t := newTable(k+1, o.program, l)
			for number := range next {
				outcomes, err := t.play(watching, randomQueue(o.seed, number))
				if err != nil {
					faults[k] = fmt.Errorf("queue %d: %w", number, err)
					stop()
					return
				}
				mu.Lock()
				all = append(all, outcomes...)
				mu.Unlock()
			}
		})
	}
feed:
	for number := range o.queues {
		select {
		case next <- number:
		case <-watching.Done():
			break feed
		}
	}
	close(next)
	players.Wait()
	stop()
	if err := <-failed; err != nil {
		return err
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return o.summarize(w, all, l)
}

// telling is how many queues have to keep some job off a node: of few, none may.
const telling = 100

// summarize prints what happened. The error is that nothing did.
func (o *options) summarize(w io.Writer, all []outcome, l *lookout) error {
	kept, late, lateKept := 0, 0, 0
	var later []int
	sum := 0
	for _, each := range all {
		later = append(later, each.later)
		sum += each.later
		if each.kept {
			kept++
		}
		if time.Duration(each.later)*time.Second > o.patience {
			late++
			if each.kept {
				lateKept++
			}
		}
	}
	if len(all) == 0 || kept == 0 && o.queues >= telling {
		return fmt.Errorf("of %d jobs none stayed off a node: the queues test nothing", len(all))
	}
	slices.Sort(later)
	part := func(share float64) int { return later[int(share*float64(len(later)-1))] }
	fmt.Fprintf(w, "%d queues, %d jobs, of which %d stayed off nodes\n", o.queues, len(all), kept)
	fmt.Fprintf(w, "longest that a job stayed off nodes on which Slurm would have started it: %.1f s, asked %d times\n", l.longest.Seconds(), l.asked)
	fmt.Fprintf(w, "start with the watch − without: mean %+.2f s, 5%% %+d s, median %+d s, 95%% %+d s, earliest %+d s, latest %+d s\n",
		float64(sum)/float64(len(all)), part(0.05), part(0.5), part(0.95), later[0], later[len(later)-1])
	fmt.Fprintf(w, "later by more than %v: %d jobs, of which %d had stayed off nodes\n", o.patience, late, lateKept)
	return nil
}
