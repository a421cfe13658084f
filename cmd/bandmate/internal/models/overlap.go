// Package models has the commands of the models beside the memory: overlap of
// computation and communication, networks, capabilities of caches and memory.
package models

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/overlap/diagram"
	"bandmate.dev/bandmate/report"
)

// NewOverlap returns the command overlap.
func NewOverlap(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "overlap",
		Short: "Model computation and communication that share a memory bus",
		Long: `Models of how computation and communication of one job slow each other down
when they run at the same time: the bandwidths of both by cores and placement
(Denis et al. 2022), and the time of a step that overlaps them (Langguth et al.
2018).`,
		Example: `  bandmate overlap time --computation 124.58ms --communication 0.86ms --computation-loss 1.104 --communication-loss 2.279
  bandmate overlap fit sweep.csv -o yaml > parameters.yaml`,
		Args: cli.WantArgs(cobra.NoArgs, "a command: measure, fit, bandwidth, time, split"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newOverlapMeasureCommand(a), newOverlapTimeCommand(a), newOverlapSplitCommand(a), newOverlapFitCommand(a), newOverlapBandwidthCommand(a))
	return cmd
}

// stepFlags are the flags of a step.
type stepFlags struct{ overlap.Step }

func (f *stepFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.Computation, "computation", 0, "time of the computation alone, for example 124.58ms")
	flags.DurationVar(&f.Communication, "communication", 0, "time of the communication alone")
	flags.Float64Var(&f.ComputationLoss, "computation-loss", 1, "bandwidth of the computation alone ÷ beside the communication")
	flags.Float64Var(&f.CommunicationLoss, "communication-loss", 1, "bandwidth of the communication alone ÷ beside the computation")
}

// needStep names the flags of a step that were not given.
func needStep(cmd *cobra.Command, more ...string) error {
	return needFlags(cmd, append([]string{"computation", "communication", "computation-loss", "communication-loss"}, more...)...)
}

// stepResult is `overlap time -o json`.
type stepResult struct {
	TotalSeconds                         float64      `json:"totalSeconds"`
	ComputationUnderContentionSeconds    float64      `json:"computationUnderContentionSeconds"`
	CommunicationUnderContentionSeconds  float64      `json:"communicationUnderContentionSeconds"`
	LimitedBy                            overlap.Part `json:"limitedBy"`
	WithoutContentionSeconds             float64      `json:"withoutContentionSeconds"`
	OneAfterTheOtherSeconds              float64      `json:"oneAfterTheOtherSeconds"`
	computationAlone, communicationAlone time.Duration
}

func newStepResult(s overlap.Step, t overlap.StepTime) stepResult {
	return stepResult{
		TotalSeconds: t.TotalSeconds, ComputationUnderContentionSeconds: t.ComputationSeconds,
		CommunicationUnderContentionSeconds: t.CommunicationSeconds, LimitedBy: t.LimitedBy,
		WithoutContentionSeconds: max(s.Computation, s.Communication).Seconds(),
		OneAfterTheOtherSeconds:  (s.Computation + s.Communication).Seconds(),
		computationAlone:         s.Computation, communicationAlone: s.Communication,
	}
}

func newOverlapTimeCommand(a *cli.App) *cobra.Command {
	var (
		f       stepFlags
		picture string
	)
	cmd := &cobra.Command{
		Use:   "time",
		Short: "Predict the time of a step that computes and communicates at once",
		Long: `Both parts run under contention until the shorter one has ended; the rest of
the other runs alone (Langguth et al. 2018, section IV). overlap measure finds
the losses of this machine. --svg draws both times as axes, as the paper's
Figure 6.`,
		Example: `  bandmate overlap time --computation 124.58ms --communication 0.86ms --computation-loss 1.104 --communication-loss 2.279
  bandmate overlap time --computation 1ms --communication 0.5ms --computation-loss 1.72 --communication-loss 2.2 --svg step.svg`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needStep(cmd); err != nil {
				return err
			}
			t, err := f.Time()
			if err != nil {
				return cli.UsageError(err)
			}
			if err := writePicture(picture, func() ([]byte, error) { return diagram.Step(f.Step) }); err != nil {
				return err
			}
			r := newStepResult(f.Step, t)
			return a.Print(r, func(w io.Writer) error { return writeStep(w, r) })
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&picture, "svg", "", "draw the step into this file")
	return cmd
}

