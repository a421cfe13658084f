package models

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/predictor/communication"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

type machineNetworkFlags struct {
	name, model, rate, busSharing string
	latency                       time.Duration
	beta, gammaOut, gammaIn       float64
}

// NewMachineNetwork returns the command machine network.
func NewMachineNetwork(a *cli.App) *cobra.Command {
	var f machineNetworkFlags
	cmd := &cobra.Command{
		Use:   "network",
		Short: "Declare how communications share the network and the bus",
		Long: `Stores what predictions for communicating applications need in the profile of a
machine, which bandmate machine makes: the rate of one communication alone, the
model by which several share the card, with the parameters that bandmate
network fit found, and the parameters that bandmate overlap fit wrote. Values
that are not given stay unchanged.`,
		Example: `  bandmate machine network --rate 117MB/s --model gigabit-ethernet --beta 0.75 --gamma-out 0.115 --gamma-in 0.036
  bandmate machine network --name rack7 --bus-sharing parameters.yaml`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return setNetwork(a, cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the machine profile (default: the host's name)")
	flags.StringVar(&f.rate, "rate", "", "bandwidth of one communication of large messages alone, in one direction, for example 117MB/s")
	flags.StringVar(&f.model, "model", network.NameGigabitEthernet, "how communications share the card: gigabit-ethernet, myrinet or infiniband")
	cli.Values(flags, "model", network.ModelNames()...)
	flags.DurationVar(&f.latency, "latency", 0, "time of an empty message, for example 30us (default: unknown)")
	flags.Float64Var(&f.beta, "beta", 1, "gigabit-ethernet: penalty of k communications from one node ÷ k")
	flags.Float64Var(&f.gammaOut, "gamma-out", 0, "gigabit-ethernet: how unevenly those that leave share the card")
	flags.Float64Var(&f.gammaIn, "gamma-in", 0, "gigabit-ethernet: how unevenly those that arrive share it")
	flags.StringVar(&f.busSharing, "bus-sharing", "", "file that overlap fit -o yaml (or json) wrote")
	return cmd
}

// machineNetworkResult is `machine network -o json`.
type machineNetworkResult struct {
	Machine    string               `json:"machine"`
	Network    *v1alpha1.Network    `json:"network,omitempty"`
	BusSharing *v1alpha1.BusSharing `json:"busSharing,omitempty"`
}

func setNetwork(a *cli.App, cmd *cobra.Command, f machineNetworkFlags) error {
	if f.rate == "" && f.busSharing == "" {
		return cli.Usagef("%s: give --rate, --bus-sharing or both", cmd.CommandPath())
	}
	name, err := cli.MachineName(f.name)
	if err != nil {
		return err
	}
	var sharing *v1alpha1.BusSharing
	if f.busSharing != "" {
		var parameters fitResult
		if err := cli.UnlessInterrupted(cmd.Context(), func() (err error) {
			parameters, err = readParameters(f.busSharing)
			return err
		}); err != nil {
			return err
		}
		sharing = busSharingOf(parameters)
	}
	folder, profile, err := openMachine(a, name)
	if err != nil {
		return err
	}
	if profile.Spec.Network, err = f.network(cmd, profile.Spec.Network); err != nil {
		return err
	}
	if sharing != nil {
		profile.Spec.BusSharing = sharing
	}
	if faults := profile.Validate(); len(faults) > 0 {
		return cli.UsageError(faults.ToAggregate())
	}
	if _, err := communication.NewMachine(profile); err != nil {
		if f.rate != "" {
			err = cli.UsageError(err)
		}
		return err
	}
	if err := folder.Put(profile); err != nil {
		return fmt.Errorf("storing the machine profile: %w", err)
	}
	r := machineNetworkResult{name, profile.Spec.Network, profile.Spec.BusSharing}
	return a.Print(r, func(w io.Writer) error { return writeMachineNetwork(w, r) })
}

// network returns what is known of the network and what the flags say of it. Another
// model takes no parameters of the known one.
func (f machineNetworkFlags) network(cmd *cobra.Command, known *v1alpha1.Network) (*v1alpha1.Network, error) {
	flags := cmd.Flags()
	if f.rate == "" {
		for _, flag := range []string{"model", "latency", "beta", "gamma-out", "gamma-in"} {
			if flags.Changed(flag) {
				return nil, cli.Usagef("--%s: want --rate with it", flag)
			}
		}
		return known, nil
	}
	rate, err := units.ParseBandwidth(f.rate)
	if err != nil {
		return nil, cli.Usagef("--rate: %w", err)
	}
	n := &v1alpha1.Network{Model: f.model}
	if known != nil {
		n = known.DeepCopy()
	}
	if flags.Changed("model") && n.Model != f.model {
		n.Model, n.Beta, n.GammaOut, n.GammaIn = f.model, nil, nil, nil
	}
	n.BytesPerSecond = float64(rate)
	if flags.Changed("latency") {
		n.LatencySeconds = new(f.latency.Seconds())
	}
	ethernet := n.Model == network.NameGigabitEthernet
	for flag, parameter := range map[string]struct {
		value float64
		into  **float64
	}{"beta": {f.beta, &n.Beta}, "gamma-out": {f.gammaOut, &n.GammaOut}, "gamma-in": {f.gammaIn, &n.GammaIn}} {
		if flags.Changed(flag) || ethernet && *parameter.into == nil {
			*parameter.into = &parameter.value
		}
	}
	return n, nil
}

func busSharingOf(p fitResult) *v1alpha1.BusSharing {
	instance := func(m overlap.Instance) v1alpha1.BusSharingInstance {
		return v1alpha1.BusSharingInstance{
			CommunicationAloneBytesPerSecond: float64(m.CommunicationAlone), LeastCommunicationShare: m.LeastCommunicationShare,
			ComputationPerCoreBytesPerSecond: float64(m.ComputationPerCore),
			ComputationAloneBytesPerSecond:   float64(m.ComputationAlone), ComputationAloneCores: m.ComputationAloneCores,
			TotalBytesPerSecond: float64(m.Total), TotalCores: m.TotalCores,
			TotalAtComputationAloneCoresBytesPerSecond: float64(m.TotalAtComputationAloneCores),
			LossBeforeBytesPerSecond:                   float64(m.LossBefore), LossAfterBytesPerSecond: float64(m.LossAfter),
		}
	}
	b := &v1alpha1.BusSharing{NodesPerSocket: p.NodesPerSocket, PartsPerCore: p.PartsPerCore, Local: instance(p.Local)}
	if p.Remote != nil {
		b.Remote = new(instance(*p.Remote))
	}
	return b
}

func writeMachineNetwork(w io.Writer, r machineNetworkResult) error {
	var err error
	say := func(format string, args ...any) {
		_, wrong := fmt.Fprintf(w, format, args...)
		err = errors.Join(err, wrong)
	}
	say("%s\n", report.SanitizeText(r.Machine))
	if n := r.Network; n != nil {
		say("network: %s, %s by one communication", n.Model, units.Bandwidth(n.BytesPerSecond))
		if n.LatencySeconds != nil {
			say(", latency %s", report.Seconds(*n.LatencySeconds))
		}
		say("\n")
	}
	if b := r.BusSharing; b != nil {
		say("bus: %s by one communication alone, at least %.0f%% of it beside computation\n",
			units.Bandwidth(b.Local.CommunicationAloneBytesPerSecond), 100*b.Local.LeastCommunicationShare)
		if b.PartsPerCore > 0 {
			say("its numbers of cores count parts, of which %d are a core\n", b.PartsPerCore)
		}
	}
	return err
}
