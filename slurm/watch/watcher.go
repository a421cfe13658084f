package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/slurm"
)

// Mode says what a watch may change.
type Mode string

// The modes.
const (
	// Observe decides and writes the decision log.
	Observe Mode = "observe"
	// Advise also writes the nodes to stay off into the AdminComment of a waiting job.
	Advise Mode = "advise"
	// Enforce excludes these nodes, and writes the table for job_submit.lua.
	Enforce Mode = "enforce"
)

// Modes lists the modes.
func Modes() []Mode { return []Mode{Observe, Advise, Enforce} }

// Options say how to watch.
type Options struct {
	Mode Mode
	// Folder holds the state file, the lock, the status and the off switch.
	Folder string
	// Table is the file for job_submit.lua; empty for none.
	Table string
	// Log is the decision log; empty means Out.
	Log string
	Out io.Writer
	// Interval is the time from the end of a round to the next.
	Interval time.Duration
	// MostChanges bounds the jobs that are changed in a round.
	MostChanges int
	// Leave keeps what is set when the watch ends, for the next watch.
	Leave bool
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var faults []error
	if o.Mode != Observe && o.Mode != Advise && o.Mode != Enforce {
		faults = append(faults, fmt.Errorf("mode %q: want one of %v", o.Mode, Modes()))
	}
	if o.Folder == "" {
		faults = append(faults, errors.New("no folder for the state: name one"))
	}
	if o.Interval < time.Second {
		faults = append(faults, fmt.Errorf("interval %v: want 1s or more; 5s to 10s spare slurmctld", o.Interval))
	}
	if o.MostChanges < 1 {
		faults = append(faults, fmt.Errorf("%d changes in a round: want 1 or more", o.MostChanges))
	}
	return errors.Join(faults...)
}

// Watcher watches one cluster.
type Watcher struct {
	Options
	// Runner executes scontrol.
	Runner slurm.Runner
	// Read reads the cluster.
	Read func(context.Context) (*slurm.Cluster, error)
	// Planner returns the planner with the present profiles.
	Planner func() (Planner, error)
	// Now is the clock; nil means time.Now. Only the log, the status and the age of
	// the table depend on it.
	Now func() time.Time

	state   state
	journal journal
	// unsaid is why the last records could not be written to the decision log.
	unsaid error
	status Status
}

// timeToTakeBack bounds the cleaning up at the end.
const timeToTakeBack = 30 * time.Second

// Run watches until ctx ends, and then takes back what it set unless Leave is set. It
// fails only when it cannot use its folder from the start, when the folder is another
// watch's, or when not everything could be taken back.
func (w *Watcher) Run(ctx context.Context) (err error) {
	release, err := w.open()
	if err != nil {
		return err
	}
	defer release()
	w.say(Record{Action: Begun, Reason: text.Count(len(w.state.Jobs), "job") + " remembered"})
	for ctx.Err() == nil {
		err := w.Round(ctx)
		if errors.Is(err, ErrState) {
			return err
		}
		timer := time.NewTimer(w.pause())
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	if w.Leave {
		w.say(Record{Action: Ended, Reason: "what is set stays"})
		return nil
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeToTakeBack)
	defer cancel()
	left, err := w.takeBack(ending, true)
	err = errors.Join(stays(left, err), w.saveKeptOff())
	w.say(Record{Action: Ended, Done: err == nil, Reason: fmt.Sprintf("what was set stays with %s", text.Count(left, "job")), Error: message(err)})
	return err
}

// stays is the error where something that was set could not be taken back; a reason that is
// known goes before it.
func stays(left int, err error) error {
	if err == nil && left > 0 {
		err = fmt.Errorf("what was set stays with %s: the decision log says why; take it back with --undo, as SlurmUser or an operator", text.Count(left, "job"))
	}
	return err
}

// Once makes one round and leaves what it set for the next watch.
func (w *Watcher) Once(ctx context.Context) error {
	release, err := w.open()
	if err != nil {
		return err
	}
	defer release()
	w.status.Once = true
	return errors.Join(w.Round(ctx), w.unsaid)
}

// TakeBack takes back everything that an earlier watch set, and fails where something stays.
// It is for when no watch runs, and fails with ErrNoStatus where none ever ran.
func (w *Watcher) TakeBack(ctx context.Context) error {
	if err := used(w.Folder); err != nil {
		return err
	}
	release, err := w.open()
	if err != nil {
		return err
	}
	defer release()
	left, err := w.takeBack(ctx, true)
	return errors.Join(stays(left, err), w.saveKeptOff())
}

// saveKeptOff corrects the status of the last round after something was taken back.
func (w *Watcher) saveKeptOff() error {
	last, err := loadStatus(w.Folder)
	if err != nil {
		return nil //nolint:nilerr // there is no status to correct
	}
	last.KeptOff = w.keptOff()
	return last.save(w.Folder)
}

// open takes the folder and reads what an earlier watch left in it.
func (w *Watcher) open() (release func(), err error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.Folder, 0o755); err != nil { //nolint:gosec // its status is for everybody
		return nil, fmt.Errorf("%w: %w: choose a folder that you may write to with --state", ErrState, err)
	}
	locked, err := lock(w.Folder)
	if err != nil {
		return nil, err
	}
	if w.state, err = loadState(w.Folder); err != nil {
		locked.Close()
		return nil, err
	}
	w.journal = journal{file: w.Log, out: w.Out}
	before, err := loadStatus(w.Folder)
	if err != nil && !errors.Is(err, ErrNoStatus) {
		w.say(Record{Action: Failed, Error: err.Error()}) // it is replaced
	}
	w.status = Status{Process: os.Getpid(), Mode: w.Mode, Begun: w.now(), Cluster: w.state.Cluster, Good: before.Good}
	if before.Once {
		w.status.FailedRounds, w.status.Error, w.status.SwitchedOff = before.FailedRounds, before.Error, before.SwitchedOff
	}
	return func() { locked.Close() }, nil
}

// longestPause bounds the time between rounds while slurmctld is away.
const longestPause = 2 * time.Minute

// pause is the time until the next round: longer after every one that failed.
func (w *Watcher) pause() time.Duration {
	pause := w.Interval
	for range min(w.status.FailedRounds, 10) {
		pause *= 2
	}
	return max(w.Interval, min(pause, longestPause))
}

func (w *Watcher) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

// say writes records to the decision log; a failure appears in the status.
func (w *Watcher) say(records ...Record) {
	for i := range records {
		records[i].Time, records[i].Mode, records[i].Cluster = w.now().UTC(), w.Mode, w.state.Cluster
	}
	if len(records) > 0 {
		w.unsaid = w.journal.write(records)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