func writeStep(w io.Writer, r stepResult) error {
	_, err := fmt.Fprintf(w, `step                 %s, limited by %s
computation          %s alone, %s beside the communication
communication        %s alone, %s beside the computation
without contention   %s
one after the other  %s
`, milliseconds(r.TotalSeconds), r.LimitedBy,
		milliseconds(r.computationAlone.Seconds()), milliseconds(r.ComputationUnderContentionSeconds),
		milliseconds(r.communicationAlone.Seconds()), milliseconds(r.CommunicationUnderContentionSeconds),
		milliseconds(r.WithoutContentionSeconds), milliseconds(r.OneAfterTheOtherSeconds))
	return err
}

// milliseconds prints a time with five digits, without an exponent: contention may be a
// small part.
func milliseconds(seconds float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(1e3*seconds, 'g', 5, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64) + " ms"
}

// splitResult is `overlap split -o json`.
type splitResult struct {
	// AcceleratorShare is the best share of the work on the accelerators.
	AcceleratorShare   float64    `json:"acceleratorShare"`
	TotalSeconds       float64    `json:"totalSeconds"`
	AcceleratorSeconds float64    `json:"acceleratorSeconds"`
	Processors         stepResult `json:"processors"`
	// AllOnAccelerator and AllOnProcessors are the steps without a division.
	AllOnAcceleratorSeconds float64 `json:"allOnAcceleratorSeconds"`
	AllOnProcessorsSeconds  float64 `json:"allOnProcessorsSeconds"`
}

func newOverlapSplitCommand(a *cli.App) *cobra.Command {
	var (
		f           stepFlags
		accelerator time.Duration
		share       float64
	)
	cmd := &cobra.Command{
		Use:   "split",
		Short: "Find the best share of the work for accelerators",
		Long: `Divides the work of a step between processors, which also communicate, and
accelerators so that the step is shortest (Langguth et al. 2018, section VI).
--computation and --accelerator are the times in which each would do all of it.`,
		Example: `  bandmate overlap split --computation 6ms --accelerator 1.2ms --communication 0.5ms --computation-loss 1.72 --communication-loss 2.2`,
		Args:    cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needStep(cmd, "accelerator"); err != nil {
				return err
			}
			h := overlap.Heterogeneous{Step: f.Step, Accelerator: accelerator}
			s, err := h.Best()
			if err == nil && cmd.Flags().Changed("share") {
				s, err = h.At(share)
			}
			if err != nil {
				return cli.UsageError(err)
			}
			r, err := newSplitResult(h, s)
			if err != nil {
				return err
			}
			return a.Print(r, func(w io.Writer) error { return writeSplit(w, r) })
		},
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&accelerator, "accelerator", 0, "time in which the accelerators would do all the work")
	cmd.Flags().Float64Var(&share, "share", 0, "the time with this share of the work on the accelerators, 0 to 1, instead of the best")
	return cmd
}

func newSplitResult(h overlap.Heterogeneous, s overlap.SplitTime) (splitResult, error) {
	rest := h.Step
	rest.Computation = time.Duration(float64(h.Computation) * (1 - s.AcceleratorShare))
	none, err := h.At(0)
	if err != nil {
		return splitResult{}, err
	}
	all, err := h.At(1)
	return splitResult{
		AcceleratorShare: s.AcceleratorShare, TotalSeconds: s.TotalSeconds, AcceleratorSeconds: s.AcceleratorSeconds,
		Processors:              newStepResult(rest, s.Processors),
		AllOnAcceleratorSeconds: all.TotalSeconds, AllOnProcessorsSeconds: none.TotalSeconds,
	}, err
}

func writeSplit(w io.Writer, r splitResult) error {
	_, err := fmt.Fprintf(w, `accelerators         %.1f%% of the work, %s
processors           %.1f%% of the work and the communication, %s
step                 %s
all on accelerators  %s
all on processors    %s
`, 100*r.AcceleratorShare, milliseconds(r.AcceleratorSeconds),
		100*(1-r.AcceleratorShare), milliseconds(r.Processors.TotalSeconds),
		milliseconds(r.TotalSeconds), milliseconds(r.AllOnAcceleratorSeconds), milliseconds(r.AllOnProcessorsSeconds))
	return err
}

// fitResult is `overlap fit -o json`; as YAML it is the parameters' file too.
type fitResult struct {
	overlap.Parameters
	// PartsPerCore is what numbers of cores count; absent where they count cores.
	PartsPerCore int `json:"partsPerCore,omitempty"`
	// Error are mean absolute percentage errors, absent where there are no rows.
	Error overlapErrors `json:"meanAbsolutePercentageError"`
}

// unit is what the numbers of cores of a picture count; empty for cores.
func (r fitResult) unit() string {
	if r.PartsPerCore == 0 {
		return ""
	}
	return fmt.Sprintf("1/%d of a core", r.PartsPerCore)
}

