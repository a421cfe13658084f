package models

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/capability/diagram"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
)

// treeResult is `capability tree -o json`.
type treeResult struct {
	machineSource
	Operation       capability.Operation `json:"operation"`
	Threads         int                  `json:"threads"`
	Shape           capability.Shape     `json:"shape"`
	CostNanoseconds float64              `json:"costNanoseconds"`
	// Shapes are the modeled costs of all shapes, this one among them.
	Shapes map[capability.Shape]float64 `json:"costNanosecondsByShape"`
	Root   treeNode                     `json:"root"`
	trees  []capability.Tree
}

// treeNode is a tile; its first thread talks to other tiles.
type treeNode struct {
	Threads  []int      `json:"threads"`
	Children []treeNode `json:"children,omitempty"`
}

func newTreeNode(n *capability.Node) treeNode {
	node := treeNode{Threads: n.Threads}
	for _, child := range n.Children {
		node.Children = append(node.Children, newTreeNode(child))
	}
	return node
}

func newCapabilityTreeCommand(a *cli.App) *cobra.Command {
	var (
		machine          capableMachine
		operation, shape string
		threads          int
		picture          string
	)
	cmd := &cobra.Command{
		Use:   "tree",
		Short: "Find the cheapest tree for a broadcast or a reduction",
		Long: `Finds the tree with the least modeled cost (Ramos and Hoefler 2017, equation 1)
and compares it with a flat, a binary and a binomial tree. Each line of the
tree is a tile, a group of cores that share a cache, or a core where there are
none.`,
		Example: `  bandmate capability tree --machine knl-7210-quadrant --operation broadcast --threads 64
  bandmate capability tree --machine knl-7210-snc4 --operation reduce --threads 64 --svg tree.svg`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "operation", "threads"); err != nil {
				return err
			}
			m, p, err := machine.parameters(a)
			if err != nil {
				return err
			}
			t, err := capability.NewTree(p, capability.Operation(operation), threads, capability.Shape(shape))
			if errors.Is(err, capability.ErrNotCovered) {
				return fmt.Errorf("machine %q: %w, or give --contention", m.Name, err)
			}
			if err != nil {
				return cli.UsageError(err)
			}
			r, err := newTreeResult(p, t)
			if err != nil {
				return err
			}
			r.machineSource = sourceOf(m)
			if err := writePicture(picture, func() ([]byte, error) { return diagram.Tree(t) }); err != nil {
				return err
			}
			return a.Print(r, func(w io.Writer) error { return writeTree(w, r, t, a.Canvas()) })
		},
	}
	machine.add(cmd)
	machine.addContention(cmd)
	flags := cmd.Flags()
	flags.StringVar(&operation, "operation", "", "broadcast or reduce")
	cli.Values(flags, "operation", "broadcast", "reduce")
	flags.IntVar(&threads, "threads", 0, "threads, one per core, tiles filled one after the other")
	flags.StringVar(&shape, "shape", string(capability.Optimal), "tree to show: optimal, flat, binary or binomial")
	cli.Values(flags, "shape", "optimal", "flat", "binary", "binomial")
	flags.StringVar(&picture, "svg", "", "draw the tree into this file")
	return interruptible(cmd)
}

func newTreeResult(p capability.Parameters, shown capability.Tree) (treeResult, error) {
	r := treeResult{
		Operation: shown.Operation, Threads: shown.Threads, Shape: shown.Shape, CostNanoseconds: float64(shown.Cost),
		Shapes: map[capability.Shape]float64{}, Root: newTreeNode(shown.Root),
	}
	for _, shape := range capability.Shapes() {
		t, err := capability.NewTree(p, shown.Operation, shown.Threads, shape)
		if err != nil {
			return r, err
		}
		r.Shapes[shape], r.trees = float64(t.Cost), append(r.trees, t)
	}
	return r, nil
}

