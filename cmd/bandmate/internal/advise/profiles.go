package advise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store"
)

// NewProfiles returns the command profiles.
func NewProfiles(a *cli.App) *cobra.Command {
	var machine string
	var pictures cli.PictureFlags
	var from clusterSource
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "Manage the folder of profiles",
		Example: `  bandmate profiles list
  bandmate profiles show xz
  bandmate profiles export > all.yaml
  bandmate profiles import all.yaml`,
		Args: cli.WantArgs(cobra.NoArgs, "one of list, show, delete, import, export, contentiousness"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use: "list", Short: "List the profiles", Example: "  bandmate profiles list -o csv",
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := from.check(a, cmd.Flags()); err != nil {
				return err
			}
			return listProfiles(cmd.Context(), a, from)
		},
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "Show one application's profile with its curves", Example: "  bandmate profiles show xz -o yaml\n  bandmate profiles show xz --svg xz.svg",
		Args:              cli.WantArgs(cobra.ExactArgs(1), "one name"),
		RunE:              func(_ *cobra.Command, args []string) error { return showProfile(a, args[0], machine, pictures) },
		ValidArgsFunction: a.CompleteApplications,
	}
	remove := &cobra.Command{
		Use: "delete NAME...", Short: "Delete applications' profiles", Example: "  bandmate profiles delete xz",
		Args:              cli.WantArgs(cobra.MinimumNArgs(1), "at least one name"),
		RunE:              func(_ *cobra.Command, args []string) error { return deleteProfiles(a, args, machine) },
		ValidArgsFunction: a.CompleteApplications,
	}
	load := &cobra.Command{
		Use: "import [FILE...]", Short: "Add profiles from YAML or JSON files, or from standard input", Example: "  bandmate profiles import all.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return importProfiles(cmd.Context(), a, cmd.InOrStdin(), args)
		},
	}
	save := &cobra.Command{
		Use: "export [NAME...]", Short: "Write profiles as one YAML stream", Example: "  bandmate profiles export > all.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := from.check(a, cmd.Flags()); err != nil {
				return err
			}
			if a.Format == cli.FormatJSON {
				return cli.Usagef("-o json: export writes one YAML stream, which import and kubectl read; for a profile as JSON: bandmate profiles show NAME -o json")
			}
			return exportProfiles(cmd.Context(), a, from, args)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	cli.WithFormats(list, cli.FormatCSV)
	from.add(list.Flags())
	from.add(save.Flags())
	for _, c := range []*cobra.Command{show, remove} {
		c.Flags().StringVar(&machine, "machine", "", "the profile measured on this machine (default: the only one)")
	}
	pictures.Add(show.Flags(), "the curves")
	cmd.AddCommand(list, show, remove, load, save)
	return cmd
}

func listProfiles(ctx context.Context, a *cli.App, from clusterSource) error {
	if !from.cluster && (a.Format == cli.FormatText || a.Format == cli.FormatCSV) {
		listed, broken, err := a.List()
		if err != nil {
			return err
		}
		return printList(a, false, nil, listed, broken)
	}
	profiles, broken, err := loadFrom(ctx, a, from)
	if err != nil {
		return err
	}
	listed := make([]cli.Listed, len(profiles))
	for i, p := range profiles {
		listed[i] = cli.ListedOf(p)
		v1alpha1.ForgetObject(p)
	}
	return printList(a, from.cluster, profiles, listed, broken)
}

// printList prints profiles as data, and what is listed of them as text.
func printList(a *cli.App, cluster bool, profiles []*v1alpha1.ApplicationProfile, listed []cli.Listed, broken []error) error {
	table := profileTable(listed)
	err := a.PrintTable(profiles, table, func(w io.Writer) error { return table.Write(w, a.Canvas()) })
	for _, b := range broken {
		a.Warn([]string{b.Error()})
	}
	if err != nil || len(listed)+len(broken) > 0 {
		return err
	}
	if cluster {
		a.Note("the cluster has no profiles yet: bandmate apply puts them there")
		return nil
	}
	a.Note(a.NoProfiles().Error() + " yet: measure an application with bandmate onboard NAME -- COMMAND, or choose another folder with --store or BANDMATE_STORE")
	return nil
}

func profileTable(listed []cli.Listed) *report.Table {
	table := &report.Table{Columns: []report.Column{
		{Title: "application"},
		{Title: "machine"},
		{Title: "bandwidth", Key: "bytesPerSecond", Numeric: true},
		{Title: "reads", Key: "readShare", Numeric: true},
		{Title: "worst", Key: "worstSlowdown", Numeric: true},
		{Title: "source"},
		{Title: "measured"},
	}}
	for _, l := range listed {
		total := l.Traffic.Total()
		share := float64(l.Traffic.Read) / float64(total)
		table.Add(report.Text(l.Name), report.Text(l.Machine),
			report.Number(total.String(), float64(total)),
			report.Number(fmt.Sprintf("%.0f%%", 100*share), share),
			report.Number(l.Worst.String(), float64(l.Worst)),
			report.Text(l.Source), report.Text(l.Measured))
	}
	return table
}

func showProfile(a *cli.App, name, machine string, pictures cli.PictureFlags) error {
	if err := pictures.Check(); err != nil {
		return err
	}
	s, err := a.OpenStore()
	if err != nil {
		return err
	}
	p, err := cli.LoadApplication(s, name, machine)
	if err != nil {
		return err
	}
	return a.PrintDrawn(p, cli.CurvePlot(p), pictures, func(w io.Writer) error { return a.WriteProfile(w, p) })
}

func deleteProfiles(a *cli.App, names []string, machine string) error {
	s, err := a.OpenStore()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := cli.LoadApplication(s, name, machine); errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) {
			return err
		}
	}
	for _, name := range names {
		if err := s.Delete(v1alpha1.KindApplicationProfile, name, machine); err != nil {
			return err
		}
	}
	return nil
}

func importProfiles(ctx context.Context, a *cli.App, stdin io.Reader, files []string) error {
	s, err := a.OpenStore()
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{cli.StandardInput}
	}
	for _, name := range files {
		if err := importFile(ctx, a, s, stdin, name); err != nil {
			return err
		}
	}
	return nil
}

func importFile(ctx context.Context, a *cli.App, s *store.Store, stdin io.Reader, name string) error {
	data, err := cli.ReadInput(ctx, stdin, name, v1alpha1.MaxStreamBytes+1)
	if err != nil {
		return fmt.Errorf("importing: %w", err)
	}
	added, replaced, err := s.Import(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("importing %s: %w", name, err)
	}
	if len(added) > 0 {
		a.Notef("added %s\n", report.SanitizeText(strings.Join(added, ", ")))
	}
	if len(replaced) > 0 {
		a.Notef("replaced %s\n", report.SanitizeText(strings.Join(replaced, ", ")))
	}
	return nil
}

func exportProfiles(ctx context.Context, a *cli.App, from clusterSource, names []string) error {
	if from.cluster {
		return exportCluster(ctx, a, from, names)
	}
	s, err := a.OpenStore()
	if err != nil {
		return err
	}
	return s.Export(a.Stdout, names...)
}
