// Evaluate-communication compares predictions with communication with real co-runs: it
// runs applications that compute beside applications that send over a rate-limited
// link, and beside each other, onboards all of them, and writes the profiles and the
// measured slowdowns.
//
//	hack/evaluate-communication.sh --output docs/results/models/communication
//
// The script makes the link, from the network namespace that this program runs in
// to another one. Every sender has its receiver on its own CPU, so that two
// applications share nothing but memory and the link. What was measured is kept in
// the folder: run it again to go on.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"bandmate.dev/bandmate/hack/study"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/units"
)

const name = "evaluate-communication"

func main() { study.Main(name, dispatch) }

// Names of the parts in which the program starts itself.
const (
	partExchange = "exchange"
	partSample   = "sample"
)

func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case partExchange:
			return exchangeMain(ctx, args[1:])
		case partSample:
			return sampleMain(ctx, args[1:])
		}
	}
	return run(ctx, args)
}

func run(ctx context.Context, args []string) error {
	s := study.Study{Name: name}
	flags := s.Flags()
	text := flags.String("rate", "500MB/s", "what the link carries")
	far := flags.String("far", "", "network namespace at the far end of the link")
	if err := flags.Parse(args); err != nil {
		return err
	}
	rate, err := units.ParseBandwidth(*text)
	if err != nil {
		return fmt.Errorf("--rate: %w", err)
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if *far == "" {
		return errors.New("--far is missing: hack/evaluate-communication.sh makes the link")
	}
	verified, err := s.Measure(ctx, measurement(programs(*far), rate))
	if err != nil || verified == nil {
		return err
	}
	if err := study.WriteProfiles(s.Output, verified.Machine, verified.Profiles); err != nil {
		return err
	}
	return study.WriteCSV(filepath.Join(s.Output, "corun.csv"), pairRows(verified.Pairs))
}

func pairRows(pairs []onboard.Pair) [][]string {
	rows := [][]string{{"target", "corunner", "normalizedPerformance", "spread", "repeats"}}
	for _, p := range pairs {
		rows = append(rows, []string{
			p.Target, p.Corunner, study.Number(float64(p.NormalizedPerformance)), study.Optional(p.Spread), strconv.Itoa(p.Repeats),
		})
	}
	return rows
}
