package onboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/ticks"
)

// Duet measures what one program costs another, which both run on the
// session's CPUs: the neighbor is paused and continued in slices beside the
// target. A program that ends is started again.
type Duet struct {
	Session *Session
	// Target runs on the application's CPUs, Beside on the interferer's.
	Target, Beside launch.Command
	// Source counts the target's work; nil has it found out.
	Source    ticks.Source
	Precision modulation.Precision
	// Budget bounds the time of the measurement.
	Budget time.Duration
	// Report is told the share of the time that has passed, 0 to 1, and what runs
	// now; may be nil.
	Report func(share float64, what string)
}

// DuetResult is what a duet found.
type DuetResult struct {
	// Ticks names the count of the target's work.
	Ticks string
	// Beside is the target's performance beside the neighbor ÷ beside the paused
	// neighbor, Control the same where nothing differs.
	Beside, Control modulation.Estimate
	// PausedShare is the share of the time for which the neighbor was paused.
	PausedShare float64
	// Elapsed is the time of the measurement.
	Elapsed time.Duration
	Class   regime.Class
	// Dropped counts blocks taken in other regimes or while it changed, Lost those
	// that ended early.
	Dropped, Lost int
}

// duet is one run of a Duet.
type duet struct {
	*Duet
	*stage
	target   *program
	neighbor *neighbor
	begin    time.Duration
}

// besideNeighbor names the comparison of a duet.
const besideNeighbor = "neighbor"

// Run observes. The error wraps ErrNoTicks where nothing tells the target's
// progress.
func (o *Duet) Run(ctx context.Context) (result *DuetResult, err error) {
	r := &duet{Duet: o}
	if r.stage, err = o.Session.openStage(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.stage.close()) }()
	r.target = r.program(o.Target, o.Source, true)
	r.neighbor = &neighbor{program: r.program(o.Beside, uncounted{}, false)}
	r.parties = [2]modulation.Party{r.target, r.neighbor}
	r.report(0, "the target alone")
	if r.target.source == nil {
		if r.target.source, err = r.find(ctx); err != nil {
			return nil, err
		}
	}
	return r.observe(ctx)
}

func (r *duet) report(share float64, what string) {
	if r.Report != nil {
		r.Report(share, what)
	}
}

const (
	// pageTrial is the CPU time that a program may take to find its page, and
	// pagePatience the time where it waits or others hold its CPUs.
	pageTrial, pagePatience = time.Second, 10 * time.Second
	// besideShare is how many readings the slowdown gets for each of the control.
	besideShare = 4
	// warmUp is what the neighbor is given to begin its work.
	warmUp = 200 * time.Millisecond
)

// find finds out what counts the target's work.
func (r *duet) find(ctx context.Context) (ticks.Source, error) {
	counts, err := r.countsItself(ctx)
	if err != nil || counts {
		return ticks.Page{}, err
	}
	instructions := ticks.Instructions{}
	_, unavailable := instructions.Prepare()
	if unavailable == nil {
		return instructions, nil
	}
	var found []ticks.Candidate
	err = r.control(ctx, func() error {
		if err := r.interferers.request(spinning); err != nil {
			return err
		}
		found, err = ticks.Discover(ctx, r.launch)
		return err
	})
	if errors.Is(err, ticks.ErrNothingCounts) {
		return nil, fmt.Errorf("%q: %w: it neither counts its work itself, nor reads or writes steadily, nor calls a function that can be counted, and %w", r.Target.String(), ErrNoTicks, unavailable)
	}
	if err != nil {
		return nil, err
	}
	return found[0].Source, nil
}

// launch starts the target to be watched.
func (r *duet) launch(ctx context.Context) (pid int, stop func(), err error) {
	p := *r.target
	p.source = uncounted{}
	if err := p.launch(ctx); err != nil {
		return 0, nil, err
	}
	// What its end says does not matter: it is ended.
	return p.process.PID, func() { _ = p.stop() }, nil
}