type overlapErrors struct {
	ComputationSamples   *float64 `json:"computationSamples,omitempty"`
	ComputationOthers    *float64 `json:"computationOthers,omitempty"`
	ComputationAll       *float64 `json:"computationAll,omitempty"`
	CommunicationSamples *float64 `json:"communicationSamples,omitempty"`
	CommunicationOthers  *float64 `json:"communicationOthers,omitempty"`
	CommunicationAll     *float64 `json:"communicationAll,omitempty"`
	Average              *float64 `json:"average,omitempty"`
}

func present(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

func newOverlapFitCommand(a *cli.App) *cobra.Command {
	var (
		nodes         int
		picture, unit string
	)
	cmd := &cobra.Command{
		Use:   "fit SWEEP.csv",
		Short: "Fit the parameters of the model to measured sweeps",
		Long: `Reads bandwidths measured alone and together with every number of computing
cores from 1, with all data on node 0 and, where there is another socket, with
all data on its first node; prints the parameters (Denis et al. 2022, section
III.A) and the mean absolute percentage errors as in the paper's Table II. Rows
of other placements are predicted, not used. --svg draws measurements and
predictions.

Columns: computationNode, communicationNode, cores,
computationAloneBytesPerSecond, communicationAloneBytesPerSecond,
computationBytesPerSecond, communicationBytesPerSecond; partsPerCore where the
numbers of cores count parts of a core.`,
		Example: `  bandmate overlap fit sweep.csv
  bandmate overlap fit sweep.csv --nodes-per-socket 2 -o yaml > parameters.yaml
  bandmate overlap fit sweep.csv --svg sweep.svg`,
		Args: cli.WantArgs(cobra.ExactArgs(1), "the file of a sweep"),
		RunE: func(_ *cobra.Command, args []string) error {
			if nodes < 1 {
				return cli.Usagef("--nodes-per-socket %d: want 1 or more", nodes)
			}
			r, sweep, err := fitSweep(args[0], nodes)
			if err != nil {
				return err
			}
			drawn := diagram.Bandwidths{Parameters: r.Parameters, Sweep: sweep, Unit: cmp.Or(unit, r.unit())}
			if err := writePicture(picture, drawn.SVG); err != nil {
				return err
			}
			return a.Print(r, func(w io.Writer) error { return writeFit(w, r, a.Canvas()) })
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes-per-socket", 1, "NUMA nodes of the socket that computes; nodes from this number on are remote")
	cmd.Flags().StringVar(&picture, "svg", "", "draw measured and predicted bandwidths into this file")
	cmd.Flags().StringVar(&unit, "unit", "", `what the numbers of cores count, for the picture, as "eighths of a core" (default: computing cores, or the parts that the sweep counts)`)
	return interruptible(cmd)
}

func fitSweep(path string, nodes int) (fitResult, overlap.Sweep, error) {
	file, err := os.Open(path)
	if err != nil {
		return fitResult{}, nil, err
	}
	defer file.Close()
	sweep, err := overlap.ReadSweep(file, path)
	if err != nil {
		return fitResult{}, nil, err
	}
	p, err := overlap.Fit(sweep, nodes)
	if err != nil {
		return fitResult{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	e, err := overlap.Evaluate(p, sweep)
	if err != nil {
		return fitResult{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	return fitResult{p, sweep[0].PartsPerCore, overlapErrors{
		present(e.Samples.Computation), present(e.Others.Computation), present(e.All.Computation),
		present(e.Samples.Communication), present(e.Others.Communication), present(e.All.Communication), present(e.Average),
	}}, sweep, nil
}

// writeParts says what numbers of cores count where they do not count cores.
func writeParts(w io.Writer, perCore int) {
	if perCore > 0 {
		fmt.Fprintf(w, "numbers of cores count parts, of which %d are a core\n\n", perCore)
	}
}

func writeFit(w io.Writer, r fitResult, o report.Options) error {
	writeParts(w, r.PartsPerCore)
	t := cli.Table("", ">local", ">remote")
	row := func(name string, of func(overlap.Instance) string) {
		remote := report.Text(report.Missing)
		if r.Remote != nil {
			remote = report.Text(of(*r.Remote))
		}
		t.Add(report.Text(name), report.Text(of(r.Local)), remote)
	}
	row("communication alone", func(m overlap.Instance) string { return m.CommunicationAlone.String() })
	row("least share of communication", func(m overlap.Instance) string { return fmt.Sprintf("%.1f%%", 100*m.LeastCommunicationShare) })
	row("computation per core", func(m overlap.Instance) string { return m.ComputationPerCore.String() })
	row("computation alone, at most", func(m overlap.Instance) string { return m.ComputationAlone.String() })
	row("  with cores", func(m overlap.Instance) string { return fmt.Sprint(m.ComputationAloneCores) })
	row("both, at most", func(m overlap.Instance) string { return m.Total.String() })
	row("  up to cores", func(m overlap.Instance) string { return fmt.Sprint(m.TotalCores) })
	row("loss a core before / after", func(m overlap.Instance) string { return m.LossBefore.String() + " / " + m.LossAfter.String() })
	if err := t.Write(w, o); err != nil {
		return err
	}
	percent := func(v *float64) report.Cell {
		if v == nil {
			return report.Number("", math.NaN())
		}
		return report.Number(fmt.Sprintf("%.2f%%", *v), *v)
	}
	errs := cli.Table("mean absolute error", ">fitted placements", ">others", ">all")
	errs.Add(report.Text("communication"), percent(r.Error.CommunicationSamples), percent(r.Error.CommunicationOthers), percent(r.Error.CommunicationAll))
	errs.Add(report.Text("computation"), percent(r.Error.ComputationSamples), percent(r.Error.ComputationOthers), percent(r.Error.ComputationAll))
	errs.Add(report.Text("average"), report.Cell{}, report.Cell{}, percent(r.Error.Average))
	fmt.Fprintln(w)
	return errs.Write(w, o)
}

// bandwidthResult is `overlap bandwidth -o json`.
type bandwidthResult struct {
	Computation   float64 `json:"computationBytesPerSecond"`
	Communication float64 `json:"communicationBytesPerSecond"`
	Total         float64 `json:"totalBytesPerSecond"`
	alone         overlap.Bandwidths
	together      overlap.Bandwidths
	partsPerCore  int
}

func newOverlapBandwidthCommand(a *cli.App) *cobra.Command {
	var (
		parameters, picture string
		cores               int
		at                  overlap.Placement
	)
	cmd := &cobra.Command{
		Use:   "bandwidth",
		Short: "Predict the bandwidths of computing cores and a communication",
		Long: `Predicts the bandwidths of computation and communication that run at the same
time (Denis et al. 2022, eq. 1 to 8), with the parameters that overlap fit wrote.`,
		Example: `  bandmate overlap bandwidth --parameters parameters.yaml --cores 12 --computation-node 0 --communication-node 1 -o json
  bandmate overlap bandwidth --parameters parameters.yaml --cores 12 --svg prediction.svg`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "parameters", "cores"); err != nil {
				return err
			}
			p, err := readParameters(parameters)
			if err != nil {
				return err
			}
			b, err := p.Together(cores, at)
			if err != nil {
				return cli.UsageError(err)
			}
			alone, err := p.Alone(cores, at)
			if err != nil {
				return cli.UsageError(err)
			}
			drawn := diagram.Bandwidths{
				Parameters: p.Parameters, Placements: []overlap.Placement{at}, Mark: cores, Unit: p.unit(),
				Cores: max(cores, p.Local.ComputationAloneCores, p.Local.TotalCores) + 1,
			}
			if err := writePicture(picture, drawn.SVG); err != nil {
				return err
			}
			r := bandwidthResult{float64(b.Computation), float64(b.Communication), float64(b.Total()), alone, b, p.PartsPerCore}
			return a.Print(r, func(w io.Writer) error { return writeBandwidths(w, r) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&parameters, "parameters", "", "file that overlap fit -o yaml (or json) wrote")
	flags.IntVar(&cores, "cores", 0, "computing cores")
	flags.IntVar(&at.ComputationNode, "computation-node", 0, "NUMA node of the computation's data")
	flags.IntVar(&at.CommunicationNode, "communication-node", 0, "NUMA node of the communication's data")
	flags.StringVar(&picture, "svg", "", "draw the prediction over the number of cores into this file")
	return interruptible(cmd)
}

func writeBandwidths(w io.Writer, r bandwidthResult) error {
	writeParts(w, r.partsPerCore)
	_, err := fmt.Fprintf(w, "computation    %s, alone %s\ncommunication  %s, alone %s\ntotal          %s\n",
		r.together.Computation, r.alone.Computation, r.together.Communication, r.alone.Communication, r.together.Total())
	return err
}

func readParameters(path string) (fitResult, error) {
	data, err := readFile(path)
	if err != nil {
		return fitResult{}, err
	}
	var r fitResult
	if err := yaml.UnmarshalStrict(data, &r); err != nil {
		return fitResult{}, fmt.Errorf("%s: not parameters that overlap fit wrote: %w", path, err)
	}
	if err := r.Validate(); err != nil {
		return fitResult{}, fmt.Errorf("%s: %w", path, err)
	}
	if r.PartsPerCore < 0 {
		return fitResult{}, fmt.Errorf("%s: partsPerCore %d: want 0 or more", path, r.PartsPerCore)
	}
	return r, nil
}
