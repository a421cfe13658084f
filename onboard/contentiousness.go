package onboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/profiler"
)

// trafficRuns is the number of solo runs measured with counters: the median of
// three withstands one that was disturbed.
const trafficRuns = 3

// MeasureTraffic runs an application alone a few times and returns the summary of
// the run with the median bandwidth. A profile needs the read share, so a source
// that does not measure it is an error.
func (e *Experiment) MeasureTraffic(ctx context.Context, a Application, source profiler.Source) (*profiler.Summary, error) {
	return measureTraffic(ctx, a.Name, source, profiler.Workload{Run: func(ctx context.Context) error {
		_, err := e.Session.RunBeside(ctx, a.Command, interferer.Setting{Mode: interferer.Spin})
		return err
	}})
}

func measureTraffic(ctx context.Context, name string, source profiler.Source, w profiler.Workload) (*profiler.Summary, error) {
	runs := make([]profiler.Summary, 0, trafficRuns)
	for range trafficRuns {
		summary, err := source.Measure(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("traffic of %s: %w", name, err)
		}
		if summary.ReadShare == nil {
			return nil, fmt.Errorf("traffic of %s: %w: source %s does not tell reads from writes, which a profile needs: use --source %s", name, profiler.ErrUnsupported, source.Name(), profiler.ProbeName)
		}
		runs = append(runs, summary)
	}
	slices.SortFunc(runs, func(a, b profiler.Summary) int {
		return cmp.Compare(a.Total(), b.Total())
	})
	return &runs[trafficRuns/2], nil
}
