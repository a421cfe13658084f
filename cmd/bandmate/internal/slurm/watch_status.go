package slurm

import (
	"fmt"
	"io"
	"time"

	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm/watch"
)

// statusText returns what prints a status for people.
func statusText(s watch.Status) func(io.Writer) error {
	return func(out io.Writer) error {
		who := "no watch is running"
		switch {
		case s.Running:
			who = fmt.Sprintf("process %d", s.Process)
		case s.Once:
			who = "round by round, with --once"
		}
		fmt.Fprintf(out, "watch     %s, mode %s\n", who, s.Mode)
		if s.Cluster != "" {
			fmt.Fprintf(out, "cluster   %s\n", report.SanitizeText(s.Cluster))
		}
		if s.SwitchedOff {
			fmt.Fprintln(out, "switch    off: nothing is done until bandmate slurm watch --on")
		}
		r := s.Round
		if s.FailedRounds > 0 {
			fmt.Fprintf(out, "failed    %s in a row, the last at %s%s\n", text.Count(s.FailedRounds, "round"), clock(r), nextTry(s))
			fmt.Fprintf(out, "stands    %s kept off the nodes that are excluded until a round succeeds\n", text.Count(s.KeptOff, "job"))
			r = s.Good
		}
		if r != nil {
			fmt.Fprintf(out, "round     %s, %s\n", clock(r), time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
			fmt.Fprintf(out, "jobs      %d wait, %d decided about, %d kept off nodes\n", r.Waiting, r.Decided, s.KeptOff)
			fmt.Fprintf(out, "changes   %d changed, %d released, %d failed, %d left for the next round\n", r.Changed, r.Released, r.Failed, r.Later)
		}
		if s.Error != "" {
			fmt.Fprintf(out, "error     %s\n", report.SanitizeText(s.Error))
		}
		return nil
	}
}

// clock is when a round was made.
func clock(r *watch.Round) string {
	if r == nil {
		return "an unknown time"
	}
	return r.Time.Local().Format(time.DateTime)
}

// nextTry says when a running watch tries again.
func nextTry(s watch.Status) string {
	if !s.Running {
		return ""
	}
	return fmt.Sprintf("; next try after %s", time.Duration(s.NextSeconds*float64(time.Second)))
}
