package measure

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/internal/text"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/profiler/imports"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// importFlags say which file of another tool to read instead of measuring.
type importFlags struct {
	from, format string
	seconds      float64
}

func (f *importFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.from, "from", "", "import the output of another tool from this file, or - for standard input: perf stat -x or -j, pcm-memory -csv, likwid-perfctr -O or -t")
	flags.StringVar(&f.format, "format", "", "format of the imported file: perf-csv, perf-json, pcm, likwid (default: detected)")
	cli.Values(flags, "format", "perf-csv", "perf-json", "pcm", "likwid")
	flags.Float64Var(&f.seconds, "seconds", 0, "wall time of the imported measurement, if its file does not state it")
}

// options checks the flags.
func (f importFlags) options() (imports.Options, error) {
	o := imports.Options{Name: f.from, Format: imports.Format(f.format), Seconds: f.seconds}
	if f.from == "-" {
		o.Name = "standard input"
	}
	if err := o.Validate(); err != nil {
		return o, cli.Usagef("--from %s: %w", f.from, err)
	}
	return o, nil
}

// checkAlone refuses what only a measurement of our own has.
func (f importFlags) checkAlone(args []string, duration time.Duration, source string) error {
	if f.from == "" && (f.format != "" || f.seconds != 0) {
		return cli.Usagef("--format and --seconds describe a file: name it with --from")
	}
	if f.from != "" && (len(args) > 0 || duration != 0 || source != "") {
		return cli.Usagef("--from imports a measurement: want no command, no --duration and no --source with it")
	}
	return nil
}

// measureFrom imports a measurement and prints it like one of our own.
func measureFrom(ctx context.Context, a *cli.App, stdin io.Reader, f measureFlags) error {
	if err := f.pictures.Check(); err != nil {
		return err
	}
	result, err := readImport(ctx, stdin, f.imported)
	if err != nil {
		return err
	}
	if err := printTimed(a, result, result.Timeline, f, func(w io.Writer) error { return writeImport(w, result) }); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(result.Warnings)
	}
	return nil
}

// readImport returns as soon as ctx ends, even where a read from a pipe hangs.
func readImport(ctx context.Context, stdin io.Reader, f importFlags) (imports.Result, error) {
	options, err := f.options()
	if err != nil {
		return imports.Result{}, err
	}
	var result imports.Result
	err = cli.UnlessInterrupted(ctx, func() (err error) {
		in := stdin
		if f.from != "-" {
			// Opening a named pipe waits for its writer.
			file, err := os.Open(f.from)
			if err != nil {
				return fmt.Errorf("importing a measurement: %w", err)
			}
			defer file.Close()
			in = file
		}
		result, err = imports.Read(in, options)
		return err
	})
	if err != nil {
		return imports.Result{}, err
	}
	return result, nil
}

func writeImport(w io.Writer, r imports.Result) error {
	total := report.Bandwidth(r.Total()) + ", read share unknown"
	if r.ReadShare != nil {
		total = report.Bandwidth(r.Total()) + ", " + report.ReadShare(units.ReadShare(*r.ReadShare))
	}
	fmt.Fprintf(w, "%s (imported from %s, %.3g s)\n", total, r.Tool, r.Seconds)
	part := func(kind string, number int, traffic units.Traffic) {
		fmt.Fprintf(w, "  %s %d: %s read, %s written\n", kind, number, report.Bandwidth(traffic.Read), report.Bandwidth(traffic.Write))
	}
	if r.Counters != nil {
		for _, s := range r.Counters.Sockets {
			part("socket", s.Socket, s.Traffic)
		}
	}
	for _, n := range r.PerNode {
		part("node", n.Node, n.Traffic)
	}
	if n := len(r.Timeline); n > 0 {
		fmt.Fprintf(w, "  time line of %s: see it with -o json\n", text.Count(n, "sample"))
	}
	return nil
}

// NewContentiousness returns the command profiles contentiousness.
func NewContentiousness(a *cli.App) *cobra.Command {
	var f importFlags
	var machine string
	cmd := &cobra.Command{
		Use:   "contentiousness NAME --from FILE",
		Short: "Take contentiousness from another tool's measurement",
		Long: `Replaces the contentiousness of a stored profile by what perf stat, pcm-memory
or likwid-perfctr measured while the application ran alone. Its curves stay. On
machines with memory-controller counters this is exact where the probe only
estimates.`,
		Example: `  perf stat -a -j -I 100 -o xz.perf -e uncore_imc/cas_count_read/,uncore_imc/cas_count_write/ xz -9 -k -c big.tar
  bandmate profiles contentiousness xz --from xz.perf`,
		Args: cli.WantArgs(cobra.ExactArgs(1), "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.from == "" {
				return cli.Usagef("%s: want the file of the measurement: --from FILE", cmd.CommandPath())
			}
			return replaceContentiousness(cmd.Context(), a, cmd.InOrStdin(), args[0], machine, f)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&machine, "machine", "", "the profile measured on this machine (default: the only one)")
	return cmd
}

