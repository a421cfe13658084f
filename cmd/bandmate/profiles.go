package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

func newProfilesCommand(a *app) *cobra.Command {
	var machine string
	var pictures pictureFlags
	var from clusterSource
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "Manage the folder of profiles",
		Example: `  bandmate profiles list
  bandmate profiles show xz
  bandmate profiles export > all.yaml
  bandmate profiles import all.yaml`,
		Args: wantArgs(cobra.NoArgs, "one of list, show, delete, import, export, contentiousness"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use: "list", Short: "List the profiles", Example: "  bandmate profiles list -o csv",
		Args: wantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.profilesList(cmd.Context(), from) },
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "Show one application's profile with its curves", Example: "  bandmate profiles show xz -o yaml\n  bandmate profiles show xz --svg xz.svg",
		Args:              wantArgs(cobra.ExactArgs(1), "one name"),
		RunE:              func(_ *cobra.Command, args []string) error { return a.profilesShow(args[0], machine, pictures) },
		ValidArgsFunction: a.completeApplications,
	}
	remove := &cobra.Command{
		Use: "delete NAME...", Short: "Delete applications' profiles", Example: "  bandmate profiles delete xz",
		Args:              wantArgs(cobra.MinimumNArgs(1), "at least one name"),
		RunE:              func(_ *cobra.Command, args []string) error { return a.profilesDelete(args, machine) },
		ValidArgsFunction: a.completeApplications,
	}
	load := &cobra.Command{
		Use: "import [FILE...]", Short: "Add profiles from YAML or JSON files, or from standard input", Example: "  bandmate profiles import all.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.profilesImport(cmd.Context(), cmd.InOrStdin(), args)
		},
	}
	save := &cobra.Command{
		Use: "export [NAME...]", Short: "Write profiles as one YAML stream", Example: "  bandmate profiles export > all.yaml",
		RunE:              func(cmd *cobra.Command, args []string) error { return a.profilesExport(cmd.Context(), from, args) },
		ValidArgsFunction: a.completeApplications,
	}
	from.add(list.Flags())
	from.add(save.Flags())
	for _, c := range []*cobra.Command{show, remove} {
		c.Flags().StringVar(&machine, "machine", "", "the profile measured on this machine (default: the only one)")
	}
	pictures.add(show.Flags(), "the curves")
	cmd.AddCommand(list, show, remove, load, save, newContentiousnessCommand(a))
	return cmd
}

func (a *app) profilesList(ctx context.Context, from clusterSource) error {
	if err := a.checkFormat(formatCSV); err != nil {
		return err
	}
	profiles, broken, err := a.applications(ctx, from)
	if err != nil {
		return err
	}
	table := profileTable(profiles)
	if a.format == formatCSV {
		err = table.WriteCSV(a.stdout)
	} else {
		err = a.print(profiles, func(w io.Writer) error { return table.Write(w, a.canvas()) })
	}
	for _, b := range broken {
		a.warn([]string{b.Error()})
	}
	if err == nil && len(profiles)+len(broken) == 0 {
		a.tell("no profiles there yet: measure an application with bandmate onboard NAME -- COMMAND, or choose another folder with --store or BANDMATE_STORE")
	}
	return err
}

func profileTable(profiles []*v1alpha1.ApplicationProfile) *report.Table {
	table := &report.Table{Columns: []report.Column{
		{Title: "application"},
		{Title: "machine"},
		{Title: "bandwidth", Key: "bytesPerSecond", Numeric: true},
		{Title: "reads", Key: "readShare", Numeric: true},
		{Title: "worst", Key: "worstSlowdown", Numeric: true},
		{Title: "source"},
		{Title: "measured"},
	}}
	for _, p := range profiles {
		c := p.Spec.Contentiousness
		total := c.ReadBytesPerSecond + c.WriteBytesPerSecond
		share := c.ReadBytesPerSecond / total
		worst := worstSlowdown(p)
		table.Add(report.Text(p.Name), report.Text(p.Spec.Machine.Name),
			report.Number(units.Bandwidth(total).String(), total),
			report.Number(fmt.Sprintf("%.0f%%", 100*share), share),
			report.Number(worst.String(), float64(worst)),
			report.Text(c.Source), report.Text(dateText(p.Spec.Measurement.Time)))
	}
	return table
}