// countsItself reports whether the target counts into a page.
func (r *duet) countsItself(ctx context.Context) (counts bool, err error) {
	p := *r.target
	p.source = ticks.Page{}
	err = p.launch(ctx)
	if errors.Is(err, ticks.ErrUnavailable) || errors.Is(err, modulation.ErrEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	found := false
	for begin := p.clock.Now(); ctx.Err() == nil; pause(ctx, startPoll) {
		n, at, err := p.Read()
		if n > 0 {
			return true, nil
		}
		if errors.Is(err, modulation.ErrEnded) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		found = found || p.run.Found(p.process.PID)
		if waited := at - begin; waited >= firstTick || !found && (p.cpuTime() >= pageTrial || waited >= pagePatience) {
			return false, nil
		}
	}
	return false, ctx.Err()
}

// observe measures with the ticks that were chosen.
func (r *duet) observe(ctx context.Context) (result *DuetResult, err error) {
	if err := r.target.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.target.stop()) }()
	steps, err := r.steps(ctx)
	if err != nil {
		return nil, err
	}
	slicing, err := modulation.SlicingFor(steps)
	if err != nil {
		return nil, fmt.Errorf("%q: %w: %s: %w", r.Target.String(), ErrNoTicks, r.target.source.Name(), err)
	}
	if err := r.neighbor.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.neighbor.stop()) }()
	r.begin = r.target.clock.Now()
	plan := r.plan(slicing)
	if err := r.run(ctx, plan); err != nil {
		if errors.Is(err, modulation.ErrStalled) {
			err = fmt.Errorf("%q: %w: %s: %w", r.Target.String(), ErrNoTicks, r.target.source.Name(), err)
		}
		return nil, err
	}
	elapsed := r.target.clock.Now() - r.begin
	return r.result(plan, elapsed)
}

