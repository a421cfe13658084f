package imports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bandmate.dev/bandmate/profiler"
	"bandmate.dev/bandmate/profiler/pmu/catalog"
)

// column is a bandwidth in a table of numbers.
type column struct {
	// name is for messages.
	name string
	place
	// memory is the kind of memory; "" is DRAM, the only kind in totals.
	memory string
	kind   catalog.Kind
	// bytes per second that a unit stands for.
	bytes float64
	// first and count say which cells add up to the bandwidth.
	first, count int
}

// otherMemory names what the tools call differently.
var otherMemory = map[string]string{"HBM": "HBM", "MCDRAM": "HBM", "PMM": "Optane", "CXL": "CXL"}

// sum returns the bandwidth in bytes per second, or why there is none. Cells
// without a value do not count, unless all of them are.
func (c column) sum(cells []string) (rate float64, why string, err error) {
	counted := false
	for _, cell := range cells[c.first : c.first+c.count] {
		if _, absent := absence(cell); absent {
			continue
		}
		v, ok := number(cell)
		switch {
		case !ok:
			return 0, "", fmt.Errorf("%s: %s is not a number", show(c.name), show(cell))
		case v < 0:
			// pcm-memory marks what it could not count with -1.
			why = fmt.Sprintf("%s is %v", show(c.name), v)
		default:
			counted = true
			rate += v * c.bytes
		}
	}
	if !counted {
		return 0, cmp.Or(why, "no value of "+show(c.name)), nil
	}
	return rate, "", nil
}

// table turns rows of bandwidths into a series.
type table struct {
	series
	apart map[string]flow // by memory
	// unknown are the other memories that some interval has no value of.
	unknown map[string]bool
}

func newTable() table {
	return table{series: newSeries(), apart: map[string]flow{}, unknown: map[string]bool{}}
}

// row adds the interval that ends at end, whose mean bandwidths cells contain.
func (t *table) row(columns []column, cells []string, end float64) error {
	seconds := end - t.at
	places, apart, unknown := map[place]flow{}, map[string]flow{}, []string(nil)
	for _, c := range columns {
		rate, why, err := c.sum(cells)
		moved := flowOf(c.kind, rate*seconds)
		switch {
		case c.memory != "" && (err != nil || why != ""):
			unknown = append(unknown, c.memory)
		case c.memory != "":
			apart[c.memory] = apart[c.memory].add(moved)
		case err != nil:
			return err
		case why != "":
			t.gap(end, why)
			return nil
		default:
			places[c.place] = places[c.place].add(moved)
		}
	}
	for _, memory := range unknown {
		t.unknown[memory] = true
	}
	for memory, moved := range apart {
		t.apart[memory] = t.apart[memory].add(moved)
	}
	return t.add(end, places)
}

// summary is that of the series, with the other memory.
func (t *table) summary(remedy string) (Result, error) {
	r, err := t.series.summary(remedy)
	if err != nil {
		return Result{}, err
	}
	for _, memory := range slices.Sorted(maps.Keys(t.apart)) {
		mean := t.apart[memory].over(t.seconds)
		if mean.Total() == 0 {
			continue
		}
		if t.unknown[memory] {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s traffic is not known: it was not counted in every interval; it is part of no total", memory))
			continue
		}
		r.Counters.OtherMemory = append(r.Counters.OtherMemory, profiler.MemoryTraffic{Memory: memory, Traffic: mean})
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s traffic is not part of any total: %v read, %v written", memory, mean.Read, mean.Write))
	}
	return r, nil
}
