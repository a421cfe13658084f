package bench

import (
	"context"
	"errors"
	"time"

	"bandmate.dev/bandmate/modulation"
)

// Recording is a whole run of a program alone.
type Recording struct {
	// Wall is how long the run took.
	Wall time.Duration
	// Progress has what was counted and when, the end included.
	Progress []modulation.Progress
	// Count is the last one, read at the time at, and steps how often it was seen to
	// change.
	Count float64
	at    time.Duration
	steps int
	// reads counts the readings.
	reads int
	// close are those between readings at most closeReadings apart, and finest those
	// between readings that followed each other at once.
	close, finest modulation.Steps
	// polls counts the other readings, and grown those before which the count had grown.
	polls, grown int
}

const (
	// closeReadings is how far apart two readings are between which few changes are
	// missed. A busy machine keeps the reader from its CPU for longer.
	closeReadings = time.Millisecond
	// awake is how long the reader does not sleep after it was kept from its CPU, so that
	// some readings are close.
	awake = time.Millisecond
	// enoughClose is how much time between close readings tells how often a count changes.
	enoughClose = 20 * time.Millisecond
	// atOnce is how far apart two readings are at most that follow each other at once.
	atOnce = 5 * time.Microsecond
	// finePerSecond is how often a fine count changes at least: a slice has hundreds of
	// changes. enoughFine is the time in which that shows, and mostlyFine the share of polls
	// that find the count grown, also in a program whose CPU others hold now and then.
	finePerSecond = 100_000
	enoughFine    = 200 * time.Microsecond
	mostlyFine    = 0.75
	// leastPerRun is the least number of steps in a run that slices are made for: as
	// many as three blocks hold.
	leastPerRun = 120
)

// Rate returns how often the count changes per second.
func (r *Recording) Rate() float64 {
	if r.close.Seen() < enoughClose {
		return float64(r.steps) / r.Wall.Seconds()
	}
	return r.close.Rate()
}

// Fine reports whether the count grows all the time, in steps of some microseconds.
func (r *Recording) Fine() bool {
	return r.finest.Seen() >= enoughFine && r.finest.Rate() >= finePerSecond &&
		float64(r.grown) >= mostlyFine*float64(r.polls)
}

// PerSecond is rate for slices. Where changes come in bunches, slices hold several, but a
// run has to hold some blocks. A fine count seems to come in bunches where others hold the
// program's CPU now and then.
func (r *Recording) PerSecond() float64 {
	if r.Fine() {
		return r.finest.Rate()
	}
	if r.close.Seen() < enoughClose {
		return r.Rate()
	}
	return min(r.Rate(), max(r.close.PerSecond(), leastPerRun/r.Wall.Seconds()))
}

// record runs the program alone beside spinning CPUs; again where a busy machine ran all of
// it before its count was read often enough to show its steps. The program must not have
// been started.
func (p *Program) record(ctx context.Context) (r Recording, err error) {
	for range mostStarts {
		r, err = p.recordOnce(ctx)
		if err == nil && r.reads < FewestTicks || errors.Is(err, modulation.ErrEnded) {
			continue
		}
		return r, err
	}
	if err != nil {
		err = p.endedUncounted()
	}
	return r, err
}

// recordOnce runs the program once. The error wraps ErrEnded where it ended before its count
// could be read.
func (p *Program) recordOnce(ctx context.Context) (r Recording, err error) {
	begin := p.clock.Now()
	if err := p.launch(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	var awakeUntil time.Duration
	for {
		n, at, err := p.Read()
		switch {
		case errors.Is(err, modulation.ErrEnded):
			r.add(n, at-begin, true)
			e, err := p.process.Wait()
			if err == nil && r.steps == 0 && p.run.Unchanged != nil {
				err = p.run.Unchanged(p.command.String())
			}
			r.Wall = e.Wall
			return r, err
		case err != nil:
			return r, err
		case ctx.Err() != nil:
			return r, ctx.Err()
		}
		if at-begin-r.at > closeReadings || r.steps > 0 && awakeUntil == 0 {
			awakeUntil = at + awake
		}
		r.add(n, at-begin, false)
		if at >= awakeUntil {
			p.clock.Sleep(recordPoll)
		}
	}
}

const (
	// recordPoll is how often the count is read.
	recordPoll = 200 * time.Microsecond
	// recordParts of the run so far are kept, so that a run of hours needs a few
	// megabytes.
	recordParts = 50_000
)

// add adds a count, and keeps it when the run has gone on since the last, or ends.
func (r *Recording) add(count float64, at time.Duration, ended bool) {
	r.reads++
	kept := len(r.Progress)
	changed := 0
	if kept > 0 && count != r.Count {
		changed = 1
	}
	r.steps += changed
	gap := at - r.at
	if kept > 0 && gap <= closeReadings {
		r.close.Add(gap, changed > 0)
	} else {
		r.close.Missed()
	}
	if kept > 0 && gap <= atOnce {
		r.finest.Add(gap, changed > 0)
	} else {
		r.polls++
		r.grown += changed
	}
	r.Count, r.at = count, at
	if kept == 0 || ended || at.Seconds()-r.Progress[kept-1].Seconds >= at.Seconds()/recordParts {
		r.Progress = append(r.Progress, modulation.Progress{Count: count, Seconds: at.Seconds()})
	}
}

// FewestTicks is the fewest changes of a count in a run that is to be divided.
const FewestTicks = 50
