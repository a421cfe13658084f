package observe

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// Result is `observe -o json`.
type Result struct {
	Target observedProgram    `json:"target"`
	Beside []observedNeighbor `json:"beside"`
	// Ticks names what counted the target's work.
	Ticks string `json:"ticks"`
	// Placement is how near the CPUs of two programs that were started for it were to each
	// other (regime.Class), as in the profiles that predict such a pair.
	Placement regime.Class `json:"placement,omitempty"`
	// Control is the same measurement with nothing changed.
	Control  *observedSlowdown `json:"control,omitempty"`
	Seconds  float64           `json:"seconds"`
	Warnings []string          `json:"warnings"`
}

// observedProgram names a program by what is known of it.
type observedProgram struct {
	PID     int    `json:"pid,omitempty"`
	Cgroup  string `json:"cgroup,omitempty"`
	Command string `json:"command,omitempty"`
}

// observedSlowdown is a slowdown with its 90% interval, which is missing where too
// little was measured.
type observedSlowdown struct {
	Slowdown float64  `json:"slowdown"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	// Blocks is the number of comparisons.
	Blocks int `json:"blocks"`
}

// observedNeighbor is what a neighbor costs the target.
type observedNeighbor struct {
	observedProgram
	observedSlowdown
	// PausedShare is the share of the time for which it was paused.
	PausedShare float64 `json:"pausedShare"`
}

func newResult(target observedProgram, ticks string, elapsed time.Duration) *Result {
	return &Result{Target: target, Ticks: ticks, Seconds: elapsed.Seconds(), Beside: []observedNeighbor{}, Warnings: []string{}}
}

func newObservedSlowdown(e modulation.Estimate) observedSlowdown {
	s := observedSlowdown{Slowdown: 1 / e.Performance, Blocks: e.Readings}
	if e.Low > 0 && !math.IsInf(e.High, 0) {
		low, high := 1/e.High, 1/e.Low
		s.Low, s.High = &low, &high
	}
	return s
}

func newObservedNeighbor(p observedProgram, e modulation.Estimate, pausedShare float64) observedNeighbor {
	return observedNeighbor{p, newObservedSlowdown(e), pausedShare}
}

const (
	// controlTolerance is how many standard errors a control may miss 1 by.
	controlTolerance = 3
	// leastControlError keeps a standard error that is small by luck from failing a
	// control.
	leastControlError = 0.002
)

// control adds the estimate of the control, and a warning where it is not 1.
func (r *Result) control(e modulation.Estimate) {
	if e.Readings == 0 {
		return
	}
	s := newObservedSlowdown(e)
	r.Control = &s
	if math.Abs(e.Performance-1) > controlTolerance*max(e.StandardError, leastControlError) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("control: with nothing changed the slowdown came out as %.3f instead of 1: the others may be off by as much", s.Slowdown))
	}
}

func compareDown(a, b float64) int { return cmp.Compare(b, a) }

// String names the program for messages.
func (p observedProgram) String() string {
	switch {
	case p.Cgroup != "":
		return "cgroup " + p.Cgroup
	case p.PID == 0:
		return fmt.Sprintf("%q", p.Command)
	case p.Command == "":
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("process %d (%s)", p.PID, shortened(p.Command))
}

// shownCommand bounds what is shown of a command.
const shownCommand = 30

func shortened(command string) string {
	runes := []rune(report.SanitizeText(command))
	if len(runes) > shownCommand {
		return string(runes[:shownCommand-1]) + "…"
	}
	return string(runes)
}

// label names the program in a table.
func (p observedProgram) label() string {
	if p.Cgroup != "" {
		return shortened(p.Cgroup)
	}
	return shortened(p.Command)
}

// interval returns the 90% interval in words; empty without one.
func (s observedSlowdown) interval() string {
	if s.Low == nil {
		return ""
	}
	return fmt.Sprintf("%.3f–%.3f", *s.Low, *s.High)
}

// write returns what writes the result as text.
func (r *Result) write(a *cli.App) func(io.Writer) error {
	return func(w io.Writer) error {
		fmt.Fprintf(w, "%s\nprogress counted by: %s\n", r.Target, report.SanitizeText(r.Ticks))
		if r.Placement != "" {
			fmt.Fprintf(w, "placement of the CPUs: %s\n", r.Placement)
		}
		fmt.Fprintln(w)
		if len(r.Beside) == 0 {
			fmt.Fprintln(w, "Nobody else was measured in its memory domain.")
		} else if err := r.table().Write(w, a.Canvas()); err != nil {
			return err
		}
		if r.Control != nil {
			fmt.Fprintf(w, "\nControl, with nothing changed: %.3f× (90%% interval %s, %d blocks)\n", r.Control.Slowdown, cmp.Or(r.Control.interval(), "unknown"), r.Control.Blocks)
		}
		a.Warn(r.Warnings)
		return nil
	}
}

func (r *Result) table() *report.Table {
	table := &report.Table{Columns: []report.Column{
		{Title: "beside"},
		{Title: "process", Numeric: true},
		{Title: "slowdown", Numeric: true},
		{Title: "90% interval"},
		{Title: "paused", Numeric: true},
		{Title: "blocks", Numeric: true},
	}}
	for _, n := range r.Beside {
		process := report.Text("")
		if n.PID != 0 {
			process = report.Number(fmt.Sprint(n.PID), float64(n.PID))
		}
		table.Add(report.Text(n.label()), process,
			report.Number(units.Slowdown(n.Slowdown).String(), n.Slowdown), report.Text(n.interval()),
			report.Number(fmt.Sprintf("%.1f%%", 100*n.PausedShare), n.PausedShare), report.Number(fmt.Sprint(n.Blocks), float64(n.Blocks)))
	}
	return table
}
