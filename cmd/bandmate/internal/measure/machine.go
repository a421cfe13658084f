package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

// NewMachine returns the command machine.
func NewMachine(a *cli.App) *cobra.Command {
	var placement cli.PlacementFlags
	var name string
	var quick bool
	cmd := &cobra.Command{
		Use:   "machine",
		Short: "Measure this machine: sustained bandwidth, calibration of probes",
		Example: `  bandmate machine
  bandmate machine --name rack7 --quick -o json`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMachine(cmd.Context(), a, name, quick, placement)
		},
	}
	placement.Add(cmd.Flags())
	cmd.Flags().StringVar(&name, "name", "", "name of the machine profile (default: the host's name)")
	cmd.Flags().BoolVar(&quick, "quick", false, "fewer points and repeats, for a first look")
	return cmd
}

func runMachine(ctx context.Context, a *cli.App, name string, quick bool, placement cli.PlacementFlags) (err error) {
	if name, err = cli.MachineName(name); err != nil {
		return err
	}
	placing, err := placement.Placing()
	if err != nil {
		return err
	}
	folder, err := a.OpenStore()
	if err != nil {
		return err
	}
	if err := folder.CheckWritable(); err != nil {
		return err
	}
	session, err := bench.Open(ctx, placing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	a.Note(session.Placement.Explanation)
	profile, err := measureMachine(ctx, a, session, name, quick)
	if err != nil {
		return err
	}
	if err := cli.PutMachine(folder, profile); err != nil {
		return err
	}
	return a.Print(profile, func(w io.Writer) error { return writeMachine(a, w, profile) })
}

func measureMachine(ctx context.Context, a *cli.App, session *bench.Session, name string, quick bool) (*v1alpha1.MachineProfile, error) {
	progress := a.NewProgress()
	defer progress.Done()
	options := cli.MachineOptions(name, quick)
	options.Report = progress.Share
	return onboard.MeasureMachine(ctx, session, options)
}

// knownMachine is the stored profile; nil when there is none.
func knownMachine(folder *store.Store, name string) (*v1alpha1.MachineProfile, error) {
	profile, err := folder.Machine(name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return profile, err
}

// calibratedMachine is the stored profile with a probe map for the regime that
// holds now; what is missing is measured and stored.
func calibratedMachine(ctx context.Context, a *cli.App, session *bench.Session, folder *store.Store, name string) (*v1alpha1.MachineProfile, regime.Class, error) {
	profile, err := knownMachine(folder, name)
	if err != nil {
		return nil, "", err
	}
	tag, err := session.Tag(ctx)
	if err != nil {
		return nil, "", err
	}
	if profile != nil {
		if probes, err := onboard.ProbeMap(profile, tag.Class); err != nil || probes != nil {
			return profile, tag.Class, err
		}
	}
	if err := folder.CheckWritable(); err != nil {
		return nil, "", err
	}
	if profile == nil {
		a.Notef("Measuring this machine first, as %s.\n", name)
		profile, err = measureMachine(ctx, a, session, name, false)
	} else {
		a.Notef("Calibrating the probes for the %s placement.\n", tag.Class)
		progress := a.NewProgress()
		options := cli.MachineOptions(name, false)
		options.Report = progress.Share
		profile, err = onboard.AddProbeMap(ctx, session, profile, options, "")
		progress.Done()
	}
	if err != nil {
		return nil, "", err
	}
	if err := cli.PutMachine(folder, profile); err != nil {
		return nil, "", err
	}
	last := profile.Spec.ProbeMap[len(profile.Spec.ProbeMap)-1]
	return profile, regime.Class(last.Regime), nil
}

// linkTexts say how co-runners reach the memory, by the link of a machine.
var linkTexts = map[string]string{
	v1alpha1.LinkNone:   "as near to the memory as a target",
	v1alpha1.LinkOwn:    "farther from the memory than a target, each over a link of its own",
	v1alpha1.LinkShared: "farther from the memory than a target, all over one link",
}

func writeMachine(a *cli.App, w io.Writer, p *v1alpha1.MachineProfile) error {
	fmt.Fprintf(w, "%s: %s, %s, %s, %s", report.SanitizeText(p.Name), report.SanitizeText(p.Spec.CPUModel), text.Count(p.Spec.CPUs, "CPU"), text.Count(p.Spec.Sockets, "socket"), text.Count(p.Spec.NUMANodes, "NUMA node"))
	if p.Spec.VirtualMachine {
		fmt.Fprint(w, ", virtual")
	}
	fmt.Fprintln(w)
	if r := p.Spec.Measurement.Regime; r != nil {
		fmt.Fprintf(w, "placement: CPUs %s and %s, %s (%.0f ns round trip), %s dropped\n",
			p.Spec.Measurement.TargetCPUs, p.Spec.Measurement.InterfererCPUs, r.Name, r.RoundTripNanoseconds, text.Count(p.Spec.Measurement.DroppedSamples, "sample"))
	}
	if link, ok := linkTexts[p.Spec.Link]; ok {
		fmt.Fprintf(w, "co-runners: %s\n", link)
	}
	table := cli.Table(">read share", ">sustained", ">spread", ">repeats")
	for _, s := range p.Spec.Sustained {
		spread := math.NaN()
		if s.RelativeSpread != nil {
			spread = *s.RelativeSpread
		}
		table.Add(report.Number(units.ReadShare(s.ReadShare).String(), s.ReadShare),
			report.Number(units.Bandwidth(s.BytesPerSecond).String(), s.BytesPerSecond),
			report.Number(fmt.Sprintf("%.1f%%", 100*spread), spread),
			cli.CountCell(s.Repeats))
	}
	if err := table.Write(w, a.Canvas()); err != nil {
		return err
	}
	fmt.Fprintf(w, "probe map: %s\n", text.Count(len(p.Spec.ProbeMap), "point"))
	a.Warn(p.Spec.Warnings)
	return nil
}
