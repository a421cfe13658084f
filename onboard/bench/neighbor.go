package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard/launch"
	"bandmate.dev/bandmate/pausing"
	"bandmate.dev/bandmate/ticks"
)

// Neighbor is a program of which nothing is counted. The whole tree of its
// processes is paused, whatever session they are in.
type Neighbor struct {
	*Program
	group *pausing.Group
	off   bool
	since time.Duration
	// paused is the time for which it was paused.
	paused time.Duration
}

// Neighbor returns a command as a neighbor on the interferer's CPUs.
func (g *Stage) Neighbor(command launch.Command) *Neighbor {
	return &Neighbor{Program: g.Program(command, uncounted{}, false)}
}

// warmUp is what a neighbor is given to begin its work.
const warmUp = 200 * time.Millisecond

// longestOff bounds the pauses of a neighbor that ends with this process anyway:
// it waits for probes of the placement.
const longestOff = time.Minute

// Start starts the command, lets it work for a while, and pauses it.
func (n *Neighbor) Start(ctx context.Context) error {
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
	return errors.Join(err, n.Stop())
}

// hold takes hold of the command that was just started.
func (n *Neighbor) hold(ctx context.Context) (err error) {
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
	Pause(ctx, warmUp)
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
func (n *Neighbor) Switch(on bool) error {
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

// PausedFor returns the time for which it was paused so far.
func (n *Neighbor) PausedFor() time.Duration {
	if n.off {
		return n.paused + n.clock.Now() - n.since
	}
	return n.paused
}

// Read returns the time as the work of a program that is not counted.
func (n *Neighbor) Read() (float64, time.Duration, error) {
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

// Smooth reports that time passes all the time.
func (*Neighbor) Smooth() bool { return true }

// Again starts the program anew if it has ended.
func (n *Neighbor) Again(ctx context.Context) error {
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
	n.Completed++
	if err := n.release(); err != nil {
		return err
	}
	return n.Start(ctx)
}

// letGo ends the watchdog of the program, which has ended or is to be ended.
func (n *Neighbor) letGo() error {
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

// Stop ends the program.
func (n *Neighbor) Stop() error {
	if n.process != nil {
		n.process.Kill()
	}
	return errors.Join(n.letGo(), n.Program.Stop())
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
