package measure

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/ticks"
	"bandmate.dev/bandmate/units"
)

// progressFlags say how the progress of the application is counted.
type progressFlags struct {
	pattern, file, url, metric, function string
	wholeRuns                            bool
}

func (f *progressFlags) add(flags *pflag.FlagSet) {
	f.addSources(flags)
	flags.BoolVar(&f.wholeRuns, "whole-runs", false, "time whole runs beside each pressure, where nothing within a run tells its progress")
}

// addSources defines the flags that declare progress.
func (f *progressFlags) addSources(flags *pflag.FlagSet) {
	flags.StringVar(&f.pattern, "progress", "", "count progress by a regular expression that matches the output of CMD once per unit")
	flags.StringVar(&f.file, "progress-file", "", "count progress by the last number in a file")
	flags.StringVar(&f.url, "progress-url", "", "count progress by a Prometheus metric at this URL, named by --progress-metric")
	flags.StringVar(&f.metric, "progress-metric", "", "name of the metric of --progress-url, with labels if needed, such as 'requests_total{code=\"200\"}'")
	flags.StringVar(&f.function, "progress-function", "", "count progress by the calls of a function: LIBRARY:SYMBOL, or SYMBOL in the program itself")
}

// declared returns the source of progress that the flags name; nil without.
func (f progressFlags) declared() (ticks.Source, error) {
	var given []string
	for _, flag := range []struct{ name, value string }{
		{"--progress", f.pattern}, {"--progress-file", f.file}, {"--progress-url", f.url}, {"--progress-function", f.function},
	} {
		if flag.value != "" {
			given = append(given, flag.name)
		}
	}
	switch {
	case len(given) > 1:
		return nil, cli.Usagef("%s: want one of them", strings.Join(given, " and "))
	case (f.url == "") != (f.metric == ""):
		return nil, cli.Usagef("--progress-url and --progress-metric: want both or none")
	case len(given) == 0:
		return nil, nil //nolint:nilnil // it is found out
	case f.wholeRuns:
		return nil, cli.Usagef("--whole-runs and %s: want one of them", given[0])
	case f.pattern != "":
		return f.output()
	case f.file != "":
		return ticks.File{Path: f.file}, nil
	case f.url != "":
		return ticks.Metric{URL: f.url, Metric: f.metric}, nil
	}
	function, err := ticks.ParseFunction(f.function)
	if err != nil {
		return nil, cli.Usagef("--progress-function %w", err)
	}
	return function, nil
}

func (f progressFlags) output() (ticks.Source, error) {
	if len(f.pattern) > v1alpha1.MaxStringBytes/2 {
		return nil, cli.Usagef("--progress: want an expression of %d bytes at most", v1alpha1.MaxStringBytes/2)
	}
	pattern, err := regexp.Compile(f.pattern)
	if err != nil {
		return nil, cli.Usagef("--progress %q: %w: want a regular expression such as '^step ([0-9]+)'", f.pattern, err)
	}
	if pattern.MatchString("") {
		return nil, cli.Usagef("--progress %q matches an empty line: want an expression that matches progress only", f.pattern)
	}
	return ticks.Output{Pattern: pattern}, nil
}

// ticking is how the application is measured within its runs; nil times whole
// runs. It also refuses flags that exclude each other.
func (f onboardFlags) ticking() (*onboard.Ticking, error) {
	if f.interferers < 1 || f.interferers > onboard.MostInterferers {
		return nil, cli.Usagef("--interferers %d: want 1 to %d", f.interferers, onboard.MostInterferers)
	}
	if f.adaptive && f.interferers > 1 {
		return nil, cli.Usagef("--adaptive and --interferers: want one of them: pressures are chosen up to what one interferer reaches")
	}
	source, err := f.progress.declared()
	if err != nil {
		return nil, err
	}
	whole := ""
	switch {
	case f.progress.wholeRuns:
		whole = "--whole-runs"
	case f.adaptive:
		whole = "--adaptive"
	case f.iterations > 1:
		whole = "--iterations"
	case f.resume:
		whole = "--resume"
	}
	if whole != "" && source != nil {
		return nil, cli.Usagef("%s times whole runs, and a --progress flag measures within runs: want one of them", whole)
	}
	if whole != "" {
		return nil, nil //nolint:nilnil // whole runs
	}
	precision := modulation.Precision{StandardError: f.precision.Points() / 100}
	return &onboard.Ticking{Source: source, Precision: precision}, nil
}

// crowdLevels are the levels above 100% that several interferers add.
func crowdLevels(interferers int) []string {
	var levels []string
	for n := 2; n <= min(interferers, onboard.MostInterferers); n++ {
		levels = append(levels, fmt.Sprintf("%d%%", 100*n))
	}
	return levels
}

// parseCrowdLevels reads bandwidths relative to what one interferer sustains
// alone, up to that of all of them.
func parseCrowdLevels(flag string, texts []string, interferers int) ([]float64, error) {
	var levels []float64
	for _, text := range texts {
		level, err := units.ParseShare(text)
		if percent, ok := strings.CutSuffix(strings.TrimSpace(text), "%"); ok && err != nil {
			level, err = strconv.ParseFloat(percent, 64)
			level /= 100
		}
		if err != nil || !(level > 0 && level <= float64(interferers)) {
			return nil, cli.Usagef("%s %q: want parts of what one interferer sustains, above 0%% up to %d%%, or more with --interferers", flag, text, 100*interferers)
		}
		levels = append(levels, level)
	}
	return levels, nil
}
