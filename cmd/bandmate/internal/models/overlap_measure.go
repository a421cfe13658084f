package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/cpuset"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/network/namespaces"
	"bandmate.dev/bandmate/overlap/measure"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/topology"
	"bandmate.dev/bandmate/units"
)

// sweepFlags are the flags of overlap measure.
type sweepFlags struct {
	cpus, nodes, message, transport, file string
	receiver, sender, parts, repeats      int
	window                                time.Duration
}

// The transports of messages.
const (
	transportLoopback   = "loopback"
	transportNamespaces = "namespaces"
)

func newOverlapMeasureCommand(a *cli.App) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "measure",
		Short: "Measure computation and communication, alone and together",
		Long: `Measures the sweep to which overlap fit fits its parameters, and the loss
ratios for overlap time. Cores of one socket stream non-temporal stores, and
the last one receives large messages over TCP. Each number of computing cores
and each placement of the data over NUMA nodes is measured alone and together,
interleaved and repeated. Samples during which the CPUs moved do not count.

With fewer than four computing cores, each is divided into eight parts by paced
streams: the numbers of cores in the sweep then count eighths of a core. Over
loopback, the copies of the network stack are part of the cost of messages, and
no network card takes part.`,
		Example: `  bandmate overlap measure --sweep sweep.csv && bandmate overlap fit sweep.csv
  bandmate overlap measure --cpus 0-6 --receiver 7 --nodes 0,1 -o csv > sweep.csv`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measureOverlap(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.cpus, "cpus", "", "CPUs that compute, for example 0-6 (default: chosen from the topology)")
	flags.IntVar(&f.receiver, "receiver", -1, "CPU that receives (default: chosen)")
	flags.IntVar(&f.sender, "sender", -1, "CPU that sends (default: another socket's, else another core, else the receiver)")
	flags.StringVar(&f.nodes, "nodes", "", "NUMA nodes of the data, for example 0,1 (default: all that have memory)")
	flags.StringVar(&f.transport, "transport", transportLoopback, "transport of the messages: loopback, or namespaces (two network namespaces with virtual network cards and a switch between them)")
	flags.StringVar(&f.message, "message-size", "64MiB", "size of a message")
	flags.IntVar(&f.parts, "parts", 0, "parts that each computing core is divided into, 1 for whole cores (default: 8 with fewer than four computing cores)")
	flags.IntVar(&f.repeats, "repeats", 7, "samples of each point")
	flags.DurationVar(&f.window, "window", 100*time.Millisecond, "time of each condition")
	flags.StringVar(&f.file, "sweep", "", "write the sweep to this CSV file")
	return cli.WithFormats(cmd, cli.FormatCSV)
}

// fewComputing is how many computing cores are too few for a sweep of whole ones.
const fewComputing = 4

// divided is into how many parts a core is divided then.
const divided = 8

func (f sweepFlags) options(machine *topology.Machine) (measure.Options, error) {
	if f.transport != transportLoopback && f.transport != transportNamespaces {
		return measure.Options{}, cli.Usagef("--transport %s: want %s or %s", f.transport, transportLoopback, transportNamespaces)
	}
	o := measure.Options{Repeats: f.repeats, Window: f.window, Seed: 1, Parts: f.parts}
	allowed, err := topology.AllowedCPUs()
	if err != nil {
		return o, err
	}
	if o.Cores, err = measure.Choose(machine, allowed); err != nil {
		return o, fmt.Errorf("%w: %w: one CPU computes and another one receives, so let this process use two or more", cli.ErrNotMeasurable, err)
	}
	if err := f.override(&o.Cores, machine); err != nil {
		return o, err
	}
	used := cpuset.New(append([]int{o.Cores.Receiver, o.Cores.Sender}, o.Cores.Computing...)...)
	quota, err := topology.OwnQuota()
	if err = errors.Join(err, quota.Check(used, allowed)); err != nil {
		return o, err
	}
	if o.Parts == 0 {
		o.Parts = 1
		if len(o.Cores.Computing) < fewComputing {
			o.Parts = divided
		}
	}
	if o.Nodes, err = f.nodeList(machine); err != nil {
		return o, err
	}
	if o.MessageBytes, err = cli.ParseBytes("--message-size", f.message); err != nil {
		return o, err
	}
	o.LastLevelCacheBytes, _ = machine.LastLevelCacheBytes(cpuset.New(o.Cores.Computing...))
	if err := o.Validate(); err != nil {
		return o, cli.UsageError(err)
	}
	return o, nil
}

