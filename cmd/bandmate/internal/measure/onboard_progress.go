package measure

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/onboard"
	"bandmate.dev/bandmate/units"
)

// watch is how --progress has the application measured; nil without it. It also
// refuses what does not go with --progress or --interferers.
func (f onboardFlags) watch() (*onboard.Watch, error) {
	if f.interferers < 1 || f.interferers > onboard.MostInterferers {
		return nil, cli.Usagef("--interferers %d: want 1 to %d", f.interferers, onboard.MostInterferers)
	}
	if f.adaptive && f.interferers > 1 {
		return nil, cli.Usagef("--adaptive and --interferers: want one of them: pressures are chosen up to what one interferer reaches")
	}
	if f.progress == "" {
		return nil, nil //nolint:nilnil // nothing is to be watched
	}
	switch {
	case f.adaptive:
		return nil, cli.Usagef("--adaptive and --progress: want one of them: with --progress all pressures fit into a few runs")
	case f.iterations > 1:
		return nil, cli.Usagef("--iterations and --progress: want one of them: progress is watched within single runs; give the command more work")
	case f.resume || f.discard:
		return nil, cli.Usagef("--resume and --discard: not with --progress, which keeps no samples of interrupted runs")
	case len(f.progress) > v1alpha1.MaxStringBytes:
		return nil, cli.Usagef("--progress: want an expression of %d bytes at most", v1alpha1.MaxStringBytes)
	}
	pattern, err := regexp.Compile(f.progress)
	if err != nil {
		return nil, cli.Usagef("--progress %q: %w: want a regular expression such as '^step ([0-9]+)'", f.progress, err)
	}
	if pattern.MatchString("") {
		return nil, cli.Usagef("--progress %q matches an empty line: want an expression that matches progress only", f.progress)
	}
	return &onboard.Watch{Pattern: pattern}, nil
}

// tellIntervals says what the watched runs yielded.
func (j onboarding) tellIntervals(intervals, runs int, lost string) {
	if lost != "" {
		lost = "; left out: " + lost
	}
	j.app.Notef("%d intervals of %d runs tell the performance%s.\n", intervals, runs, lost)
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
