package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/network/measure"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// conflictFlags are the flags of network measure.
type conflictFlags struct {
	rate, size, control, file string
	repeats                   int
}

func newNetworkMeasureCommand(a *cli.App) *cobra.Command {
	var f conflictFlags
	cmd := &cobra.Command{
		Use:   "measure [NAME:FROM-TO...]",
		Short: "Measure penalties of conflicts between network namespaces",
		Long: `Makes a small cluster of network namespaces on this machine: nodes with virtual
network cards of a limited rate behind a switch. Communications over TCP send
at once, and the time of each is divided by the time of one alone (Vienne et
al. 2008, section IV.B). The sharing of links by TCP is real; the cards are the
kernel's token buckets.

Without arguments it measures the conflicts that network fit needs; with
arguments, one conflict, as network penalty takes it. No permission is needed
where users may have network namespaces.`,
		Example: `  bandmate network measure --conflicts conflicts.csv && bandmate network fit conflicts.csv
  bandmate network measure --rate 50MB/s a:0-1 b:0-2 c:3-2`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return measureConflicts(cmd.Context(), a, f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rate, "rate", "25MB/s", "bandwidth of each network card in each direction")
	flags.StringVar(&f.size, "message-size", "4MB", "amount that each communication sends")
	flags.StringVar(&f.control, "congestion-control", "", "congestion control of TCP, for example cubic (default: this machine's)")
	flags.IntVar(&f.repeats, "repeats", 7, "rounds")
	flags.StringVar(&f.file, "conflicts", "", "write the measured conflicts to this CSV file")
	return cli.WithFormats(cmd, cli.FormatCSV)
}

func (f conflictFlags) options(args []string) (measure.Options, error) {
	o := measure.Options{Schemes: measure.Schemes(), Repeats: f.repeats, CongestionControl: f.control, Seed: 1}
	if len(args) > 0 {
		s := measure.Scheme{Name: "given"}
		for _, arg := range args {
			c, err := network.ParseCommunication(arg)
			if err != nil {
				return o, cli.UsageError(err)
			}
			s.Conflict = append(s.Conflict, c)
		}
		o.Schemes = []measure.Scheme{s}
	}
	var err error
	if o.Rate, err = units.ParseBandwidth(f.rate); err != nil {
		return o, cli.Usagef("--rate: %w", err)
	}
	if o.Bytes, err = cli.ParseBytes("--message-size", f.size); err != nil {
		return o, err
	}
	if err := o.Validate(); err != nil {
		return o, cli.UsageError(err)
	}
	return o, nil
}

func measureConflicts(ctx context.Context, a *cli.App, f conflictFlags, args []string) error {
	o, err := f.options(args)
	if err != nil {
		return err
	}
	if err := cli.CheckFile("conflicts", f.file); err != nil {
		return err
	}
	measured, err := cli.WithProgress(a, func(progress cli.ProgressFunc) (measure.Result, error) {
		o.Progress = progress
		return measure.Run(ctx, o)
	})
	if err != nil {
		if errors.Is(err, measure.ErrCongestionControl) {
			return fmt.Errorf("%w: --congestion-control %s: %w", cli.ErrNotMeasurable, f.control, err)
		}
		return noNamespaces(err)
	}
	var csv bytes.Buffer
	if err := network.WriteMeasured(&csv, measured.Conflicts, measured.AloneSeconds); err != nil {
		return err
	}
	if err := cli.WriteFile("conflicts", f.file, csv.Bytes()); err != nil {
		return err
	}
	a.Warn(measured.Warnings)
	if a.Format == cli.FormatCSV {
		return a.WriteBytes(csv.Bytes())
	}
	r := newConflictResult(measured, o)
	return a.Print(r, func(w io.Writer) error { return writeConflicts(w, r, a.Canvas()) })
}

// conflictResult is `network measure -o json`.
type conflictResult struct {
	Rate           units.Bandwidth         `json:"rateBytesPerSecond"`
	Bytes          int64                   `json:"messageBytes"`
	Repeats        int                     `json:"repeats"`
	AloneSeconds   float64                 `json:"aloneSeconds"`
	AloneSpread    *float64                `json:"aloneRelativeSpread,omitempty"`
	Communications []measuredCommunication `json:"communications"`
	Warnings       []string                `json:"warnings"`
	alone          units.Bandwidth
}

// measuredCommunication is one communication; its spread is absent for a single
// round.
type measuredCommunication struct {
	Conflict      string   `json:"conflict"`
	Communication string   `json:"communication"`
	From          int      `json:"from"`
	To            int      `json:"to"`
	Penalty       float64  `json:"penalty"`
	Spread        *float64 `json:"relativeSpread,omitempty"`
}

func newConflictResult(m measure.Result, o measure.Options) conflictResult {
	r := conflictResult{
		Rate: o.Rate, Bytes: o.Bytes, Repeats: o.Repeats, AloneSeconds: m.AloneSeconds, AloneSpread: present(m.AloneSpread),
		Warnings: append([]string{}, m.Warnings...), alone: m.Alone,
	}
	for i, conflict := range m.Conflicts {
		for j, c := range conflict.Conflict {
			r.Communications = append(r.Communications, measuredCommunication{conflict.Name, c.Name, c.From, c.To, conflict.Penalties[j], present(m.Spreads[i][j])})
		}
	}
	return r
}

func writeConflicts(w io.Writer, r conflictResult, o report.Options) error {
	fmt.Fprintf(w, "cards of %s; one communication of %s alone: %s, %s\n\n", r.Rate, report.Bytes(r.Bytes), report.Seconds(r.AloneSeconds), r.alone)
	t := cli.Table("conflict", "communication", ">from", ">to", ">penalty", ">spread")
	for _, c := range r.Communications {
		spread := report.Text(report.Missing)
		if c.Spread != nil {
			spread = report.Number(fmt.Sprintf("±%.0f%%", 100**c.Spread), *c.Spread)
		}
		t.Add(report.Text(report.SanitizeText(c.Conflict)), report.Text(report.SanitizeText(c.Communication)),
			cli.CountCell(c.From), cli.CountCell(c.To),
			report.Number(fmt.Sprintf("%.3f", c.Penalty), c.Penalty), spread)
	}
	return t.Write(w, o)
}
