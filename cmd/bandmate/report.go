package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/pairing"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/report/page"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/units"
)

// mostPaired is up to how many applications the report pairs: the time of the
// best pairing grows with the cube.
const mostPaired = 200

func newReportCommand(a *cli.App) *cobra.Command {
	var output, machine string
	cmd := &cobra.Command{
		Use:   "report [APP...]",
		Short: "Make one HTML page: curves, matrix, pairings and what-if",
		Long: `Makes one HTML page of the store (or of the named applications): the machine,
every curve, the slowdown of each pair, the best pairing, and answers to what-if
questions, computed in the page. It needs no network, so it can be sent to a
colleague. Its predictions are those of bandmate predict, number for number.

Profiles that cannot be read are named on the page. With --output json or yaml
the numbers behind the page go to standard output instead, with --output - the
page itself.`,
		Example: `  bandmate report
  bandmate report xz sqlite --output /tmp/report.html
  bandmate report --output json`,
		RunE: func(_ *cobra.Command, args []string) error {
			return writeReport(a, args, machine, output)
		},
		ValidArgsFunction: a.CompleteApplications,
	}
	// It takes the place of the --output of the other commands.
	cmd.Flags().StringVarP(&output, "output", "o", "report.html", "file to write, or - for standard output; json and yaml: the data, on standard output")
	cmd.Flags().StringVar(&machine, "machine", "", "use the profiles measured on this machine (default: all)")
	return cmd
}

func writeReport(a *cli.App, names []string, machine, output string) error {
	if output == "" {
		return cli.Usagef("--output: want the name of a file, -, json or yaml")
	}
	content, err := reportContent(a, names, machine)
	if err != nil {
		return err
	}
	content.Generated = time.Now()
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
	a.Note(fmt.Sprintf("%s: %d applications, %s; open it in a browser", report.SanitizeText(output), len(content.Applications), report.Bytes(int64(html.Len()))))
	return nil
}

// reportContent collects what a report shows. An empty store makes a page that
// says so; a broken profile is a warning.
func reportContent(a *cli.App, names []string, machine string) (page.Content, error) {
	s, err := a.OpenStore()
	if err != nil {
		return page.Content{}, err
	}
	profiles, err := s.Snapshot(nil)
	if err != nil {
		return page.Content{}, err
	}
	return newKnowledge(profiles).report(names, machine)
}

// report collects what a report of the named applications shows, or else of all
// of the machine.
func (k *knowledge) report(names []string, machine string) (page.Content, error) {
	content := page.Content{Version: cli.Version()}
	machines, brokenMachines, err := k.Machines()
	if err != nil {
		return content, err
	}
	all, broken, err := k.Applications()
	if err != nil {
		return content, err
	}
	profiles, err := chooseProfiles(k, all, names, machine)
	if err != nil {
		return content, err
	}
	if len(names) == 0 {
		var faults []error
		profiles, faults = k.sound(profiles)
		broken = append(broken, faults...)
	}
	for _, fault := range slices.Concat(broken, brokenMachines) {
		content.Warnings = append(content.Warnings, fault.Error())
	}
	content.Machines = slices.DeleteFunc(machines, func(m *v1alpha1.MachineProfile) bool {
		return machine != "" && m.Name != machine
	})
	content.Warnings = append(content.Warnings, mixtureWarnings(profiles)...)
	known, err := k.prepare(profiles, predictor.Default)
	if err != nil {
		return content, err
	}
	content.Applications, content.Predictors = known.profiles, known.compiled
	if !pairable(known.compiled) {
		return content, nil
	}
	content.Pairing, err = reportPairing(known.compiled)
	return content, err
}

// sound returns the profiles that compile, and what is wrong with the others.
func (k *knowledge) sound(profiles []*v1alpha1.ApplicationProfile) (sound []*v1alpha1.ApplicationProfile, faults []error) {
	for _, p := range profiles {
		if _, err := k.compile(p); err != nil {
			faults = append(faults, fmt.Errorf("left out: %w", err))
			continue
		}
		sound = append(sound, p)
	}
	return sound, faults
}

// chooseProfiles returns the named profiles, or else all of the machine.
func chooseProfiles(s profileSource, all []*v1alpha1.ApplicationProfile, names []string, machine string) ([]*v1alpha1.ApplicationProfile, error) {
	if len(names) > 0 {
		return loadForPrediction(s, names, machine)
	}
	if machine != "" && !slices.ContainsFunc(all, func(p *v1alpha1.ApplicationProfile) bool { return p.Spec.Machine.Name == machine }) {
		return nil, fmt.Errorf("--machine %q: %w: no application was measured there", machine, store.ErrNotFound)
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *v1alpha1.ApplicationProfile) bool {
		return machine != "" && p.Spec.Machine.Name != machine
	}), nil
}

// pairable reports whether there is something to pair, in a reasonable time, and
// every slowdown is known.
func pairable(apps []*predictor.Application) bool {
	return len(apps) >= 2 && len(apps) <= mostPaired && !slices.ContainsFunc(apps, func(a *predictor.Application) bool {
		sensitive, contentious := a.Known()
		return !sensitive || !contentious
	})
}

// reportPairing returns the best pairing of applications that are pairable.
func reportPairing(apps []*predictor.Application) (*page.Pairing, error) {
	var workspace predictor.Workspace
	problem := pairing.Problem{
		Jobs: len(apps),
		Slowdowns: func(i, j int) (ofI, ofJ units.Slowdown) {
			// Each is the target once, as in the matrix.
			var both [2]units.NormalizedPerformance
			ofI = workspace.Performances(both[:0], []*predictor.Application{apps[i], apps[j]})[0].Slowdown()
			ofJ = workspace.Performances(both[:0], []*predictor.Application{apps[j], apps[i]})[0].Slowdown()
			return ofI, ofJ
		},
	}
	best, err := pairing.Optimal(problem)
	if err != nil {
		return nil, err
	}
	greedy, err := pairing.Greedy(problem)
	if err != nil {
		return nil, err
	}
	random, err := pairing.AverageRandom(problem)
	if err != nil {
		return nil, err
	}
	found := &page.Pairing{Pairs: [][2]int{}, Alone: []int{}, Total: best.Total, Greedy: greedy.Total, Random: random}
	for i, j := range best.Partner {
		switch {
		case j == pairing.Alone:
			found.Alone = append(found.Alone, i)
		case i < j:
			found.Pairs = append(found.Pairs, [2]int{i, j})
		}
	}
	return found, nil
}