// steps returns how often the count of the target, which is paused, grows in a
// second. The error wraps ErrNoTicks where the target ends before, again and again.
func (r *duet) steps(ctx context.Context) (float64, error) {
	p := r.target
	for range mostStarts {
		if err := p.Switch(true); err != nil {
			return 0, err
		}
		n, err := modulation.StepRate(ctx, p.clock, func() (float64, error) {
			n, _, err := p.Read()
			return n, err
		})
		if !errors.Is(err, modulation.ErrEnded) {
			return n, errors.Join(err, p.Switch(false))
		}
		if err := p.again(ctx); err != nil {
			return 0, err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: %s: %q ended before it was seen how often its count grows: give it more work", ErrNoTicks, p.source.Name(), p.command.String())
}

func (r *duet) plan(slicing modulation.Slicing) *modulation.Plan {
	name := r.Target.String()
	elapsed := func() time.Duration { return r.target.clock.Now() - r.begin }
	return &modulation.Plan{
		Bench: r.bench(slicing), Precision: r.Precision, Budget: r.Budget, Probe: r.probe,
		Again: r.again, Choosing: &modulation.Choosing{},
		Report: func(float64) { r.report(min(elapsed().Seconds()/r.Budget.Seconds(), 1), name) },
		Points: []modulation.Point{{
			States:  []modulation.State{firstAlone, together},
			Compare: []modulation.Comparison{{Name: besideNeighbor, Party: 0, On: 1, Off: 0, Effect: 1}},
			Share:   besideShare,
		}, {
			States: []modulation.State{firstAlone, firstAlone},
			Compare: []modulation.Comparison{{
				Name: control, Party: 0, On: 1, Off: 0,
				StandardError: math.Sqrt(besideShare) * r.Precision.WithDefaults().StandardError,
			}},
		}},
	}
}

// result returns what the plan found in the regime that it saw most.
func (r *duet) result(plan *modulation.Plan, elapsed time.Duration) (*DuetResult, error) {
	class := plan.Outcome.Complete(plan.Precision.Fewest)
	readings := plan.Outcome.Readings[class]
	if len(readings[besideNeighbor]) == 0 || len(readings[control]) == 0 {
		return nil, fmt.Errorf("%q: nothing was measured in %v: %d parts of the measurement were dropped because the CPUs moved, and %d because a program ended or stood still: repeat the measurement, or measure for longer",
			r.Target.String(), elapsed.Round(time.Millisecond), plan.Outcome.Dropped, plan.Outcome.Lost)
	}
	return &DuetResult{
		Ticks:  r.target.source.Name(),
		Beside: modulation.Summarize(readings[besideNeighbor], r.Random), Control: modulation.Summarize(readings[control], r.Random),
		PausedShare: min(r.neighbor.spent().Seconds()/elapsed.Seconds(), 1),
		Elapsed:     elapsed, Class: class, Dropped: circumstancesOf(plan.Outcome, class).dropped, Lost: plan.Outcome.Lost,
	}, nil
}

// neighbor is a program of which nothing is counted. The whole tree of its
// processes is paused, whatever session they are in.
type neighbor struct {
	*program
	group *pausing.Group
	off   bool
	since time.Duration
	// paused is the time for which it was paused.
	paused time.Duration
}

// longestOff bounds the pauses of a neighbor that ends with this process anyway:
// it waits for probes of the placement.
const longestOff = time.Minute

// start starts the command, lets it work for a while, and pauses it.
func (n *neighbor) start(ctx context.Context) error {
	if err := n.yieldCPUs(); err != nil {
		return err
	}
	if err := n.launch(ctx); err != nil {
		return err
	}
	err := n.hold(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, modulation.ErrEnded) {
		if _, failed := n.process.Wait(); failed != nil {
			err = failed
		}
	}
	return errors.Join(err, n.stop())
}

// hold takes hold of the command that was just started.
func (n *neighbor) hold(ctx context.Context) (err error) {
	if n.group, err = pausing.Processes(n.process.PID); err != nil {
		select {
		case <-n.process.Done:
			err = modulation.ErrEnded
		default:
			err = neighborEnded(err)
		}
		return fmt.Errorf("%q: %w", n.command.String(), err)
	}
	n.session.launcher.Know(n.group.Watchdog())
	n.group.SetLongest(longestOff)
	pause(ctx, warmUp)
	if _, _, err := n.Read(); err != nil {
		return fmt.Errorf("within %v: give it more work: %w", warmUp, err)
	}
	n.off = false
	return n.Switch(false)
}

// neighborEnded makes the end of a process that of the program.
func neighborEnded(err error) error {
	if errors.Is(err, pausing.ErrEnded) {
		return fmt.Errorf("%w: %w", modulation.ErrEnded, err)
	}
	return err
}

// Switch pauses or continues the whole tree.
func (n *neighbor) Switch(on bool) error {
	if on != n.off {
		if n.off {
			return n.spinner.request(spinning) // a probe of the placement had it idle
		}
		return nil
	}
	if on {
		if err := n.spinner.request(idling); err != nil {
			return err
		}
		n.off = false
		n.paused += n.clock.Now() - n.since
		return neighborEnded(n.group.Continue())
	}
	n.since = n.clock.Now()
	if err := n.group.Pause(); err != nil {
		if ended := neighborEnded(err); !errors.Is(ended, modulation.ErrEnded) {
			return ended
		}
		// Read tells that it has ended.
		return nil
	}
	n.off = true
	return n.spinner.request(spinning)
}

// spent returns the time for which it was paused so far.
func (n *neighbor) spent() time.Duration {
	if n.off {
		return n.paused + n.clock.Now() - n.since
	}
	return n.paused
}

// Read returns the time as the work of a program that is not counted.
func (n *neighbor) Read() (float64, time.Duration, error) {
	now := n.clock.Now()
	select {
	case <-n.process.Done:
		if _, err := n.process.Wait(); err != nil {
			return 0, now, err
		}
		return 0, now, fmt.Errorf("%q: %w", n.command.String(), modulation.ErrEnded)
	default:
		return now.Seconds(), now, nil
	}
}

func (*neighbor) Smooth() bool { return true }

// again starts the program anew if it has ended.
func (n *neighbor) again(ctx context.Context) error {
	select {
	case <-n.process.Done:
	default:
		return nil
	}
	if _, err := n.process.Wait(); err != nil {
		return err
	}
	if err := n.letGo(); err != nil {
		return err
	}
	n.completed++
	if err := n.release(); err != nil {
		return err
	}
	return n.start(ctx)
}

// letGo ends the watchdog of the program, which has ended or is to be ended.
func (n *neighbor) letGo() error {
	if n.group == nil {
		return nil
	}
	if n.off {
		n.off = false
		n.paused += n.clock.Now() - n.since
	}
	watchdog := n.group.Watchdog()
	err := n.group.Close()
	n.session.launcher.Forget(watchdog)
	n.group = nil
	if errors.Is(err, pausing.ErrEnded) {
		return nil
	}
	return err
}

// stop ends the program.
func (n *neighbor) stop() error {
	if n.process != nil {
		n.process.Kill()
	}
	return errors.Join(n.letGo(), n.program.stop())
}

// uncounted counts nothing of a program.
type uncounted struct{}

// Name is shown nowhere.
func (uncounted) Name() string { return "nothing" }

// Prepare prepares nothing.
func (uncounted) Prepare() (*ticks.Run, error) {
	return &ticks.Run{
		Open:  func(int) (ticks.Counter, error) { return nothing{}, nil },
		Close: func() error { return nil },
	}, nil
}

type nothing struct{}

func (nothing) Read() (float64, error) { return 0, nil }
func (nothing) Close() error           { return nil }
