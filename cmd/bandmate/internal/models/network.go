package models

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/network/diagram"
	"bandmate.dev/bandmate/network/simulate"
	"bandmate.dev/bandmate/report"
)

// NewNetwork returns the command network.
func NewNetwork(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "network",
		Short: "Model communications that share network cards",
		Long: `Models of how much longer communications take if they leave the same node or
arrive at the same node (Vienne et al. 2008): the penalty is the time ÷ the
time alone.`,
		Example: `  bandmate network penalty --model gigabit-ethernet a:0-1 b:0-2 c:0-3
  bandmate network simulate scenario.yaml`,
		Args: cli.WantArgs(cobra.NoArgs, "a command: measure, fit, penalty, simulate"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNetworkMeasureCommand(a), newNetworkPenaltyCommand(a), newNetworkFitCommand(a), newNetworkSimulateCommand(a))
	return cmd
}

// penaltyResult is `network penalty -o json`.
type penaltyResult struct {
	Model     string             `json:"model"`
	Penalties map[string]float64 `json:"penalties"`
	conflict  []network.Communication
}

func newNetworkPenaltyCommand(a *cli.App) *cobra.Command {
	var name string
	values := map[string]*float64{"beta": new(float64), "gamma-out": new(float64), "gamma-in": new(float64)}
	paper := network.PaperGigabitEthernet()
	cmd := &cobra.Command{
		Use:   "penalty NAME:FROM-TO...",
		Short: "Compute penalties of communications that all send at once",
		Long: `Each communication has a name and goes from one node, by number, to another.

gigabit-ethernet has three parameters, those of the paper's cluster by default;
myrinet has none; infiniband is a table of measurements, and refuses conflicts
that are not in it.`,
		Example: `  bandmate network penalty --model gigabit-ethernet a:0-1 b:0-2 c:0-3 d:4-2 e:4-3 f:5-3
  bandmate network penalty --model myrinet a:0-1 b:0-2 c:0-3 d:4-1 e:5-1 f:4-6 -o json`,
		Args: cli.WantArgs(cobra.MinimumNArgs(1), "one communication or more, as a:0-1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needFlags(cmd, "model"); err != nil {
				return err
			}
			m := simulate.Model{Name: name}
			// A parameter that was given for another model is refused.
			for flag, of := range map[string]**float64{"beta": &m.Beta, "gamma-out": &m.GammaOut, "gamma-in": &m.GammaIn} {
				if cmd.Flags().Changed(flag) {
					*of = values[flag]
				}
			}
			r, err := penalties(m, args)
			if err != nil {
				return err
			}
			return a.Print(r, func(w io.Writer) error { return writePenalties(w, r, a.Canvas()) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "model", "", strings.Join(network.ModelNames(), ", "))
	cli.Values(flags, "model", network.ModelNames()...)
	flags.Float64Var(values["beta"], "beta", paper.Beta, "gigabit-ethernet: penalty of k communications from one node ÷ k")
	flags.Float64Var(values["gamma-out"], "gamma-out", paper.GammaOut, "gigabit-ethernet: how unevenly those that leave share the card")
	flags.Float64Var(values["gamma-in"], "gamma-in", paper.GammaIn, "gigabit-ethernet: how unevenly those that arrive share it")
	return cmd
}

func penalties(m simulate.Model, args []string) (penaltyResult, error) {
	model, err := m.Compile()
	if err != nil {
		return penaltyResult{}, cli.UsageError(fmt.Errorf("model %w", err))
	}
	r := penaltyResult{Model: model.Name(), Penalties: make(map[string]float64)}
	for _, arg := range args {
		c, err := network.ParseCommunication(arg)
		if err != nil {
			return r, cli.UsageError(err)
		}
		r.conflict = append(r.conflict, c)
	}
	if err := network.Validate(r.conflict); err != nil {
		return r, cli.UsageError(err)
	}
	values, err := model.Penalties(r.conflict)
	if err != nil {
		return r, err
	}
	for i, c := range r.conflict {
		r.Penalties[c.Name] = values[i]
	}
	return r, nil
}

func writePenalties(w io.Writer, r penaltyResult, o report.Options) error {
	t := cli.Table("communication", ">from", ">to", ">penalty")
	for _, c := range r.conflict {
		p := r.Penalties[c.Name]
		t.Add(report.Text(report.SanitizeText(c.Name)), cli.CountCell(c.From), cli.CountCell(c.To), report.Number(fmt.Sprintf("%.3f", p), p))
	}
	return t.Write(w, o)
}

// networkFitResult is `network fit -o json`.
type networkFitResult struct {
	Model          string                `json:"model"`
	Beta           float64               `json:"beta"`
	GammaOut       float64               `json:"gammaOut"`
	GammaIn        float64               `json:"gammaIn"`
	MeanAbsError   float64               `json:"meanAbsErrorPercent"`
	Conflicts      []fittedConflict      `json:"conflicts"`
	Communications []fittedCommunication `json:"communications"`
	Warnings       []string              `json:"warnings"`
}

// fittedConflict is E_abs of one conflict.
type fittedConflict struct {
	Conflict     string  `json:"conflict"`
	MeanAbsError float64 `json:"meanAbsErrorPercent"`
}

// fittedCommunication is one communication, measured and as fitted.
type fittedCommunication struct {
	Conflict      string  `json:"conflict"`
	Communication string  `json:"communication"`
	Measured      float64 `json:"measuredPenalty"`
	Predicted     float64 `json:"predictedPenalty"`
	RelativeError float64 `json:"relativeErrorPercent"`
}

func newNetworkFitCommand(a *cli.App) *cobra.Command {
	return interruptible(&cobra.Command{
		Use:   "fit CONFLICTS.csv",
		Short: "Fit the parameters of gigabit-ethernet to measured conflicts",
		Long: `Reads the times of communications in conflicts, and prints the parameters that
describe them best with the error of each (Vienne et al. 2008, sections V.A and
VI.B). An error above zero is a model that is too pessimistic.

Columns: conflict, communication, from, to, seconds, aloneSeconds.`,
		Example: `  bandmate network fit conflicts.csv -o json`,
		Args:    cli.WantArgs(cobra.ExactArgs(1), "the file of measured conflicts"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := fitConflicts(args[0])
			if err != nil {
				return err
			}
			return printWarned(a, r, r.Warnings, func(w io.Writer) error { return writeNetworkFit(w, r, a.Canvas()) })
		},
	})
}

func fitConflicts(path string) (networkFitResult, error) {
	file, err := os.Open(path)
	if err != nil {
		return networkFitResult{}, err
	}
	defer file.Close()
	measured, err := network.ReadMeasured(file, path)
	if err != nil {
		return networkFitResult{}, err
	}
	fit, err := network.FitGigabitEthernet(measured)
	if err != nil {
		return networkFitResult{}, fmt.Errorf("%s: %w", path, err)
	}
	r := networkFitResult{
		Model: fit.Model.Name(), Beta: fit.Model.Beta, GammaOut: fit.Model.GammaOut, GammaIn: fit.Model.GammaIn,
		MeanAbsError: fit.MeanAbsError, Warnings: append([]string{}, fit.Warnings...),
	}
	for _, m := range measured {
		predicted, err := fit.Model.Penalties(m.Conflict)
		if err != nil {
			return r, fmt.Errorf("%s: conflict %q: %w", path, m.Name, err)
		}
		total := 0.0
		for i, c := range m.Conflict {
			relative := network.RelativeError(predicted[i], m.Penalties[i])
			total += math.Abs(relative)
			r.Communications = append(r.Communications, fittedCommunication{m.Name, c.Name, m.Penalties[i], predicted[i], relative})
		}
		r.Conflicts = append(r.Conflicts, fittedConflict{m.Name, total / float64(len(m.Conflict))})
	}
	return r, nil
}

func writeNetworkFit(w io.Writer, r networkFitResult, o report.Options) error {
	fmt.Fprintf(w, "beta %.4f, gamma-out %.4f, gamma-in %.4f: %.1f%% mean absolute error\n\n", r.Beta, r.GammaOut, r.GammaIn, r.MeanAbsError)
	t := cli.Table("conflict", "communication", ">measured", ">fitted", ">error")
	for _, c := range r.Communications {
		t.Add(report.Text(report.SanitizeText(c.Conflict)), report.Text(report.SanitizeText(c.Communication)),
			report.Number(fmt.Sprintf("%.3f", c.Measured), c.Measured), report.Number(fmt.Sprintf("%.3f", c.Predicted), c.Predicted),
			report.Number(fmt.Sprintf("%+.1f%%", c.RelativeError), c.RelativeError))
	}
	if err := t.Write(w, o); err != nil {
		return err
	}
	conflicts := cli.Table("conflict", ">mean absolute error")
	for _, c := range r.Conflicts {
		conflicts.Add(report.Text(report.SanitizeText(c.Conflict)), report.Number(fmt.Sprintf("%.1f%%", c.MeanAbsError), c.MeanAbsError))
	}
	fmt.Fprintln(w)
	return conflicts.Write(w, o)
}

// simulateResult is `network simulate -o json`.
type simulateResult struct {
	Model        string          `json:"model"`
	TotalSeconds float64         `json:"totalSeconds"`
	Tasks        []simulatedTask `json:"tasks"`
}

type simulatedTask struct {
	Application          string   `json:"application"`
	Task                 int      `json:"task"`
	Node                 int      `json:"node"`
	ComputeSeconds       float64  `json:"computeSeconds"`
	CommunicationSeconds float64  `json:"communicationSeconds"`
	TotalSeconds         float64  `json:"totalSeconds"`
	BytesSent            int64    `json:"bytesSent"`
	BytesReceived        int64    `json:"bytesReceived"`
	MessagesSent         int      `json:"messagesSent"`
	MessagesLocal        int      `json:"messagesLocal"`
	MeanPenalty          *float64 `json:"meanPenalty,omitempty"`
	MaxPenalty           *float64 `json:"maxPenalty,omitempty"`
	Conflicts            struct {
		Outgoing    int `json:"outgoing"`
		Incoming    int `json:"incoming"`
		IncomeOutgo int `json:"incomeOutgo"`
	} `json:"conflicts"`
}

func newNetworkSimulateCommand(a *cli.App) *cobra.Command {
	var picture string
	cmd := &cobra.Command{
		Use:   "simulate SCENARIO.yaml",
		Short: "Simulate applications that compute and communicate on a cluster",
		Long: `Simulates tasks that compute, send and receive, and shows the time, the
penalties and the conflicts of each. The shares of the cards are recomputed
whenever a communication starts or ends (Vienne et al. 2008, section VI.A). "-"
reads standard input. --svg draws the time line of all tasks and messages.

  cluster: {nodes: 4, coresPerNode: 2, bandwidth: 118MB/s, latency: 50us,
            memoryBandwidth: 2GB/s, buffer: 64KiB}
  model: {name: gigabit-ethernet}
  placement: {policy: round-robin-node}    # round-robin-processor, random, given
  applications:
  - name: ring
    tasks:
    - {repeat: 10, events: [{compute: 2ms}, {send: {to: 1, bytes: 4MB}}]}
    - {repeat: 10, events: [{receive: {from: 0}}, {compute: 3ms}]}`,
		Example: `  bandmate network simulate scenario.yaml
  bandmate network simulate scenario.yaml -o csv > tasks.csv
  bandmate network simulate scenario.yaml --svg timeline.svg`,
		Args: cli.WantArgs(cobra.ExactArgs(1), "the file of a scenario"),
		RunE: func(cmd *cobra.Command, args []string) error {
			most := 0
			if picture != "" {
				most = diagram.MaxSpans
			}
			var played simulate.Result
			var trace simulate.Trace
			// Reading may hang, and one step of a simulation take seconds.
			if err := cli.UnlessInterrupted(cmd.Context(), func() (err error) {
				played, trace, err = playScenario(cmd, args[0], most)
				return err
			}); err != nil {
				return err
			}
			if err := writePicture(picture, func() ([]byte, error) { return diagram.Timeline(played, trace) }); err != nil {
				return err
			}
			r := newSimulateResult(played)
			return a.PrintTable(r, r.table(), func(w io.Writer) error { return writeSimulated(w, r, a.Canvas()) })
		},
	}
	cmd.Flags().StringVar(&picture, "svg", "", "draw the time line into this file")
	return cli.WithFormats(cmd, cli.FormatCSV)
}

// playScenario simulates the scenario in a file, and traces at most so many events.
func playScenario(cmd *cobra.Command, path string, most int) (simulate.Result, simulate.Trace, error) {
	data, err := readInput(path, cmd.InOrStdin())
	if err != nil {
		return simulate.Result{}, simulate.Trace{}, err
	}
	s, err := simulate.Decode(data)
	if err != nil {
		return simulate.Result{}, simulate.Trace{}, fmt.Errorf("%s: %w", path, err)
	}
	played, trace, err := simulate.Run(cmd.Context(), s, most)
	if err != nil {
		return simulate.Result{}, simulate.Trace{}, fmt.Errorf("%s: %w", path, err)
	}
	return played, trace, nil
}

// maxScenario bounds a scenario's file.
const maxScenario = 256 << 20

// readInput reads a file, or standard input for "-".
func readInput(path string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return readAtMost(in, path, maxScenario)
}

func newSimulateResult(played simulate.Result) simulateResult {
	r := simulateResult{Model: played.Model, TotalSeconds: played.TotalSeconds, Tasks: []simulatedTask{}}
	for _, p := range played.Tasks {
		t := simulatedTask{
			Application: p.Application, Task: p.Task, Node: p.Node,
			ComputeSeconds: p.ComputeSeconds, CommunicationSeconds: p.CommunicationSeconds, TotalSeconds: p.TotalSeconds,
			BytesSent: p.BytesSent, BytesReceived: p.BytesReceived, MessagesSent: p.Sent, MessagesLocal: p.Local,
		}
		if p.Sent > 0 {
			t.MeanPenalty, t.MaxPenalty = &p.MeanPenalty, &p.MaxPenalty
		}
		t.Conflicts.Outgoing, t.Conflicts.Incoming, t.Conflicts.IncomeOutgo = p.Conflicts.Outgoing, p.Conflicts.Incoming, p.Conflicts.IncomeOutgo
		r.Tasks = append(r.Tasks, t)
	}
	return r
}

func (r simulateResult) table() *report.Table {
	t := &report.Table{Columns: []report.Column{
		{Title: "application"},
		{Title: "task", Numeric: true},
		{Title: "node", Numeric: true},
		{Title: "compute", Key: "computeSeconds", Numeric: true},
		{Title: "communicate", Key: "communicationSeconds", Numeric: true},
		{Title: "total", Key: "totalSeconds", Numeric: true},
		{Title: "penalty", Key: "meanPenalty", Numeric: true},
		{Title: "worst", Key: "maxPenalty", Numeric: true},
	}}

	seconds := func(v float64) report.Cell { return report.Number(report.Seconds(v), v) }
	penalty := func(v *float64) report.Cell {
		if v == nil {
			return report.Cell{}
		}
		return report.Number(fmt.Sprintf("%.2f", *v), *v)
	}
	for _, task := range r.Tasks {
		t.Add(report.Text(report.SanitizeText(task.Application)), cli.CountCell(task.Task), cli.CountCell(task.Node),
			seconds(task.ComputeSeconds), seconds(task.CommunicationSeconds), seconds(task.TotalSeconds), penalty(task.MeanPenalty), penalty(task.MaxPenalty))
	}
	return t
}

func writeSimulated(w io.Writer, r simulateResult, o report.Options) error {
	t := r.table()
	if err := t.Write(w, o); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s until the last task ends, by the model %s\n", report.Seconds(r.TotalSeconds), r.Model)
	return err
}
