// Command kernelbench measures the kernels of internal/kernel against the same
// traffic from a C compiler, from likwid-bench and from stress-ng.
//
//	go run ./hack/kernelbench                        # all, about 10 minutes
//	go run ./hack/kernelbench -shares 75% -raw x.csv # one read share
//	go run ./hack/kernelbench -rounds 0 -raw x.csv   # the tables of a past run
//
// Contestants for the same read share take turns, in a new order every round, all on
// the same CPU, so that a ratio compares neighbors in time. Between two rounds, a
// core-to-core ping-pong determines the placement of a virtual machine's CPUs. A round
// is discarded if that changed during it, and the tables show only the regime with the
// most rounds. Bandwidth is bytes at the memory controller by line accounting: what
// other programs do not count (the read that a plain store causes) is added, see
// rivals.go.
//
// It needs gcc, and on Debian the packages stress-ng and likwid
// (apt-get install gcc libc6-dev stress-ng likwid); what is missing is left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// options are the flags.
type options struct {
	shares    []units.ReadShare
	rounds    int
	roundTime time.Duration
	cpu       int
	bufferMiB int
	raw       string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kernelbench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("kernelbench", flag.ContinueOnError)
	shares := flags.String("shares", "100%,80%,75%,71.4%,66.7%,50%,25%,0%", "read shares to measure")
	flags.IntVar(&o.rounds, "rounds", 10, "turns of every contestant; 0 only prints the raw file")
	flags.DurationVar(&o.roundTime, "round-time", 200*time.Millisecond, "length of a turn")
	flags.IntVar(&o.cpu, "cpu", 0, "the CPU to run on (likwid-bench takes the first one anyway)")
	flags.IntVar(&o.bufferMiB, "buffer", 256, "size of the buffer in MiB, at least 8 × the last-level cache")
	flags.StringVar(&o.raw, "raw", "", "CSV file that keeps every turn; an existing one is continued")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	for text := range strings.SplitSeq(*shares, ",") {
		share, err := units.ParseReadShare(text)
		if err != nil {
			return options{}, fmt.Errorf("-shares: %w", err)
		}
		o.shares = append(o.shares, share)
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	turns, err := readTurns(o.raw)
	if err != nil {
		return err
	}
	if o.rounds > 0 {
		fresh, err := measureAll(ctx, o)
		if err != nil {
			return err
		}
		turns = append(turns, fresh...)
	}
	return report(os.Stdout, turns)
}

// measureAll runs every read share's contestants against each other.
func measureAll(ctx context.Context, o options) (_ []turn, err error) {
	runtime.LockOSThread()
	if err := pin(o.cpu); err != nil {
		return nil, err
	}
	stable, err := newStable(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stable.close()) }()
	var turns []turn
	for _, share := range o.shares {
		fresh, err := measure(ctx, o, share, stable.contestants(share))
		turns = append(turns, fresh...)
		if err != nil {
			return turns, err
		}
	}
	return turns, nil
}

// rest is the pause before each turn.
const rest = 50 * time.Millisecond

// measure lets contestants of one read share take turns.
func measure(ctx context.Context, o options, share units.ReadShare, contestants []contestant) ([]turn, error) {
	var turns []turn
	before, err := where(ctx, o.cpu)
	if err != nil {
		return nil, err
	}
	for round := range o.rounds {
		first := len(turns)
		begin := time.Now().UnixMilli()
		for _, i := range rand.Perm(len(contestants)) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			c := contestants[i]
			// Programs that have to start first have rested, and run faster
			// for a while: so all rest.
			time.Sleep(rest)
			results, err := c(ctx, o.roundTime)
			if err != nil {
				return nil, fmt.Errorf("read share %v: %w", share, err)
			}
			for _, r := range results {
				turns = append(turns, turn{Share: share, Round: begin, Contestant: r.name, Bandwidth: r.bandwidth})
			}
		}
		after, err := where(ctx, o.cpu)
		if err != nil {
			return nil, err
		}
		for i := range turns[first:] {
			turns[first+i].Before, turns[first+i].After = before.Class, after.Class
		}
		if err := appendTurns(o.raw, turns[first:]); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "read share %v, round %d of %d, %v\n", share, round+1, o.rounds, after)
		before = after
	}
	return turns, nil
}

// where probes the regime between the CPU that is measured and another one; the
// zero Tag if there is no other.
func where(ctx context.Context, cpu int) (regime.Tag, error) {
	if runtime.NumCPU() < 2 {
		return regime.Tag{}, nil
	}
	other := (cpu + 1) % runtime.NumCPU()
	return regime.Probe(ctx, cpu, other)
}

// pin keeps the calling thread, and the processes it starts, on a CPU.
func pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run on CPU %d (choose another with -cpu): %w", cpu, err)
	}
	return nil
}

// stable holds what contestants share.
type stable struct {
	own    *own
	c      *cProcess // nil without a C compiler
	rivals []rival
}

func newStable(ctx context.Context, o options) (*stable, error) {
	own, err := newOwn(o.bufferMiB)
	if err != nil {
		return nil, err
	}
	s := &stable{own: own, rivals: rivals(o)}
	if s.c, err = startC(ctx, o.bufferMiB); err != nil {
		fmt.Fprintln(os.Stderr, "kernelbench: without the C kernels:", err)
	}
	return s, nil
}

// contestants returns all that make traffic of a read share, ours first.
func (s *stable) contestants(share units.ReadShare) []contestant {
	all := s.own.contestants(share)
	if s.c != nil {
		all = append(all, s.c.contestants(share)...)
	}
	for _, r := range s.rivals {
		if slices.ContainsFunc(r.shares, func(other units.ReadShare) bool { return near(share, other) }) {
			all = append(all, r.at(share))
		}
	}
	return all
}

func (s *stable) close() error {
	err := s.own.close()
	if s.c != nil {
		err = errors.Join(err, s.c.close())
	}
	return err
}

// near reports whether two read shares are the same, as far as a percentage
// with one decimal tells.
func near(a, b units.ReadShare) bool { return a-b < 0.001 && b-a < 0.001 }
