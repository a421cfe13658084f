package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu"
)

// Counters is a counter source with the machine it reads.
type Counters struct {
	Host *pmu.Host
	// Source is nil when the probe is to measure.
	Source profiler.Source
}

// Close closes what reads the machine.
func (c Counters) Close() error {
	if c.Host == nil {
		return nil
	}
	return c.Host.Close()
}

// OpenCounters chooses a source by its name. Without a name it takes the best
// counters of the memory controllers that work, else the probe: what counters in
// the cores see is less than what the probe infers. suitable may rule sources
// out of that choice.
func OpenCounters(ctx context.Context, name string, suitable func(profiler.Source) bool) (Counters, error) {
	if name == profiler.ProbeName {
		return Counters{}, nil
	}
	host, err := pmu.OpenHost()
	if err != nil {
		return Counters{}, err
	}
	if name == "" {
		unsuitable := func(s profiler.Source) bool { return !suitable(s) }
		source, err := profiler.Select(ctx, "", slices.DeleteFunc(pmu.MemoryControllers(host), unsuitable)...)
		if err != nil {
			return Counters{}, host.Close()
		}
		return Counters{host, source}, nil
	}
	sources := pmu.Sources(host)
	if !slices.ContainsFunc(sources, func(s profiler.Source) bool { return s.Name() == name }) {
		return Counters{}, errors.Join(Usagef("--source %q: want one of %s", name, SourceNames(sources)), host.Close())
	}
	source, err := profiler.Select(ctx, name, sources...)
	if err != nil {
		return Counters{}, errors.Join(fmt.Errorf("%w: %w", ErrNotMeasurable, err), host.Close())
	}
	return Counters{host, source}, nil
}

// SourceNames lists the names that --source takes.
func SourceNames(sources []profiler.Source) string {
	names := []string{profiler.ProbeName}
	for _, s := range sources {
		names = append(names, s.Name())
	}
	return strings.Join(names, ", ")
}