// override takes the CPUs that were given, if they are online. The chosen receiver may then
// compute.
func (f sweepFlags) override(c *measure.Cores, machine *topology.Machine) error {
	given, err := cli.ParseCPUs("--cpus", f.cpus)
	if err != nil {
		return err
	}
	online := machine.Online()
	if !given.IsSubsetOf(online) {
		return fmt.Errorf("%w: --cpus %s: want CPUs that are online, %s", cli.ErrNotMeasurable, given, online)
	}
	for _, role := range []struct {
		flag string
		cpu  int
	}{{"--receiver", f.receiver}, {"--sender", f.sender}} {
		if role.cpu >= 0 && !online.Contains(role.cpu) {
			return fmt.Errorf("%w: %s %d: want a CPU that is online, %s", cli.ErrNotMeasurable, role.flag, role.cpu, online)
		}
	}
	pool := slices.Clone(c.Computing)
	if !onOneCore(machine, c.Receiver, f.receiver) && !onOneCore(machine, c.Receiver, f.sender) || len(pool) == 1 {
		pool = append(pool, c.Receiver)
	}
	if f.receiver >= 0 {
		if c.Sender == c.Receiver {
			c.Sender = f.receiver
		}
		c.Receiver = f.receiver
	}
	if f.sender >= 0 {
		c.Sender = f.sender
	}
	if f.receiver >= 0 || f.sender >= 0 {
		c.Computing = slices.DeleteFunc(pool, func(cpu int) bool { return cpu == c.Receiver || cpu == c.Sender })
		c.Warnings = slices.DeleteFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "sends and receives") })
		if c.Sender == c.Receiver {
			c.Warnings = append(c.Warnings, fmt.Sprintf("CPU %d sends and receives: communication is what one core does of both", c.Receiver))
		}
	}
	if !given.IsEmpty() {
		c.Computing = given.List()
		c.Locate(machine)
	}
	return nil
}

// onOneCore reports whether two CPUs are different threads of one core.
func onOneCore(m *topology.Machine, a, b int) bool {
	some, known := m.CPU(a)
	other, alsoKnown := m.CPU(b)
	return known && alsoKnown && a != b && some.Socket == other.Socket && some.Core == other.Core
}

func (f sweepFlags) nodeList(machine *topology.Machine) ([]int, error) {
	given, err := cli.ParseCPUs("--nodes", f.nodes)
	if err != nil {
		return nil, err
	}
	var withMemory []int
	for _, n := range machine.Nodes {
		if n.MemoryBytes > 0 {
			withMemory = append(withMemory, n.ID)
		}
	}
	there := cpuset.New(withMemory...)
	if given.IsEmpty() {
		given = there
	}
	if given.IsEmpty() || !given.IsSubsetOf(there) {
		return nil, cli.Usagef("--nodes %s: want NUMA nodes with memory; this machine has %v", f.nodes, withMemory)
	}
	return given.List(), nil
}

// connect chooses the transport; what it returns ends it.
func (f sweepFlags) connect(ctx context.Context, o *measure.Options) (func(), error) {
	if f.transport == transportLoopback {
		return func() {}, nil
	}
	cluster, err := namespaces.Open(ctx, namespaces.Options{Nodes: 2})
	if err != nil {
		return nil, noNamespaces(err)
	}
	o.Connect = func(ctx context.Context) (sender, receiver *os.File, err error) { return cluster.Connect(ctx, 0, 1) }
	return func() { _ = cluster.Close() }, nil
}

// noNamespaces distinguishes what this machine does not permit from failures.
func noNamespaces(err error) error {
	if errors.Is(err, namespaces.ErrNotPermitted) {
		return fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
	}
	return err
}

func measureOverlap(ctx context.Context, a *cli.App, f sweepFlags) error {
	machine, err := topology.ReadHost()
	if err != nil {
		return err
	}
	o, err := f.options(machine)
	if err != nil {
		return err
	}
	if err := cli.CheckFile("sweep", f.file); err != nil {
		return err
	}
	disconnect, err := f.connect(ctx, &o)
	if err != nil {
		return err
	}
	defer disconnect()
	measured, err := cli.WithProgress(a, func(progress cli.ProgressFunc) (measure.Result, error) {
		o.Progress = progress
		return measure.Run(ctx, o)
	})
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: %w", cli.ErrNotMeasurable, err)
		}
		return refusedCPU(err)
	}
	var csv bytes.Buffer
	if err := measured.WriteCSV(&csv); err != nil {
		return err
	}
	if err := cli.WriteFile("sweep", f.file, csv.Bytes()); err != nil {
		return err
	}
	a.Warn(measured.Warnings)
	if a.Format == cli.FormatCSV {
		return a.WriteBytes(csv.Bytes())
	}
	r := newSweepResult(measured, o)
	return a.Print(r, func(w io.Writer) error { return writeSweep(w, r, a.Canvas()) })
}

// sweepResult is `overlap measure -o json`.
type sweepResult struct {
	Computing      []int         `json:"computingCPUs"`
	Receiver       int           `json:"receiverCPU"`
	Sender         int           `json:"senderCPU"`
	NodesPerSocket int           `json:"nodesPerSocket"`
	PartsPerCore   int           `json:"partsPerCore"`
	MessageBytes   int64         `json:"messageBytes"`
	Regime         regime.Class  `json:"placementRegime"`
	Dropped        int           `json:"droppedSamples"`
	Points         []sweepPoint  `json:"points"`
	Loss           []sweepLosses `json:"lossRatios"`
	Warnings       []string      `json:"warnings"`
}

