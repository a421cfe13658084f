package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/onboard/launch"
)

// observePrecision is the standard error of a 90% interval of about a point to
// each side.
var observePrecision = modulation.Precision{StandardError: 0.006, Fewest: 10, Most: 10_000}

// observeStarted starts both programs.
func observeStarted(ctx context.Context, a *cli.App, args []string, f observeFlags) (err error) {
	corunner, err := cli.SplitWords(f.beside.command)
	if err == nil && len(corunner) == 0 {
		err = errors.New("no command")
	}
	if err != nil {
		return cli.Usagef("--beside %q: %w", f.beside.command, err)
	}
	source, err := f.progress.Source()
	if err != nil {
		return err
	}
	placing, err := f.placement.Placing()
	if err != nil {
		return err
	}
	session, err := bench.Open(ctx, placing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	a.Note(session.Placement.Explanation)
	progress := a.NewProgress()
	defer progress.Done()
	duet := &onboard.Duet{
		Session: session, Target: launch.Command{Args: args}, Beside: launch.Command{Args: corunner}, Source: source,
		Precision: observePrecision, Budget: f.duration, Report: progress.Share,
	}
	found, err := duet.Run(ctx)
	progress.Done()
	if errors.Is(err, bench.ErrApart) {
		return fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
	}
	if errors.Is(err, bench.ErrNoTicks) {
		return adviseProgress(err, "--progress, "+ofRunning)
	}
	if err != nil {
		return err
	}
	target := observedProgram{Command: strings.Join(args, " ")}
	result := newResult(target, found.Ticks, found.Elapsed)
	result.Placement = found.Class
	result.Beside = []observedNeighbor{newObservedNeighbor(observedProgram{Command: strings.Join(corunner, " ")}, found.Beside, found.PausedShare)}
	result.control(found.Control)
	if found.Dropped > 0 {
		a.Notef("%d parts of the measurement were dropped because the CPUs moved.\n", found.Dropped)
	}
	return a.Print(result, result.write(a))
}

// ofRunning are the flags that name what counts the progress of a program that runs already.
const ofRunning = "--progress-file, --progress-url or --progress-function"

// adviseProgress adds a remedy where the progress of a program cannot be followed.
func adviseProgress(err error, flags string) error {
	return fmt.Errorf("%w: %w; name what counts its progress with %s; bandmate doctor says what counts here", cli.ErrNotMeasurable, err, flags)
}
