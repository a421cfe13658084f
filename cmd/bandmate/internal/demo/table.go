package demo

import (
	"fmt"
	"io"
	"math"
	"strings"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

func write(a *cli.App, w io.Writer, r Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %d CPUs; %s placement, %.0f ns round trip", report.SanitizeText(r.Machine.CPUModel), r.Machine.CPUs, r.Machine.Regime, r.Machine.RoundTripNanoseconds)
	if shared := r.Machine.SharedLastLevelCache; shared != nil && *shared {
		b.WriteString(", shared last-level cache")
	}
	b.WriteString("\n")
	if len(r.Applications) > 0 {
		b.WriteString("\nApplications, alone (bandwidth estimated by probes)\n\n")
		if err := applicationTable(r).Write(&b, a.Canvas()); err != nil {
			return err
		}
	}
	if len(r.Pairs) > 0 {
		b.WriteString("\nSlowdown of the first beside the second\n\n")
		if err := pairTable(r).Write(&b, a.Canvas()); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\nError of %d predictions: mean %.1f, maximum %.1f points of normalized performance;\n",
			len(r.Pairs), *r.MeanAbsErrorPoints, *r.MaxAbsErrorPoints)
	} else {
		b.WriteString("\nThis machine is too noisy now to tell how right the predictions are: try again\nwhen its neighbors are calmer, or with a higher --scale.\n")
	}
	fmt.Fprintf(&b, "%s dropped because the CPUs moved.\n", text.Count(r.DroppedSamples, "sample"))
	if r.Noise != nil {
		fmt.Fprintf(&b, "Noise of the measured pairs: %.1f points (median standard error).\n", *r.Noise)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	a.Warn(r.Warnings)
	return nil
}

func applicationTable(r Result) *report.Table {
	table := &report.Table{Columns: []report.Column{
		{Title: "application"},
		{Title: "time", Numeric: true},
		{Title: "bandwidth", Numeric: true},
		{Title: "±", Numeric: true},
		{Title: "reads", Numeric: true},
	}}
	for _, application := range r.Applications {
		total := application.ReadBytesPerSecond + application.WriteBytesPerSecond
		share, doubt := math.NaN(), math.NaN()
		if application.ReadShare != nil {
			share = float64(*application.ReadShare)
		}
		if application.RelativeUncertainty != nil {
			doubt = total * *application.RelativeUncertainty
		}
		table.Add(report.Text(application.Name),
			report.Number(fmt.Sprintf("%.2f s", application.SoloSeconds), application.SoloSeconds),
			report.Number(units.Bandwidth(total).String(), total),
			report.Number(units.Bandwidth(doubt).String(), doubt),
			report.Number(fmt.Sprintf("%.0f%%", 100*share), share))
	}
	return table
}

func pairTable(r Result) *report.Table {
	table := &report.Table{Columns: []report.Column{
		{Title: "application"},
		{Title: "beside"},
		{Title: "predicted", Numeric: true},
		{Title: "90% interval", Numeric: true},
		{Title: "measured", Numeric: true},
		{Title: "error", Numeric: true},
	}}
	slowdown := func(performance float64) report.Cell {
		s := units.NormalizedPerformance(performance).Slowdown()
		return report.Number(s.String(), float64(s))
	}
	for _, p := range r.Pairs {
		table.Add(report.Text(p.Target), report.Text(p.Corunner),
			slowdown(p.Predicted),
			report.Text(fmt.Sprintf("%.2f–%.2f", p.Interval[0], p.Interval[1])),
			slowdown(p.Measured),
			report.Number(fmt.Sprintf("%.1f points", p.ErrorPoints), p.ErrorPoints))
	}
	return table
}
