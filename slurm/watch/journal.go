package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"bandmate.dev/bandmate/slurm"
	"bandmate.dev/bandmate/units"
)

// Record is one line of the decision log: what was decided about a job, or what
// happened to it, and why.
type Record struct {
	Time    time.Time `json:"time"`
	Cluster string    `json:"cluster,omitempty"`
	Mode    Mode      `json:"mode"`
	Action  Action    `json:"action"`
	// Job is the job as users write it; empty for what concerns the watch itself.
	Job         string `json:"job,omitempty"`
	User        string `json:"user,omitempty"`
	Application string `json:"application,omitempty"`
	// Excluded is the list of excluded nodes that was decided on, Original what
	// the user excludes.
	Excluded string `json:"excluded,omitempty"`
	Original string `json:"original,omitempty"`
	// Expected are the nodes where the job is expected to start now.
	Expected []string `json:"expected,omitempty"`
	// Slowdown is predicted for the job on the best node that it may use.
	Slowdown units.Slowdown `json:"slowdown,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	// Done is true when Slurm was told and took it.
	Done  bool   `json:"done"`
	Error string `json:"error,omitempty"`
}

// Actions of the watch itself.
const (
	// Begun and Ended are the watch's own.
	Begun Action = "begun"
	Ended Action = "ended"
	// Off and On follow the off switch.
	Off Action = "off"
	On  Action = "on"
	// Failed is a round that failed, Recovered the first that succeeded after it.
	Failed    Action = "failed"
	Recovered Action = "recovered"
)

// journal is the decision log. It is opened for every batch of records, so that it may
// be moved at any time.
type journal struct {
	// file is the name of the log; empty means out.
	file string
	out  io.Writer
	// said is the last record of each waiting job; one that repeats it is left out.
	said map[int64]spoken
}

type spoken struct {
	action   Action
	excluded string
	failed   bool
}

// write appends the records, each in a line, in one write.
func (l *journal) write(records []Record) error {
	if len(records) == 0 {
		return nil
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, r := range records {
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("decision log: %w", err)
		}
	}
	if l.file == "" {
		if _, err := l.out.Write(lines.Bytes()); err != nil {
			return fmt.Errorf("decision log: %w", err)
		}
		return nil
	}
	file, err := os.OpenFile(l.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the log is for everybody
	if err != nil {
		return fmt.Errorf("decision log: %w: choose a file that you may write with --log", err)
	}
	_, err = file.Write(lines.Bytes())
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("decision log %s: %w", l.file, err)
	}
	return nil
}

// news returns the records about waiting jobs that say something new, and forgets the
// jobs that no longer wait.
func (l *journal) news(c *slurm.Cluster, of map[int64]Record) []Record {
	said := make(map[int64]spoken, len(of))
	var records []Record
	for i := range c.Jobs {
		r, ok := of[c.Jobs[i].ID]
		if !ok {
			continue
		}
		now := spoken{action: r.Action, excluded: r.Excluded, failed: r.Error != ""}
		before, repeated := l.said[c.Jobs[i].ID]
		said[c.Jobs[i].ID] = now
		switch {
		case r.Action == Keep || repeated && before == now && !r.Done:
			if repeated && r.Action == Keep {
				said[c.Jobs[i].ID] = before
			}
		case r.Action == Skip && r.Application == "":
		default:
			records = append(records, r)
		}
	}
	l.said = said
	return records
}
