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

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/stats"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/pressure"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/units"
)

// DemoResult is `demo -o json`.
type DemoResult struct {
	Machine      demoMachine       `json:"machine"`
	Applications []demoApplication `json:"applications"`
	Pairs        []demoPair        `json:"pairs"`
	// MeanAbsErrorPoints and MaxAbsErrorPoints are of Pairs; absent without any.
	MeanAbsErrorPoints *float64 `json:"meanAbsErrorPoints,omitempty"`
	MaxAbsErrorPoints  *float64 `json:"maxAbsErrorPoints,omitempty"`
	// Noise is the median standard error of the measured pairs, in points; absent
	// where it is not known.
	Noise          *float64 `json:"noisePoints,omitempty"`
	DroppedSamples int      `json:"droppedSamples"`
	Warnings       []string `json:"warnings"`
}

type demoMachine struct {
	Name                 string  `json:"name"`
	CPUModel             string  `json:"cpuModel"`
	CPUs                 int     `json:"cpus"`
	VirtualMachine       bool    `json:"virtualMachine"`
	Regime               string  `json:"regime"`
	RoundTripNanoseconds float64 `json:"roundTripNanoseconds"`
	SharedLastLevelCache *bool   `json:"sharedLastLevelCache,omitempty"`
}

type demoApplication struct {
	Name                string           `json:"name"`
	SoloSeconds         float64          `json:"soloSeconds"`
	ReadBytesPerSecond  float64          `json:"readBytesPerSecond"`
	WriteBytesPerSecond float64          `json:"writeBytesPerSecond"`
	ReadShare           *units.ReadShare `json:"readShare,omitempty"`
	RelativeUncertainty *float64         `json:"relativeUncertainty,omitempty"`
}

// demoPair compares normalized performances, shares of one.
type demoPair struct {
	Target    string  `json:"target"`
	Corunner  string  `json:"corunner"`
	Predicted float64 `json:"predicted"`
	Measured  float64 `json:"measured"`
	// ErrorPoints is |predicted − measured| in points of normalized performance.
	ErrorPoints float64 `json:"errorPoints"`
	Regime      string  `json:"regime"`

	Interval [2]float64 `json:"-"`
}

// NewDemo returns the command demo.
func NewDemo(a *cli.App) *cobra.Command {
	var scale float64
	var keep bool
	var placement cli.PlacementFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Measure, predict and verify on this machine, in a minute",
		Long: `Measures this machine and six built-in sample applications, predicts how every
pair of them slows down, runs every pair for real, and shows predicted beside
measured. Needs nothing installed and changes nothing.`,
		Example: `  bandmate demo
  bandmate demo -o json`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), a, scale, keep, placement)
		},
	}
	cmd.Flags().Float64Var(&scale, "scale", 3, "amount of work per sample run; more is longer and less noisy")
	cmd.Flags().BoolVar(&keep, "keep", false, "store the profiles of the machine and of the samples")
	placement.Add(cmd.Flags())
	return cmd
}

// demoLevels, demoPrecision and demoBudget keep the demo to a minute.
var (
	demoLevels    = []float64{0.5, 1}
	demoShares    = []units.ReadShare{0.5, 1}
	demoPrecision = modulation.Precision{StandardError: 0.008, Fewest: 12, Most: 240}
)

const demoBudget = 55 * time.Second

