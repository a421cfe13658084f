package models

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/capability/reference"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
)

// NewCapability returns the command capability.
func NewCapability(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capability",
		Short: "Model caches and memory, and algorithms optimized for them",
		Long: `Derives algorithms from the latencies, the contention and the bandwidths of a
machine (Ramos and Hoefler 2017): the cheapest tree for a broadcast or a
reduction, the cheapest barrier, and bounds of the time of a parallel merge
sort. It can also measure the machine, and compare trees and barriers with
others by running them.

The machine is a machine profile with a section capability: one of the store, one in
a file, or a built-in one, knl-7210-quadrant (or -snc4, -snc2, -hemisphere, -a2a).`,
		Example: `  bandmate capability tree --machine knl-7210-quadrant --operation reduce --threads 64
  bandmate capability barrier --machine knl-7210-quadrant --threads 64
  bandmate capability sort --machine knl-7210-quadrant --size 1GiB --threads 64`,
		Args: cli.WantArgs(cobra.NoArgs, "a command: measure, tree, barrier, race, sort"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCapabilityMeasureCommand(a), newCapabilityTreeCommand(a), newCapabilityBarrierCommand(a),
		newCapabilityRaceCommand(a), newCapabilitySortCommand(a))
	return cmd
}

// capableMachine are the flags that choose a machine and its memory.
type capableMachine struct{ name, memory, contention string }

func (f *capableMachine) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "machine", "", "machine profile of the store, a built-in one, or a file such as rack7.yaml (default: the host's name)")
	cmd.Flags().StringVar(&f.memory, "memory", "", "kind of memory, for example DRAM, where the machine has several (default: its first)")
}

// addContention adds the flag for what trees need and few CPUs cannot show.
func (f *capableMachine) addContention(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.contention, "contention", "", "time in which N threads read one line at once, α+β for α + β·N, for example 200ns+34ns (default: the machine's)")
}

// parseContention reads "200ns+34ns"; nil when nothing is given.
func parseContention(text string) (*capability.Line, error) {
	if text == "" {
		return nil, nil
	}
	base, each, _ := strings.Cut(text, "+")
	alpha, baseOK := parseCost(base)
	beta, eachOK := parseCost(each)
	if !baseOK || !eachOK {
		return nil, cli.Usagef("--contention %q: want two times of 0 to 1s, for example 200ns+34ns", text)
	}
	return &capability.Line{Base: alpha, Each: beta}, nil
}

// parseCost reads a time of 0 to 1s. It keeps parts of a nanosecond, which
// [time.ParseDuration] cuts off; false for anything else.
func parseCost(text string) (capability.Cost, bool) {
	text = strings.TrimSpace(text)
	for _, unit := range []struct {
		suffix string
		cost   capability.Cost
	}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"μs", 1e3}, {"ms", 1e6}, {"s", 1e9}} {
		if number, ok := strings.CutSuffix(text, unit.suffix); ok {
			value, err := strconv.ParseFloat(number, 64)
			cost := capability.Cost(value) * unit.cost
			return cost, err == nil && cost >= 0 && cost <= 1e9
		}
	}
	return 0, text == "0"
}

// load finds the machine: in the store first, then among the built-in ones.
func (f *capableMachine) load(a *cli.App) (*v1alpha1.MachineProfile, error) {
	if ext := filepath.Ext(f.name); strings.Contains(f.name, "/") || ext == ".yaml" || ext == ".yml" || ext == ".json" {
		return readMachineFile(f.name)
	}
	name, err := cli.MachineName(f.name)
	if err != nil {
		return nil, err
	}
	folder, err := a.OpenStore()
	if err != nil {
		return nil, err
	}
	m, err := folder.Machine(name)
	if !errors.Is(err, store.ErrNotFound) {
		return m, err
	}
	builtIn, ok, faulty := reference.Machine(name)
	if faulty != nil {
		return nil, faulty
	}
	if !ok {
		return nil, fmt.Errorf("%w; give --machine FILE.yaml, or a built-in machine with --machine knl-7210-quadrant", err)
	}
	return builtIn, nil
}

func readMachineFile(path string) (*v1alpha1.MachineProfile, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("--machine: %w", err)
	}
	m, err := v1alpha1.DecodeMachineProfile(data)
	if err != nil {
		return nil, fmt.Errorf("--machine %s: %w", path, err)
	}
	return m, nil
}

// parameters are those of trees and barriers.
func (f *capableMachine) parameters(a *cli.App) (*v1alpha1.MachineProfile, capability.Parameters, error) {
	given, err := parseContention(f.contention)
	if err != nil {
		return nil, capability.Parameters{}, err
	}
	m, err := f.load(a)
	if err != nil {
		return nil, capability.Parameters{}, err
	}
	p, err := capability.NewParameters(m, f.memory)
	if err == nil && given != nil {
		p.Contention = given
		m.Spec.Capability.Source += ", contention given: " + f.contention
	}
	return m, p, err
}

// machineSource says in every result which machine its numbers come from.
type machineSource struct {
	Machine string `json:"machine"`
	Source  string `json:"source"`
}

func sourceOf(m *v1alpha1.MachineProfile) machineSource {
	return machineSource{m.Name, m.Spec.Capability.Source}
}

func (s machineSource) write(w io.Writer) {
	fmt.Fprintf(w, "machine    %s, %s\n", report.SanitizeText(s.Machine), report.SanitizeText(s.Source))
}

// writePicture writes a picture that appears whole or not at all; without a name
// none is drawn.
func writePicture(name string, draw func() ([]byte, error)) error {
	if name == "" {
		return nil
	}
	data, err := draw()
	if err != nil {
		return cli.Usagef("--svg: %w", err)
	}
	return cli.WriteFile("svg", name, data)
}
