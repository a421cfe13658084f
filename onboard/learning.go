package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/ticks"
)

const (
	// soloPatience is the time after which no further run alone is made to learn
	// how equal ticks are.
	soloPatience = 4 * time.Second
	// mostSolos bounds these runs. The first trajectoryRuns are made all the same,
	// unless they take longer than longestTrajectory each.
	mostSolos         = 5
	trajectoryRuns    = 3
	longestTrajectory = 20 * time.Second
	// unequalTicks is the variation from which ticks are made equal: a good deal
	// above what noise alone shows.
	unequalTicks = 0.05
)

// choose finds the ticks of the program, with runs alone.
func (t *ticked) choose(ctx context.Context, p *bench.Program) error {
	if t.Ticking.Source != nil {
		p.Source = t.Ticking.Source
		return t.learn(ctx, p)
	}
	p.Source = ticks.Page{}
	own := t.learn(ctx, p)
	if !usableOther(own) {
		return own
	}
	countsItself := t.counted > 0 || errors.Is(own, ticks.ErrUnavailable)
	t.tell(learning, 0.25, "what counts the work of "+t.Application.Name)
	candidates, err := t.discover(ctx, p)
	if err != nil {
		return err
	}
	err = errNoCandidate
	for _, c := range candidates {
		p.Source = c.Source
		if err = t.learn(ctx, p); !usableOther(err) {
			return err
		}
	}
	if countsItself {
		err = fmt.Errorf("%w; %w", own, err)
	}
	return fmt.Errorf("%s: %w: neither counts of its own, nor instructions, nor a function that it calls or what it reads and writes tell its progress (%w)", t.Application.Name, bench.ErrNoTicks, err)
}

// errNoCandidate is why a program without steady counts has no ticks.
var errNoCandidate = errors.New("nothing grows often and steadily enough")

// usableOther reports whether another source may do where one failed.
func usableOther(err error) bool {
	return errors.Is(err, bench.ErrNoTicks) || errors.Is(err, ticks.ErrUnavailable)
}

// mostCandidates bounds the sources that are tried after a discovery.
const mostCandidates = 3

// discover looks for counts that grow steadily, the best first.
func (t *ticked) discover(ctx context.Context, p *bench.Program) ([]ticks.Candidate, error) {
	found, err := t.Stage.Discover(ctx, p)
	if errors.Is(err, ticks.ErrNothingCounts) {
		err = nil
	}
	return found[:min(len(found), mostCandidates)], err
}

// learn runs the program alone until it is known how equal its ticks are.
func (t *ticked) learn(ctx context.Context, p *bench.Program) error {
	p.Equal = nil
	var runs [][]modulation.Progress
	for begin := time.Now(); len(runs) == 0 || len(runs) < mostSolos && time.Since(begin)+lastOf(t.solo) < soloPatience ||
		len(runs) < trajectoryRuns && lastOf(t.solo) < longestTrajectory; {
		r, err := t.Stage.Record(ctx, p)
		if err != nil {
			return err
		}
		if r.Wall < tooShort {
			return errTooShort(t.Application.Name, r.Wall)
		}
		t.solo = append(t.solo, r.Wall.Seconds())
		t.perSecond = r.PerSecond()
		// A page is counted by the program itself, as evenly as it works.
		_, isPage := p.Source.(ticks.Page)
		p.Fine = isPage && r.Fine()
		t.counted = r.Count
		if changes := r.Rate() * r.Wall.Seconds(); changes < bench.FewestTicks {
			return fmt.Errorf("%w: %s: the count changed %.0f times in %v: want %d times, so that the run can be divided: give it more work, or have it count smaller units (output that is not to a terminal may be buffered: stdbuf -oL)", bench.ErrNoTicks, p.Source.Name(), changes, r.Wall.Round(time.Millisecond), bench.FewestTicks)
		}
		runs = append(runs, r.Progress)
		if len(runs) == 1 && modulation.Unsteadiness(r.Progress) <= unequalTicks {
			return nil
		}
	}
	trajectory, err := modulation.NewTrajectory(runs)
	if err == nil && trajectory.Variation > unequalTicks {
		p.Equal = trajectory
	}
	return nil
}

func lastOf(seconds []float64) time.Duration {
	if len(seconds) == 0 {
		return 0
	}
	return time.Duration(seconds[len(seconds)-1] * float64(time.Second))
}