func writeTree(w io.Writer, r treeResult, shown capability.Tree, o report.Options) error {
	r.write(w)
	fmt.Fprintf(w, "operation  %s, %d threads\n\n", r.Operation, r.Threads)
	t := cli.Table("tree", ">modeled cost", ">depth")
	for _, tree := range r.trees {
		depth := tree.Root.Depth()
		t.Add(report.Text(string(tree.Shape)), report.Number(tree.Cost.String(), float64(tree.Cost)), cli.CountCell(depth))
	}
	if err := t.Write(w, o); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s tree, threads of each tile:\n", shown.Shape)
	writeNode(w, shown.Root, 0)
	return nil
}

func writeNode(w io.Writer, n *capability.Node, depth int) {
	fmt.Fprintf(w, "%s%s\n", strings.Repeat("  ", depth), strings.Trim(fmt.Sprint(n.Threads), "[]"))
	for _, child := range n.Children {
		writeNode(w, child, depth+1)
	}
}

// barrierResult is `capability barrier -o json`.
type barrierResult struct {
	machineSource
	Threads         int     `json:"threads"`
	Rounds          int     `json:"rounds"`
	Partners        int     `json:"partners"`
	CostNanoseconds float64 `json:"costNanoseconds"`
	// OnePartner is the classic dissemination barrier.
	OnePartner float64 `json:"onePartnerCostNanoseconds"`
	// Signals are the threads that thread 0 signals to in each round; thread i
	// signals to those i further.
	Signals [][]int `json:"signalsOfThread0"`
	best    capability.Barrier
	classic capability.Barrier
}

func newCapabilityBarrierCommand(a *cli.App) *cobra.Command {
	var (
		machine capableMachine
		threads int
		picture string
	)
	cmd := &cobra.Command{
		Use:   "barrier",
		Short: "Find the cheapest dissemination barrier",
		Long: `Finds how many rounds and how many partners a round make the cheapest
dissemination barrier (Ramos and Hoefler 2017, equation 2).`,
		Example: `  bandmate capability barrier --machine knl-7210-quadrant --threads 64 --svg barrier.svg`,
		Args:    cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "threads"); err != nil {
				return err
			}
			m, p, err := machine.parameters(a)
			if err != nil {
				return err
			}
			r, err := newBarrierResult(p, threads)
			if err != nil {
				return cli.UsageError(err)
			}
			r.machineSource = sourceOf(m)
			if err := writePicture(picture, func() ([]byte, error) { return diagram.Barrier(r.best) }); err != nil {
				return err
			}
			return a.Print(r, func(w io.Writer) error { return writeBarrier(w, r) })
		},
	}
	machine.add(cmd)
	cmd.Flags().IntVar(&threads, "threads", 0, "threads, one per core")
	cmd.Flags().StringVar(&picture, "svg", "", "draw the signals into this file")
	return interruptible(cmd)
}

func newBarrierResult(p capability.Parameters, threads int) (barrierResult, error) {
	best, err := capability.NewBarrier(p, threads)
	if err != nil {
		return barrierResult{}, err
	}
	classic, err := capability.BarrierWith(p, threads, min(1, threads-1))
	r := barrierResult{
		Threads: threads, Rounds: best.Rounds, Partners: best.Partners, CostNanoseconds: float64(best.Cost),
		OnePartner: float64(classic.Cost), Signals: [][]int{}, best: best, classic: classic,
	}
	for round := range best.Rounds {
		r.Signals = append(r.Signals, best.Signals(0, round))
	}
	return r, err
}

func writeBarrier(w io.Writer, r barrierResult) error {
	r.write(w)
	fmt.Fprintf(w, "barrier    %d threads: rounds: %d, partners a round: %d, modeled cost %s\n", r.Threads, r.Rounds, r.Partners, r.best.Cost)
	fmt.Fprintf(w, "classic    rounds: %d, partners a round: %d, modeled cost %s\n", r.classic.Rounds, r.classic.Partners, r.classic.Cost)
	for i, to := range r.Signals {
		if _, err := fmt.Fprintf(w, "round %d    thread 0 signals to %s\n", i+1, strings.Trim(fmt.Sprint(to), "[]")); err != nil {
			return err
		}
	}
	return nil
}
