package slurm

import (
	"fmt"
	"io"
	"time"

	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/slurm/watch"
)

// statusText returns what prints a status for people.
func statusText(s watch.Status) func(io.Writer) error {
	return func(out io.Writer) error {
		who := "no watch is running"
		if s.Running {
			who = fmt.Sprintf("process %d", s.Process)
		}
		fmt.Fprintf(out, "watch     %s, mode %s\n", who, s.Mode)
		if s.Cluster != "" {
			fmt.Fprintf(out, "cluster   %s\n", report.SanitizeText(s.Cluster))
		}
		if s.SwitchedOff {
			fmt.Fprintln(out, "switch    off: nothing is done until bandmate slurm watch --on")
		}
		if r := s.Round; r != nil {
			fmt.Fprintf(out, "round     %s, %s\n", r.Time.Local().Format(time.DateTime), time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
			fmt.Fprintf(out, "jobs      %d wait, %d decided about, %d kept off nodes\n", r.Waiting, r.Decided, r.KeptOff)
			fmt.Fprintf(out, "changes   %d changed, %d released, %d failed, %d left for the next round\n", r.Changed, r.Released, r.Failed, r.Later)
		}
		if s.FailedRounds > 0 {
			fmt.Fprintf(out, "failed    %d rounds in a row; next try after %s\n", s.FailedRounds, time.Duration(s.NextSeconds*float64(time.Second)))
		}
		if s.Error != "" {
			fmt.Fprintf(out, "error     %s\n", report.SanitizeText(s.Error))
		}
		return nil
	}
}
