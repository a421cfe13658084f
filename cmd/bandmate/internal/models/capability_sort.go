package models

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
)

// sortResult is `capability sort -o json`.
type sortResult struct {
	machineSource
	SizeBytes int64 `json:"sizeBytes"`
	sortRow
	// MemoryLimitsUpTo is the highest number of threads at which, as at all
	// below, the overhead is at most a tenth of the memory model; absent without
	// an overhead, 0 when there is none.
	MemoryLimitsUpTo *int `json:"memoryLimitsUpToThreads,omitempty"`
	// ByThreads are the powers of two up to the threads asked for.
	ByThreads []sortRow `json:"byThreads"`
}

// sortRow is the sort with one number of threads.
type sortRow struct {
	Threads int `json:"threads"`
	// Bandwidth and Latency are the bounds of the memory model.
	Bandwidth float64 `json:"bandwidthBoundSeconds"`
	Latency   float64 `json:"latencyBoundSeconds"`
	// Overhead is added to either bound; absent without measured small sorts.
	Overhead *float64 `json:"overheadSeconds,omitempty"`
	// LimitedBy is memory or overhead.
	LimitedBy string `json:"limitedBy,omitempty"`
}

const (
	byMemory   = "memory"
	byOverhead = "overhead"
)

func newCapabilitySortCommand(a *cli.App) *cobra.Command {
	var (
		machine      capableMachine
		size, sorted string
		threads      int
	)
	cmd := &cobra.Command{
		Use:   "sort",
		Short: "Predict the time of a parallel merge sort",
		Long: `Bounds the time of a parallel merge sort by the cost of its accesses (Ramos and
Hoefler 2017, equations 3 to 5): at the inverse of the bandwidth, which sorted
input approaches, and at the latency, which random input approaches. Neither
includes the cost of comparisons.

With --overhead, a file with measured sorts of 1 KiB (CSV, columns threads and
seconds), the overhead of threads is fitted. It comes on top of both bounds, and
the table has it in a column of its own. Where it exceeds a tenth of the memory
model (by bandwidth), memory is not the limit.`,
		Example: `  bandmate capability sort --machine knl-7210-quadrant --size 1GiB --threads 64
  bandmate capability sort --machine here.yaml --size 4MiB --threads 8 --overhead small.csv`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needFlags(cmd, "size", "threads"); err != nil {
				return err
			}
			bytes, err := cli.ParseBytes("--size", size)
			if err != nil {
				return err
			}
			m, err := machine.load(a)
			if err != nil {
				return err
			}
			s, err := capability.NewSorting(m, machine.memory)
			if err != nil {
				return err
			}
			overhead, err := readOverhead(s, sorted)
			if err != nil {
				return err
			}
			r, err := newSortResult(s, overhead, bytes, threads)
			if err != nil {
				return cli.UsageError(err)
			}
			r.machineSource = sourceOf(m)
			return a.Print(r, func(w io.Writer) error { return writeSort(w, r, a.Canvas()) })
		},
	}
	machine.add(cmd)
	cmd.Flags().StringVar(&size, "size", "", "amount of data, for example 1GiB")
	cmd.Flags().IntVar(&threads, "threads", 0, "threads, one per core: a power of two")
	cmd.Flags().StringVar(&sorted, "overhead", "", "file with measured sorts of 1 KiB")
	return interruptible(cmd)
}

// readOverhead fits the overhead of a file; nil without one.
func readOverhead(s capability.Sorting, path string) (*capability.Overhead, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--overhead: %w", err)
	}
	defer file.Close()
	sorts, err := capability.ReadSmallSorts(file, path)
	if err != nil {
		return nil, fmt.Errorf("--overhead: %w", err)
	}
	overhead, err := capability.FitOverhead(s, sorts)
	if err != nil {
		return nil, fmt.Errorf("--overhead %s: %w", path, err)
	}
	return &overhead, nil
}

func newSortResult(s capability.Sorting, overhead *capability.Overhead, bytes int64, threads int) (sortResult, error) {
	r := sortResult{SizeBytes: bytes}
	if _, err := s.Time(bytes, threads); err != nil {
		return r, err
	}
	limited := 0
	for n := 1; n <= threads; n *= 2 {
		t, err := s.Time(bytes, n)
		if err != nil {
			return r, err
		}
		row := sortRow{Threads: n, Bandwidth: t.Bandwidth.Seconds(), Latency: t.Latency.Seconds()}
		if overhead != nil {
			row.Overhead, row.LimitedBy = new(overhead.At(n).Seconds()), byMemory
			if overhead.Significant(n, t) {
				row.LimitedBy = byOverhead
			} else if limited == n/2 {
				limited = n
			}
		}
		r.sortRow, r.ByThreads = row, append(r.ByThreads, row)
	}
	if overhead != nil {
		r.MemoryLimitsUpTo = &limited
	}
	return r, nil
}

func writeSort(w io.Writer, r sortResult, o report.Options) error {
	r.write(w)
	fmt.Fprintf(w, "sort       %s\n\n", report.Bytes(r.SizeBytes))
	columns := []report.Column{
		{Title: "threads", Numeric: true},
		{Title: "by bandwidth", Numeric: true},
		{Title: "by latency", Numeric: true},
	}
	if r.MemoryLimitsUpTo != nil {
		columns = append(columns, report.Column{Title: "overhead", Numeric: true}, report.Column{Title: "limited by"})
	}
	t := report.Table{Columns: columns}
	seconds := func(s float64) report.Cell { return report.Number(report.Seconds(s), s) }
	for _, row := range r.ByThreads {
		cells := []report.Cell{cli.CountCell(row.Threads), seconds(row.Bandwidth), seconds(row.Latency)}
		if row.Overhead != nil {
			cells = append(cells, seconds(*row.Overhead), report.Text(row.LimitedBy))
		}
		t.Add(cells...)
	}
	return t.Write(w, o)
}