// dateText is empty for a time that is not known.
func dateText(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// worstSlowdown is the largest measured under the interferer.
func worstSlowdown(p *v1alpha1.ApplicationProfile) units.Slowdown {
	worst := units.Slowdown(1)
	for _, c := range p.Spec.Curves {
		for _, point := range c.Points {
			worst = max(worst, units.NormalizedPerformance(point.NormalizedPerformance).Slowdown())
		}
	}
	return worst
}

func (a *app) profilesShow(name, machine string, pictures pictureFlags) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	if err := pictures.check(); err != nil {
		return err
	}
	s, err := a.open()
	if err != nil {
		return err
	}
	p, err := loadApplication(s, name, machine)
	if err != nil {
		return err
	}
	return a.printDrawn(p, curvePlot(p), pictures, func(w io.Writer) error { return a.writeProfile(w, p) })
}

// writeProfile shows a profile with the plot of its curves.
func (a *app) writeProfile(w io.Writer, p *v1alpha1.ApplicationProfile) error {
	fmt.Fprintf(w, "%s: %s alone, %s\n", report.SanitizeText(p.Name), report.Seconds(p.Spec.Solo.Seconds), trafficText(p.Spec.Contentiousness))
	m := p.Spec.Measurement
	if m.Regime != nil {
		fmt.Fprintf(w, "measured on %s, CPUs %s beside %s, %s placement, %d samples dropped\n",
			report.SanitizeText(p.Spec.Machine.Name), m.TargetCPUs, m.InterfererCPUs, report.SanitizeText(m.Regime.Name), m.DroppedSamples)
	}
	if m.SharedLastLevelCache != nil && *m.SharedLastLevelCache {
		fmt.Fprintln(w, "the interferer shared the last-level cache: the curves hold cache and bandwidth contention")
	}
	if text := communicationText(p.Spec.Communication); text != "" {
		fmt.Fprintf(w, "network: %s\n", text)
	}
	fmt.Fprintln(w)
	if err := curvePlot(p).Write(w, a.canvas()); err != nil {
		return err
	}
	a.warn(p.Spec.Warnings)
	return nil
}

func (a *app) profilesDelete(names []string, machine string) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	if _, err := loadApplications(s, names, machine); errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) {
		return err
	}
	for _, name := range names {
		if err := s.Delete(v1alpha1.KindApplicationProfile, name, machine); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) profilesImport(ctx context.Context, stdin io.Reader, files []string) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{standardInput}
	}
	for _, name := range files {
		if err := a.importFile(ctx, s, stdin, name); err != nil {
			return err
		}
	}
	return nil
}

// standardInput is the name that stands for standard input.
const standardInput = "-"

func (a *app) importFile(ctx context.Context, s *store.Store, stdin io.Reader, name string) error {
	in := stdin
	if name != standardInput {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("importing: %w", err)
		}
		defer file.Close()
		in = file
	}
	var data []byte
	if err := unlessInterrupted(ctx, func() (err error) {
		data, err = io.ReadAll(io.LimitReader(in, v1alpha1.MaxStreamBytes+1))
		return err
	}); err != nil {
		return fmt.Errorf("importing %s: %w", name, err)
	}
	added, replaced, err := s.Import(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("importing %s: %w", name, err)
	}
	if len(added) > 0 {
		a.say("added %s\n", report.SanitizeText(strings.Join(added, ", ")))
	}
	if len(replaced) > 0 {
		a.say("replaced %s\n", report.SanitizeText(strings.Join(replaced, ", ")))
	}
	return nil
}

// unlessInterrupted returns as soon as ctx ends, even where f hangs in a read.
func unlessInterrupted(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *app) profilesExport(ctx context.Context, from clusterSource, names []string) error {
	if from.cluster {
		return a.exportCluster(ctx, from, names)
	}
	s, err := a.open()
	if err != nil {
		return err
	}
	return s.Export(a.stdout, names...)
}
