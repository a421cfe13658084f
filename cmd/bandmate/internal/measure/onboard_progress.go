package measure

import (
	"fmt"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/modulation"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/onboard/bench"
	"bandmate.dev/bandmate/units"
)

// ticking is how the application is measured within its runs; nil times whole
// runs. It also refuses flags that exclude each other.
func (f onboardFlags) ticking() (*onboard.Ticking, error) {
	if f.interferers < 1 || f.interferers > bench.MostInterferers {
		return nil, cli.Usagef("--interferers %d: want 1 to %d", f.interferers, bench.MostInterferers)
	}
	if f.adaptive && f.interferers > 1 {
		return nil, cli.Usagef("--adaptive and --interferers: want one of them: pressures are chosen up to what one interferer reaches")
	}
	source, err := f.progress.Source()
	if err != nil {
		return nil, err
	}
	whole := ""
	switch {
	case f.wholeRuns:
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
	for n := 2; n <= min(interferers, bench.MostInterferers); n++ {
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
