package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

// machineReadShares are those at which the sustained bandwidth is measured.
var machineReadShares = []units.ReadShare{0.5, 0.6, 0.75, 0.9, 1}

func newMachineCommand(a *app) *cobra.Command {
	var placement placementFlags
	var name string
	var quick bool
	cmd := &cobra.Command{
		Use:   "machine",
		Short: "Measure this machine: sustained bandwidth, calibration of probes",
		Example: `  bandmate machine
  bandmate machine --name rack7 --quick -o json`,
		Args: wantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.machine(cmd.Context(), name, quick, placement)
		},
	}
	cmd.AddCommand(newMachineNetworkCommand(a))
	placement.add(cmd.Flags())
	cmd.Flags().StringVar(&name, "name", "", "name of the machine profile (default: the host's name)")
	cmd.Flags().BoolVar(&quick, "quick", false, "fewer points and repeats, for a first look")
	return cmd
}

func (a *app) machine(ctx context.Context, name string, quick bool, placement placementFlags) (err error) {
	if err := a.checkFormat(); err != nil {
		return err
	}
	if name, err = machineName(name); err != nil {
		return err
	}
	placing, err := placement.placing()
	if err != nil {
		return err
	}
	folder, err := a.open()
	if err != nil {
		return err
	}
	if err := checkWritable(folder); err != nil {
		return err
	}
	session, err := onboard.Open(ctx, placing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	a.tell(session.Placement.Explanation)
	profile, err := a.measureMachine(ctx, session, name, quick)
	if err != nil {
		return err
	}
	if err := folder.Put(profile); err != nil {
		return fmt.Errorf("storing the machine profile: %w", err)
	}
	return a.print(profile, func(w io.Writer) error { return a.writeMachine(w, profile) })
}

// machineName checks or finds the name of the machine profile.
func machineName(name string) (string, error) {
	if name == "" {
		name = hostName()
	}
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return "", usagef("machine name %q: %s: name it with --name (or --machine)", name, faults[0])
	}
	return name, nil
}

// openMachine opens the profile folder, and returns it with the machine that is to
// be described further.
func (a *app) openMachine(name string) (*store.Store, *v1alpha1.MachineProfile, error) {
	folder, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	profile, err := folder.Machine(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; measure the machine itself first: bandmate machine --name %s", err, name)
	}
	return folder, profile, nil
}

func (a *app) measureMachine(ctx context.Context, session *onboard.Session, name string, quick bool) (*v1alpha1.MachineProfile, error) {
	progress := a.progress()
	defer progress.done()
	options := machineOptions(name, quick)
	options.Reporter = progress
	return session.MeasureMachine(ctx, options)
}

func machineOptions(name string, quick bool) onboard.MachineOptions {
	return onboard.MachineOptions{
		Name: name, ReadShares: machineReadShares, ProbeGrid: probeGrid(quick),
		Precision: probePrecision(quick), Version: version(),
	}
}

func probeGrid(quick bool) []onboard.Pressure {
	var grid []onboard.Pressure
	for _, p := range profiler.CalibrationGrid(quick) {
		grid = append(grid, onboard.Pressure{
			ReadShare: units.ReadShare(p.ReadShare), Level: p.Level, Pattern: interferer.Sequential,
		})
	}
	return grid
}

func probePrecision(quick bool) onboard.Precision {
	if quick {
		return onboard.Precision{HalfWidth: 0.02, MinRepeats: 2, MaxRepeats: 2}
	}
	return onboard.Precision{HalfWidth: 0.01, MinRepeats: 3, MaxRepeats: 5}
}

// knownMachine is the stored profile; nil when there is none.
func (a *app) knownMachine(folder *store.Store, name string) (*v1alpha1.MachineProfile, error) {
	profile, err := folder.Machine(name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return profile, err
}

// calibratedMachine is the stored profile with a probe map for the regime that
// holds now; what is missing is measured and stored.
func (a *app) calibratedMachine(ctx context.Context, session *onboard.Session, folder *store.Store, name string) (*v1alpha1.MachineProfile, regime.Class, error) {
	profile, err := a.knownMachine(folder, name)
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
	if err := checkWritable(folder); err != nil {
		return nil, "", err
	}
	if profile == nil {
		a.say("Measuring this machine first, as %s.\n", name)
		profile, err = a.measureMachine(ctx, session, name, false)
	} else {
		a.say("Calibrating the probes for the %s placement.\n", tag.Class)
		err = a.addProbeMap(ctx, session, profile)
	}
	if err != nil {
		return nil, "", err
	}
	if err := folder.Put(profile); err != nil {
		return nil, "", fmt.Errorf("storing the machine profile: %w", err)
	}
	last := profile.Spec.ProbeMap[len(profile.Spec.ProbeMap)-1]
	return profile, regime.Class(last.Regime), nil
}

// addProbeMap calibrates in whichever regime lasts, replacing its points.
func (a *app) addProbeMap(ctx context.Context, session *onboard.Session, profile *v1alpha1.MachineProfile) error {
	progress := a.progress()
	defer progress.done()
	points, err := session.CalibrateProbes(ctx, probeGrid(false), onboard.Plan{
		Precision: probePrecision(false), Reporter: progress, Random: session.Random, Tag: session.Tag,
	})
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(profile.Spec.ProbeMap, func(p v1alpha1.ProbePoint) bool { return p.Regime == points[0].Regime })
	profile.Spec.ProbeMap = append(others, points...)
	return nil
}

func (a *app) writeMachine(w io.Writer, p *v1alpha1.MachineProfile) error {
	fmt.Fprintf(w, "%s: %s, %d CPUs, %d socket(s), %d NUMA node(s)", report.SanitizeText(p.Name), report.SanitizeText(p.Spec.CPUModel), p.Spec.CPUs, p.Spec.Sockets, p.Spec.NUMANodes)
	if p.Spec.VirtualMachine {
		fmt.Fprint(w, ", virtual")
	}
	fmt.Fprintln(w)
	if r := p.Spec.Measurement.Regime; r != nil {
		fmt.Fprintf(w, "placement: CPUs %s and %s, %s (%.0f ns round trip), %d samples dropped\n",
			p.Spec.Measurement.TargetCPUs, p.Spec.Measurement.InterfererCPUs, r.Name, r.RoundTripNanoseconds, p.Spec.Measurement.DroppedSamples)
	}
	table := &report.Table{Columns: []report.Column{
		{Title: "read share", Numeric: true}, {Title: "sustained", Numeric: true}, {Title: "spread", Numeric: true}, {Title: "repeats", Numeric: true},
	}}
	for _, s := range p.Spec.Sustained {
		spread := math.NaN()
		if s.RelativeSpread != nil {
			spread = *s.RelativeSpread
		}
		table.Add(report.Number(units.ReadShare(s.ReadShare).String(), s.ReadShare),
			report.Number(units.Bandwidth(s.BytesPerSecond).String(), s.BytesPerSecond),
			report.Number(fmt.Sprintf("%.1f%%", 100*spread), spread),
			whole(s.Repeats))
	}
	if err := table.Write(w, a.canvas()); err != nil {
		return err
	}
	fmt.Fprintf(w, "probe map: %d points\n", len(p.Spec.ProbeMap))
	a.warn(p.Spec.Warnings)
	return nil
}