func replaceContentiousness(ctx context.Context, a *cli.App, stdin io.Reader, name, machine string, f importFlags) error {
	folder, err := a.OpenStore()
	if err != nil {
		return err
	}
	profile, err := cli.LoadApplication(folder, name, machine)
	if err != nil {
		return err
	}
	result, err := readImport(ctx, stdin, f)
	if err != nil {
		return err
	}
	switch {
	case result.Total() == 0:
		return fmt.Errorf("%s counted no traffic at all: check that its events count on this machine; the profile is unchanged", f.from)
	case result.ReadShare == nil:
		return fmt.Errorf("%s does not tell how much was read and how much written, which a contentiousness needs: measure both; the profile is unchanged", f.from)
	}
	before := cli.TrafficText(profile.Spec.Contentiousness)
	warnings := adoptImport(profile, result, f.from)
	if err := folder.Put(profile); err != nil {
		return fmt.Errorf("storing the profile: %w", err)
	}
	if err := a.Print(profile, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %s, was %s\n", report.SanitizeText(name), cli.TrafficText(profile.Spec.Contentiousness), before)
		return err
	}); err != nil {
		return err
	}
	if a.Format == cli.FormatText {
		a.Warn(warnings)
	}
	return nil
}

// importedFrom begins the first of the warnings of an import, which are the last of a
// profile.
const importedFrom = "the contentiousness was imported from "

// sameRun is by which part the imported time may differ from the solo time.
const sameRun = 0.2

// adoptImport replaces the contentiousness of a profile, and its phases, which
// divide the run that is replaced. It returns the warnings, which the profile
// keeps too, in place of those about what is replaced.
func adoptImport(p *v1alpha1.ApplicationProfile, r imports.Result, file string) []string {
	p.Spec.Contentiousness = r.Contentiousness()
	warnings := append([]string{fmt.Sprintf(importedFrom+"%s, file %s", r.Tool, strconv.QuoteToASCII(filepath.Base(file)))}, r.Warnings...)
	if len(p.Spec.Phases) > 0 {
		p.Spec.Phases = nil
		warnings = append(warnings, "the phases were left out: they divide the run whose contentiousness was replaced")
	}
	if solo := adoptRole(p, r.Seconds); math.Abs(r.Seconds/solo-1) > sameRun {
		warnings = append(warnings, fmt.Sprintf("the import covers %.3g s and a solo run takes %.3g s: it should cover the application alone, from start to end", r.Seconds, solo))
	}
	others := p.Spec.Warnings
	if i := slices.IndexFunc(others, func(w string) bool { return strings.HasPrefix(w, importedFrom) }); i >= 0 {
		others = others[:i]
	}
	others = slices.DeleteFunc(others, func(w string) bool { return strings.HasPrefix(w, onboard.TrafficWarning) })
	room := max(v1alpha1.MaxWarnings-len(warnings), 0)
	p.Spec.Warnings = append(others[:min(room, len(others))], warnings...)
	return warnings
}

// adoptRole keeps both roles of a profile whose contentiousness was replaced by that of a
// run of so many seconds: of the role that takes nearest to that long. In the other role,
// the application moves the same bytes in its own time. It returns the solo time of the
// role.
func adoptRole(p *v1alpha1.ApplicationProfile, seconds float64) float64 {
	home, d, c := p.Spec.Solo.Seconds, p.Spec.Distance, &p.Spec.Contentiousness
	if d == nil {
		return home
	}
	away := d.CorunnerSolo.Seconds
	if math.Abs(seconds-away) < math.Abs(seconds-home) {
		d.TargetReadBytesPerSecond, d.TargetWriteBytesPerSecond = c.ReadBytesPerSecond*away/home, c.WriteBytesPerSecond*away/home
		return away
	}
	d.TargetReadBytesPerSecond, d.TargetWriteBytesPerSecond = c.ReadBytesPerSecond, c.WriteBytesPerSecond
	c.ReadBytesPerSecond, c.WriteBytesPerSecond = c.ReadBytesPerSecond*home/away, c.WriteBytesPerSecond*home/away
	return home
}
