// Evaluate-communication checks what Bandmate makes of communication against
// real co-runs: it runs applications that compute beside applications that send
// over a rate-limited link, and beside each other, onboards all of them, and
// writes the profiles and the measured slowdowns.
//
//	go build -o /tmp/evaluate-communication ./hack/evaluate-communication
//	/tmp/evaluate-communication --output docs/results/models/communication
//
// The link is a pair of virtual interfaces between two network namespaces, which
// take root and iproute2. Every sender has its receiver on its own CPU, so that
// two applications share nothing but memory and the link. What was measured is
// kept in the journal: run it again to go on.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/units"
)

func main() {
	interferer.RunIfChild()
	onboard.RunIfGuard()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "evaluate-communication:", err)
		os.Exit(1)
	}
}

// Names of the parts in which the program starts itself.
const (
	partExchange  = "exchange"
	partNamespace = "namespace"
	partSample    = "sample"
)

func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case partExchange:
			return exchangeMain(ctx, args[1:])
		case partNamespace:
			return holdNamespace(ctx)
		case partSample:
			return sampleMain(ctx, args[1:])
		}
	}
	return run(ctx, args)
}

type options struct {
	output  string
	journal string
	rate    units.Bandwidth
	repeats int
	slice   time.Duration
}

func run(ctx context.Context, args []string) error {
	var o options
	var rate string
	flags := flag.NewFlagSet("evaluate-communication", flag.ContinueOnError)
	flags.StringVar(&o.output, "output", "evaluate-communication", "folder for the profiles and the co-runs")
	flags.StringVar(&o.journal, "journal", "", "file of the samples (default: journal.jsonl in the folder)")
	flags.StringVar(&rate, "rate", "500MB/s", "what the link carries")
	flags.IntVar(&o.repeats, "repeats", 5, "repeats of each condition")
	flags.DurationVar(&o.slice, "slice", time.Hour, "stop after that time, to be gone on with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.rate, err = units.ParseBandwidth(rate); err != nil {
		return fmt.Errorf("--rate: %w", err)
	}
	if o.repeats < 2 || o.slice <= 0 {
		return fmt.Errorf("--repeats %d, --slice %v: want 2 or more, and a time", o.repeats, o.slice)
	}
	if o.journal == "" {
		o.journal = filepath.Join(o.output, "journal.jsonl")
	}
	far, err := enterNamespaces(ctx)
	if err != nil || far == "" {
		return err
	}
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return err
	}
	l, err := makeLink(ctx, far, o.rate)
	if err != nil {
		return err
	}
	sliced, stop := context.WithTimeout(ctx, o.slice)
	defer stop()
	e, err := measure(sliced, o, l)
	if err != nil && sliced.Err() != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "time is up: run it again to go on")
		return nil
	}
	if err != nil {
		return err
	}
	return e.write(o.output)
}
