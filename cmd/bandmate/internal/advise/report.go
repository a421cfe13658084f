package advise

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/report/page"
)

// NewReport returns the command report.
func NewReport(a *cli.App) *cobra.Command {
	var output, machine string
	cmd := &cobra.Command{
		Use:   "report [APP...]",
		Short: "Make one HTML page: curves, matrix, pairings and what-if",
		Long: `Makes one HTML page of the store (or of the named applications): the machine,
every curve, the slowdown of each pair, the best pairing, and answers to
what-if questions. It needs no network, so it can be sent to a colleague. Pairs
of up to 200 applications are exact; groups and larger stores are approximate.
bandmate serve predicts all of them exactly. An application that was measured
on several machines is shown once for each; there are pairings then only with
--machine.

Profiles that cannot be read are named on the page. With --output json or yaml
the numbers behind the page go to standard output instead, with --output - the
page itself.`,
		Example: `  bandmate report
  bandmate report xz sqlite --output /tmp/report.html
  bandmate report --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeReport(cmd.Context(), a, args, machine, output)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	// It takes the place of the --output of the other commands.
	cmd.Flags().StringVarP(&output, "output", "o", "report.html", "file to write, or - for standard output; json and yaml: the data, on standard output")
	cmd.Flags().StringVar(&machine, "machine", "", "use the profiles measured on this machine (default: all)")
	return cmd
}

func writeReport(ctx context.Context, a *cli.App, names []string, machine, output string) error {
	if output == "" {
		return cli.Usagef("--output: want the name of a file, -, json or yaml")
	}
	known, err := a.LoadAdvisor()
	if err != nil {
		return err
	}
	content, err := page.Collect(ctx, known, names, machine)
	if err != nil {
		return err
	}
	if len(content.Applications)+len(content.Machines)+len(content.Warnings) == 0 {
		a.Warn([]string{a.NoProfiles().Error()})
	}
	content.Generated, content.Version = time.Now(), cli.Version()
	if output == cli.FormatJSON || output == cli.FormatYAML {
		d, err := page.NewData(content)
		if err != nil {
			return err
		}
		a.Format = output
		return a.Print(d, func(io.Writer) error { return nil })
	}
	var html bytes.Buffer
	if err := page.Write(&html, content); err != nil {
		return err
	}
	if output == "-" {
		return a.WriteBytes(html.Bytes())
	}
	if err := cli.WriteFile("output", output, html.Bytes()); err != nil {
		return err
	}
	a.Warn(content.Warnings)
	a.Note(fmt.Sprintf("%s: %s, %s; open it in a browser", report.SanitizeText(output), text.Count(len(content.Applications), "application"), report.Bytes(int64(html.Len()))))
	return nil
}