func runDemo(ctx context.Context, a *cli.App, scale float64, keep bool, placement cli.PlacementFlags) (err error) {
	if err := checkScale(scale); err != nil {
		return err
	}
	name, err := cli.MachineName("")
	if err != nil {
		name = "demo"
	}
	placing, err := placement.Placing()
	if err != nil {
		return err
	}
	applications, err := sampleApplications(scale)
	if err != nil {
		return err
	}
	var folder *store.Store
	if keep {
		if folder, err = a.OpenStore(); err != nil {
			return err
		}
		if err := folder.CheckWritable(); err != nil {
			return err
		}
	}
	begin := time.Now()
	session, err := onboard.Open(ctx, placing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	a.Note(session.Placement.Explanation)
	progress := a.NewProgress()
	defer progress.Done()
	trial := &onboard.Trial{
		Session: session, Applications: applications, Source: ticks.Page{},
		Wanted: pressure.Grid(demoShares, demoLevels, "sequential"), Precision: demoPrecision, Budget: demoBudget - time.Since(begin), Report: progress.Share,
		Machine: onboard.MachineOptions{
			Name: name, ReadShares: machineReadShares, ProbeGrid: pressure.CalibrationGrid(true), Precision: probePrecision(true), Version: cli.Version(),
		},
	}
	tried, err := trial.Run(ctx)
	if err != nil {
		return err
	}
	progress.Done()
	if keep {
		if err := keepProfiles(folder, tried); err != nil {
			return err
		}
	}
	result, err := NewDemoResult(tried)
	if err != nil {
		return err
	}
	return a.Print(result, func(w io.Writer) error { return writeDemo(a, w, result) })
}

func keepProfiles(folder *store.Store, v *onboard.Tried) error {
	if err := putMachine(folder, v.Machine); err != nil {
		return err
	}
	for _, p := range v.Profiles {
		if err := folder.Put(p); err != nil {
			return fmt.Errorf("storing the profile of %s: %w", p.Name, err)
		}
	}
	return nil
}

// NewDemoResult predicts every pair and compares.
func NewDemoResult(v *onboard.Tried) (DemoResult, error) {
	spec := v.Machine.Spec
	result := DemoResult{
		Machine: demoMachine{
			Name: v.Machine.Name, CPUModel: spec.CPUModel, CPUs: spec.CPUs, VirtualMachine: spec.VirtualMachine,
			Regime: string(v.Class), RoundTripNanoseconds: float64(v.RoundTrip.Nanoseconds()),
			SharedLastLevelCache: spec.Measurement.SharedLastLevelCache,
		},
		DroppedSamples: v.Dropped,
		Warnings:       append([]string{}, spec.Warnings...),
	}
	known := advisor.New(v.Profiles, []*v1alpha1.MachineProfile{v.Machine})
	compiled := map[string]*predictor.Application{}
	for _, p := range v.Profiles {
		e := known.Lookup(p.Name, p.Spec.Machine.Name)
		if e.Application == nil {
			return result, fmt.Errorf("profile of %s: %s", p.Name, e.Reason)
		}
		compiled[p.Name] = e.Application
		contentiousness := p.Spec.Contentiousness
		traffic := units.Traffic{Read: units.Bandwidth(contentiousness.ReadBytesPerSecond), Write: units.Bandwidth(contentiousness.WriteBytesPerSecond)}
		application := demoApplication{
			Name: p.Name, SoloSeconds: p.Spec.Solo.Seconds,
			ReadBytesPerSecond: contentiousness.ReadBytesPerSecond, WriteBytesPerSecond: contentiousness.WriteBytesPerSecond,
			RelativeUncertainty: contentiousness.RelativeUncertainty,
		}
		if share, ok := traffic.ReadShare(); ok {
			application.ReadShare = &share
		}
		result.Applications = append(result.Applications, application)
	}
	var off, noise []float64
	var noisy []string
	for _, pair := range v.Pairs {
		if e := pair.StandardError; e > 0 && !math.IsInf(e, 0) {
			noise = append(noise, 100*e)
		}
		if pair.Repeats < leastReadings || !(pair.StandardError <= tooNoisy) {
			noisy = append(noisy, fmt.Sprintf("%s beside %s (±%.0f points)", pair.Target, pair.Corunner, 100*pair.StandardError))
			continue
		}
		p, err := predictor.Predict(compiled[pair.Target], []*predictor.Application{compiled[pair.Corunner]}, predictor.Options{})
		if err != nil {
			return result, err
		}
		difference := 100 * math.Abs(float64(p.NormalizedPerformance-pair.NormalizedPerformance))
		result.Pairs = append(result.Pairs, demoPair{
			Target: pair.Target, Corunner: pair.Corunner,
			Predicted: float64(p.NormalizedPerformance), Measured: float64(pair.NormalizedPerformance),
			ErrorPoints: difference, Regime: string(v.Class),
			Interval: [2]float64{float64(p.Interval.Low), float64(p.Interval.High)},
		})
		off = append(off, difference)
	}
	if len(noise) > 0 {
		result.Noise = new(stats.Median(noise))
		if *result.Noise > 100*tooNoisy {
			result.Pairs, off = nil, nil
		}
	}
	if len(off) > 0 {
		result.MeanAbsErrorPoints, result.MaxAbsErrorPoints = new(stat.Mean(off, nil)), new(slices.Max(off))
	}
	if len(v.LeftOut) > 0 {
		result.Warnings = append(result.Warnings, "left out: "+strings.Join(v.LeftOut, "; "))
	}
	if len(v.Missing) > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("not measured, because the CPUs did not stay where they were for long enough: %s", strings.Join(v.Missing, ", ")))
	}
	if len(noisy) > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("left out because the measurement is less precise than %.0f points or has fewer than %d readings: %s", 100*tooNoisy, leastReadings, strings.Join(noisy, ", ")))
	}
	for _, c := range v.Controls {
		if far := math.Abs(float64(c.NormalizedPerformance) - 1); far > noisyControl && far > 3*c.StandardError {
			result.Warnings = append(result.Warnings, fmt.Sprintf("control: %s with nothing beside it came out as %.3f ± %.3f instead of 1: this machine is too noisy to tell smaller differences", c.Target, float64(c.NormalizedPerformance), c.StandardError))
		}
	}
	return result, nil
}

// tooNoisy is the standard error of a measured pair from which it tells nothing of a
// prediction. Where it is that of most pairs, none is shown: that a few seem precise is
// chance.
const tooNoisy = 0.05

// leastReadings are so many that their spread tells how precise they are.
const leastReadings = 5

// noisyControl is how far a control may be off without a warning.
const noisyControl = 0.02

func writeDemo(a *cli.App, w io.Writer, r DemoResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %d CPUs; %s placement, %.0f ns round trip", report.SanitizeText(r.Machine.CPUModel), r.Machine.CPUs, r.Machine.Regime, r.Machine.RoundTripNanoseconds)
	if shared := r.Machine.SharedLastLevelCache; shared != nil && *shared {
		b.WriteString(", shared last-level cache")
	}
	b.WriteString("\n")
	if len(r.Applications) > 0 {
		b.WriteString("\nApplications, alone (bandwidth estimated by probes)\n\n")
		if err := demoApplicationTable(r).Write(&b, a.Canvas()); err != nil {
			return err
		}
	}
	if len(r.Pairs) > 0 {
		b.WriteString("\nSlowdown of the first beside the second\n\n")
		if err := demoPairTable(r).Write(&b, a.Canvas()); err != nil {
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

func demoApplicationTable(r DemoResult) *report.Table {
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

func demoPairTable(r DemoResult) *report.Table {
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
