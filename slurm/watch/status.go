package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Status is what a watch reports after every round.
type Status struct {
	// Running is true while the process lives, by the lock.
	Running bool `json:"running"`
	// Process is its number.
	Process int       `json:"process,omitempty"`
	Cluster string    `json:"cluster,omitempty"`
	Mode    Mode      `json:"mode,omitempty"`
	Begun   time.Time `json:"begun,omitzero"`
	// SwitchedOff is true while the off switch is set.
	SwitchedOff bool `json:"switchedOff"`
	// Once is true when rounds are made one by one, as by cron: no process runs between
	// them.
	Once bool `json:"once,omitempty"`
	// Round is the last one; nil before the first. Good is the last that succeeded.
	Round *Round `json:"round,omitempty"`
	Good  *Round `json:"lastGoodRound,omitempty"`
	// KeptOff counts the jobs for which nodes are excluded, by the watch's memory: that
	// stands also while slurmctld does not answer.
	KeptOff int `json:"keptOff"`
	// FailedRounds counts the rounds that failed in a row; Error is that of the last.
	FailedRounds int    `json:"failedRounds,omitempty"`
	Error        string `json:"error,omitempty"`
	// NextSeconds is how long after the round the next one begins.
	NextSeconds float64 `json:"nextSeconds,omitempty"`
}

// Round is what one round found and did.
type Round struct {
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"`
	// Waiting counts the waiting jobs, Decided those with a decision, KeptOff those
	// for which the watch excludes nodes.
	Waiting int `json:"waiting"`
	Decided int `json:"decided"`
	KeptOff int `json:"keptOff"`
	// Changed, Released and Failed count the jobs of this round; Later those
	// that are left for the next.
	Changed  int `json:"changed"`
	Released int `json:"released"`
	Failed   int `json:"failed"`
	Later    int `json:"later"`
	// Warnings are those of reading the cluster.
	Warnings []string `json:"warnings,omitempty"`
}

// Fine reports whether the watch does what it should: it runs, or makes one round after
// the other, and the last round succeeded.
func (s *Status) Fine() bool { return (s.Running || s.Once) && s.FailedRounds == 0 }

// ErrNoStatus means that no watch has worked with the folder yet.
var ErrNoStatus = errors.New("no watch has run here")

// ReadStatus returns the last status of the watch that works, or worked, with the
// folder.
func ReadStatus(folder string) (Status, error) {
	s, err := loadStatus(folder)
	if err == nil {
		_, s.Running = Running(folder)
		s.SwitchedOff = SwitchedOff(folder)
	}
	return s, err
}

// loadStatus returns the status as the last round saved it.
func loadStatus(folder string) (Status, error) {
	var s Status
	name := filepath.Join(folder, statusName)
	data, err := os.ReadFile(name) //nolint:gosec // the folder is the user's choice
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, noStatus(folder)
	case err != nil:
		return s, fmt.Errorf("status of the watch: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("status of the watch: %s: %w", name, err)
	}
	return s, nil
}

func noStatus(folder string) error {
	return fmt.Errorf("%w: %s: name its folder with --state", ErrNoStatus, folder)
}

// used fails with ErrNoStatus where no watch works, or worked, with the folder.
func used(folder string) error {
	if _, running := Running(folder); running {
		return nil
	}
	for _, name := range []string{stateName, statusName} {
		if _, err := os.Stat(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return noStatus(folder)
}

// SwitchedOff reports whether the off switch is set.
func SwitchedOff(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, offName))
	return err == nil
}

// SwitchOff sets the off switch: a watch takes back what it set in its next
// round, and then does nothing until SwitchOn. It fails with ErrNoStatus where no watch
// ever ran.
func SwitchOff(folder string) error {
	if err := used(folder); err != nil {
		return err
	}
	const why = "While this file exists, bandmate slurm watch does nothing.\n"
	if err := os.WriteFile(filepath.Join(folder, offName), []byte(why), 0o644); err != nil { //nolint:gosec // it is for everybody
		return fmt.Errorf("off switch: %w", err)
	}
	return nil
}

// SwitchOn clears the off switch.
func SwitchOn(folder string) error {
	err := os.Remove(filepath.Join(folder, offName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("off switch: %w", err)
	}
	return nil
}

// save writes the status for ReadStatus. Readers see it whole; after a power
// failure it may be an old one.
func (s *Status) save(folder string) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("status of the watch: %w", err)
	}
	file := filepath.Join(folder, statusName)
	if err := os.WriteFile(file+".new", append(data, '\n'), 0o644); err != nil { //nolint:gosec // for everybody
		return fmt.Errorf("status of the watch: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("status of the watch: %w", err)
	}
	return nil
}
