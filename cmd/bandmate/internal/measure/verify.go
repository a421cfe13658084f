package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/doctor"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// errDisagree ends a verification in which counters did not tell the traffic.
var errDisagree = errors.New("the counters disagree with the traffic that was made")

// verifyLifetime ends an interferer that was forgotten.
const verifyLifetime = time.Minute

// openMemoryControllers chooses counters of the memory controllers, by name or
// the best that work.
func openMemoryControllers(ctx context.Context, name string) (_ cli.Counters, err error) {
	host, err := pmu.OpenHost()
	if err != nil {
		return cli.Counters{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, host.Close())
		}
	}()
	sources := pmu.MemoryControllers(host)
	if name != "" && !slices.ContainsFunc(sources, func(s profiler.Source) bool { return s.Name() == name }) {
		var names []string
		for _, s := range sources {
			names = append(names, s.Name())
		}
		return cli.Counters{}, cli.Usagef("--source %q: only counters of memory controllers can be verified: want one of %s", name, strings.Join(names, ", "))
	}
	source, err := profiler.Select(ctx, name, sources...)
	switch {
	case err == nil:
		return cli.Counters{Host: host, Source: source}, nil
	case name != "":
		return cli.Counters{}, fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
	}
	const instead = "no counters of memory controllers can be read, so there is nothing to verify; bandmate measures by the source probe instead, which needs none"
	return cli.Counters{}, fmt.Errorf("%w: %s\n%w", cli.ErrNotMeasurable, instead, err)
}

// runVerify makes known traffic, has it counted, and compares.
func runVerify(ctx context.Context, a *cli.App, f doctorFlags) (err error) {
	options, err := interfereFlags{cpus: f.cpus, memoryNode: -1, duration: verifyLifetime}.options()
	if err != nil {
		return err
	}
	counters, err := openMemoryControllers(ctx, f.source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counters.Close()) }()
	stream, err := interferer.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	sustained, err := doctor.Sustained(ctx, stream)
	var checks []doctor.Check
	var warnings []string
	if err == nil {
		progress := a.NewProgress()
		v := doctor.Verifier{Source: counters.Source, Stream: stream, Report: func(left int, s interferer.Setting) {
			progress.Left(left, left, fmt.Sprintf("counting %s, %s", report.Bandwidth(s.Bandwidth), report.ReadShare(s.ReadShare)))
		}}
		checks, warnings, err = v.Run(ctx, sustained)
		progress.Done()
	}
	if ctx.Err() != nil {
		return ctx.Err() // the stream ends with it
	}
	if errors.Is(err, profiler.ErrUnsupported) || errors.Is(err, profiler.ErrInconclusive) {
		return fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
	}
	if err != nil {
		return err
	}
	diagnosis := doctor.Diagnose(checks)
	result := verification(counters.Source.Name(), checks, diagnosis, slices.Concat(warnings, stream.Warnings(), quotaWarnings(options.CPUs)))
	if err := a.Print(result, func(w io.Writer) error { return writeVerification(a, w, result) }); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(result.Warnings)
	}
	if diagnosis.Cause != doctor.Agreement {
		return fmt.Errorf("%w: %s", errDisagree, diagnosis.Cause)
	}
	return nil
}

// verifyResult is `doctor --verify -o json`.
type verifyResult struct {
	Source    string           `json:"source"`
	Agree     bool             `json:"agree"`
	Diagnosis doctor.Diagnosis `json:"diagnosis"`
	Checks    []verifyCheck    `json:"checks"`
	Warnings  []string         `json:"warnings"`
}

// verifyCheck is one row of the table. Counted is less Background.
type verifyCheck struct {
	Asked      verifyTraffic `json:"asked"`
	Made       verifyTraffic `json:"made"`
	Counted    verifyTraffic `json:"counted"`
	Background verifyTraffic `json:"background"`
	// TrafficError is relative; ReadShareError is absolute, and absent where
	// the counters do not tell reads from writes.
	TrafficError   float64  `json:"trafficError"`
	ReadShareError *float64 `json:"readShareError,omitempty"`
	Agrees         bool     `json:"agrees"`
}

// verifyTraffic has no read share where that is not known.
type verifyTraffic struct {
	BytesPerSecond units.Bandwidth  `json:"bytesPerSecond"`
	ReadShare      *units.ReadShare `json:"readShare,omitempty"`
}

func verifyTrafficOf(t units.Traffic, splitsReadWrite bool) verifyTraffic {
	v := verifyTraffic{BytesPerSecond: t.Total()}
	if share, ok := t.ReadShare(); ok && splitsReadWrite {
		v.ReadShare = &share
	}
	return v
}

func (t verifyTraffic) String() string {
	if t.ReadShare == nil {
		return t.BytesPerSecond.String()
	}
	return t.BytesPerSecond.String() + ", " + report.ReadShare(*t.ReadShare)
}

func verification(source string, checks []doctor.Check, d doctor.Diagnosis, warnings []string) verifyResult {
	r := verifyResult{Source: source, Agree: d.Cause == doctor.Agreement, Diagnosis: d, Warnings: append([]string{}, warnings...)}
	for _, c := range checks {
		row := verifyCheck{
			Asked: verifyTrafficOf(c.Asked, true), Made: verifyTrafficOf(c.Made, true),
			Counted: verifyTraffic{BytesPerSecond: c.Net().Total()}, Background: verifyTrafficOf(c.Background, c.SplitsReadWrite),
			TrafficError: c.TrafficError(), Agrees: c.Agrees(),
		}
		if share, ok := c.ReadShare(); ok {
			row.Counted.ReadShare = &share
		}
		if off, ok := c.ReadShareError(); ok {
			row.ReadShareError = &off
		}
		r.Checks = append(r.Checks, row)
	}
	return r
}

func writeVerification(a *cli.App, w io.Writer, r verifyResult) error {
	table := &report.Table{Columns: []report.Column{
		{Title: "made"},
		{Title: "counted by " + r.Source},
		{Title: "traffic", Numeric: true},
		{Title: "read share", Numeric: true},
		{Title: ""},
	}}

	for _, c := range r.Checks {
		share, verdict := report.Number("", math.NaN()), "agrees"
		if c.ReadShareError != nil {
			share = report.Number(fmt.Sprintf("%+.1f points", 100**c.ReadShareError), *c.ReadShareError)
		}
		if !c.Agrees {
			verdict = "disagrees"
		}
		table.Add(report.Text(c.Made.String()), report.Text(c.Counted.String()),
			report.Number(fmt.Sprintf("%+.1f%%", 100*c.TrafficError), c.TrafficError), share, report.Text(verdict))
	}
	if err := table.Write(w, a.Canvas()); err != nil {
		return err
	}
	if r.Agree {
		_, err := fmt.Fprintf(w, "The counters agree: traffic within ±%g%%, read share within ±%g points.\n",
			100*doctor.TrafficTolerance, 100*doctor.ReadShareTolerance)
		return err
	}
	_, err := fmt.Fprintf(w, "The counters disagree (%s): %s\n→ %s\n",
		r.Diagnosis.Cause, report.SanitizeText(r.Diagnosis.Detail), report.SanitizeText(r.Diagnosis.Remedy))
	return err
}
