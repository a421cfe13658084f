package results

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/internal/stats"
)

// Cost is what the plugin does for one pod, by BenchmarkCycle of schedplugin.
type Cost struct {
	Conditions
	// MedianNanoseconds and Nanoseconds99 are those of each run for each node.
	MedianNanoseconds []float64 `json:"medianNanosecondsPerNode"`
	Nanoseconds99     []float64 `json:"nanosecondsPerNode99"`
}

// ParseBenchmark reads what go test -bench prints of BenchmarkCycle. It fails if there
// is no such line, or if one lacks a number.
func ParseBenchmark(text string) (Cost, error) {
	var c Cost
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "BenchmarkCycle") {
			continue
		}
		found := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return c, fmt.Errorf("results: benchmark: %q: %w", lines.Text(), err)
			}
			found[fields[i+1]] = value
		}
		middle, ok := found["median-ns/node"]
		high, okToo := found["p99-ns/node"]
		if !ok || !okToo {
			return c, fmt.Errorf("results: benchmark: %q has no median-ns/node and p99-ns/node", lines.Text())
		}
		c.MedianNanoseconds, c.Nanoseconds99 = append(c.MedianNanoseconds, middle), append(c.Nanoseconds99, high)
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("results: benchmark: %w", err)
	}
	if len(c.MedianNanoseconds) == 0 {
		return c, fmt.Errorf("results: benchmark: no line of BenchmarkCycle in %q", text)
	}
	return c, nil
}

// Table returns the numbers in Markdown, in microseconds: medians over the runs,
// and their ranges.
func (c *Cost) Table() string {
	cell := func(values []float64) string {
		return fmt.Sprintf("%.2f (%.2f–%.2f)", stats.Median(values)/1000, slices.Min(values)/1000, slices.Max(values)/1000)
	}
	return "| runs | median, µs a node | 99th percentile, µs a node |\n|---|---|---|\n" +
		fmt.Sprintf("| %d | %s | %s |\n", len(c.MedianNanoseconds), cell(c.MedianNanoseconds), cell(c.Nanoseconds99))
}
