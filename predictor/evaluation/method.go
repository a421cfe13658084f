package evaluation

import (
	"fmt"
	"slices"

	"bandmate.dev/bandmate/predictor"
)

// StartedTogether is the default method told that every co-run started at the same
// time and that co-runners started again, as is known of a measured co-run
// (predictor.Options.Together). No other command is told so.
const StartedTogether predictor.Method = "default-started-together"

// Methods lists what Evaluate compares: all of predictor.Methods, and StartedTogether.
func Methods() []predictor.Method { return append(predictor.Methods(), StartedTogether) }

// ParseMethod reads the name of one of Methods; the empty name means predictor.Default.
func ParseMethod(name string) (predictor.Method, error) {
	if m := predictor.Method(name); m == StartedTogether {
		return m, nil
	}
	m, err := predictor.ParseMethod(name)
	if err != nil {
		return "", fmt.Errorf("method %q: want one of %v", name, Methods())
	}
	return m, nil
}

// optionsOf returns the options of the predictor for one of Methods.
func optionsOf(m predictor.Method) predictor.Options {
	if m == StartedTogether {
		return predictor.Options{Method: predictor.Default, Together: true}
	}
	return predictor.Options{Method: m}
}

// fitsModel reports whether a method that validates predicts from a model of the memory.
func fitsModel(m predictor.Method) bool {
	return slices.Contains([]predictor.Method{"", predictor.Default, StartedTogether}, m)
}
