package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/ticks"
)

// ProgressFlags say how the progress of the application is counted.
type ProgressFlags struct {
	pattern, file, url, metric, function string
}

// Add defines the flags.
func (f *ProgressFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.pattern, "progress", "", "count progress by a regular expression that matches the output of the application once per unit")
	flags.StringVar(&f.file, "progress-file", "", "count progress by the last number in a file")
	flags.StringVar(&f.url, "progress-url", "", "count progress by a Prometheus metric at this URL, named by --progress-metric")
	flags.StringVar(&f.metric, "progress-metric", "", "name of the metric of --progress-url, with labels if needed, such as 'requests_total{code=\"200\"}'")
	flags.StringVar(&f.function, "progress-function", "", "count progress by the calls of a function: LIBRARY:SYMBOL, or SYMBOL in the program itself")
}

// Source returns the source of progress that the flags name; nil without.
func (f ProgressFlags) Source() (ticks.Source, error) {
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
		return nil, Usagef("%s: want one of them", strings.Join(given, " and "))
	case (f.url == "") != (f.metric == ""):
		return nil, Usagef("--progress-url and --progress-metric: want both or none")
	case len(given) == 0:
		return nil, nil //nolint:nilnil // it is found out
	case f.pattern != "":
		return f.output()
	case f.file != "":
		return ticks.File{Path: f.file}, nil
	case f.url != "":
		return ticks.Metric{URL: f.url, Metric: f.metric}, nil
	}
	function, err := ticks.ParseFunction(f.function)
	if err != nil {
		return nil, Usagef("--progress-function %w", err)
	}
	return function, nil
}

func (f ProgressFlags) output() (ticks.Source, error) {
	if len(f.pattern) > v1alpha1.MaxStringBytes/2 {
		return nil, Usagef("--progress: want an expression of %d bytes at most", v1alpha1.MaxStringBytes/2)
	}
	pattern, err := regexp.Compile(f.pattern)
	if err != nil {
		return nil, Usagef("--progress %q: %w: want a regular expression such as '^step ([0-9]+)'", f.pattern, err)
	}
	if pattern.MatchString("") {
		return nil, Usagef("--progress %q matches an empty line: want an expression that matches progress only", f.pattern)
	}
	return ticks.Output{Pattern: pattern}, nil
}