// sweepPoint is one point; spreads are absent for a single repeat.
type sweepPoint struct {
	ComputationNode          int             `json:"computationNode"`
	CommunicationNode        int             `json:"communicationNode"`
	Cores                    int             `json:"cores"`
	ComputationAlone         units.Bandwidth `json:"computationAloneBytesPerSecond"`
	CommunicationAlone       units.Bandwidth `json:"communicationAloneBytesPerSecond"`
	Computation              units.Bandwidth `json:"computationBytesPerSecond"`
	Communication            units.Bandwidth `json:"communicationBytesPerSecond"`
	ComputationAloneSpread   *float64        `json:"computationAloneRelativeSpread,omitempty"`
	CommunicationAloneSpread *float64        `json:"communicationAloneRelativeSpread,omitempty"`
	ComputationSpread        *float64        `json:"computationRelativeSpread,omitempty"`
	CommunicationSpread      *float64        `json:"communicationRelativeSpread,omitempty"`
	Repeats                  int             `json:"repeats"`
}

// sweepLosses are the loss ratios with all computing cores, for overlap time.
type sweepLosses struct {
	ComputationNode   int     `json:"computationNode"`
	CommunicationNode int     `json:"communicationNode"`
	Cores             int     `json:"cores"`
	Computation       float64 `json:"computationLoss"`
	Communication     float64 `json:"communicationLoss"`
}

func newSweepResult(m measure.Result, o measure.Options) sweepResult {
	r := sweepResult{
		Computing: o.Cores.Computing, Receiver: o.Cores.Receiver, Sender: o.Cores.Sender,
		NodesPerSocket: m.NodesPerSocket, PartsPerCore: m.Parts, MessageBytes: o.MessageBytes,
		Regime: m.Regime, Dropped: m.Dropped, Warnings: append([]string{}, m.Warnings...),
	}
	for i, p := range m.Points {
		r.Points = append(r.Points, sweepPoint{
			p.ComputationNode, p.CommunicationNode, p.Cores,
			p.Alone.Computation, p.Alone.Communication, p.Together.Computation, p.Together.Communication,
			present(p.AloneSpread.Computation), present(p.AloneSpread.Communication),
			present(p.TogetherSpread.Computation), present(p.TogetherSpread.Communication), p.Repeats,
		})
		if last := i+1 == len(m.Points) || m.Points[i+1].Placement != p.Placement; last {
			computation, communication := p.Loss()
			r.Loss = append(r.Loss, sweepLosses{p.ComputationNode, p.CommunicationNode, p.Cores, computation, communication})
		}
	}
	return r
}

func writeSweep(w io.Writer, r sweepResult, o report.Options) error {
	fmt.Fprintf(w, "CPUs %s compute, %d receives, %d sends; messages of %s, %s placement, %s dropped\n\n",
		cpuset.New(r.Computing...), r.Receiver, r.Sender, report.Bytes(r.MessageBytes), r.Regime, text.Count(r.Dropped, "sample"))
	for i, t := range []*report.Table{
		sweepTable(r, "computing alone", func(p sweepPoint) sweepPair {
			return sweepPair{p.ComputationAlone, p.Computation, p.ComputationAloneSpread, p.ComputationSpread}
		}),
		sweepTable(r, "communicating alone", func(p sweepPoint) sweepPair {
			return sweepPair{p.CommunicationAlone, p.Communication, p.CommunicationAloneSpread, p.CommunicationSpread}
		}),
	} {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := t.Write(w, o); err != nil {
			return err
		}
	}
	for _, l := range r.Loss {
		fmt.Fprintf(w, "\nnodes %d, %d: --computation-loss %.3f --communication-loss %.3f\n", l.ComputationNode, l.CommunicationNode, max(1, l.Computation), max(1, l.Communication))
	}
	return nil
}

// sweepPair is what one of the two reached alone and beside the other.
type sweepPair struct {
	alone, beside             units.Bandwidth
	aloneSpread, besideSpread *float64
}

// sweepTable shows one of the two at each point.
func sweepTable(r sweepResult, title string, pair func(sweepPoint) sweepPair) *report.Table {
	t := &report.Table{Columns: []report.Column{
		{Title: "nodes"},
		{Title: "cores", Numeric: true},
		{Title: title, Numeric: true},
		{Title: "beside the other", Numeric: true},
		{Title: "loss", Numeric: true},
	}}

	within := func(b units.Bandwidth, spread *float64) report.Cell {
		relative := math.NaN()
		if spread != nil {
			relative = *spread
		}
		return report.Number(report.BandwidthWithin(b, relative), float64(b))
	}
	for _, p := range r.Points {
		cores := strconv.Itoa(p.Cores)
		if r.PartsPerCore > 1 {
			cores += "/" + strconv.Itoa(r.PartsPerCore)
		}
		both := pair(p)
		loss := float64(both.alone / both.beside)
		t.Add(report.Text(fmt.Sprintf("%d, %d", p.ComputationNode, p.CommunicationNode)), report.Number(cores, float64(p.Cores)),
			within(both.alone, both.aloneSpread), within(both.beside, both.besideSpread), report.Number(fmt.Sprintf("%.2f", loss), loss))
	}
	return t
}
