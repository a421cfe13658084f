package capability

import (
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/stat"

	"bandmate.dev/bandmate/internal/table"
)

// OverheadBytes is the size of the small sorts from which the overhead is fitted.
const OverheadBytes = 1 << 10

// SignificantOverhead is the overhead ÷ the memory model above which memory is not
// the limit of a sort.
const SignificantOverhead = 0.1

// SmallSort is a measured sort of OverheadBytes.
type SmallSort struct {
	Threads int
	Cost    Cost
}

// FitOverhead fits the overhead of threads, recursion and false sharing: a line by
// least squares through the time of small sorts beyond the memory model (its bound
// by bandwidth), over their threads. It is used for every size. The base may be
// negative.
func FitOverhead(s Sorting, sorts []SmallSort) (Overhead, error) {
	var threads, beyond []float64
	differ := false
	for _, m := range sorts {
		model, err := s.Time(OverheadBytes, m.Threads)
		if err != nil {
			return Overhead{}, err
		}
		threads, beyond = append(threads, float64(m.Threads)), append(beyond, float64(m.Cost-model.Bandwidth))
		differ = differ || m.Threads != sorts[0].Threads
	}
	if !differ {
		return Overhead{}, errors.New("overhead: want sorts with at least two numbers of threads")
	}
	base, each := stat.LinearRegression(threads, beyond, nil, false)
	return Overhead{Line{Cost(base), Cost(each)}}, nil
}

// Overhead is the time of a sort beyond its accesses to memory.
type Overhead struct{ Line Line }

// At returns the overhead with so many threads; never less than 0.
func (o Overhead) At(threads int) Cost { return max(0, o.Line.At(threads)) }

// Significant reports whether memory has stopped being the limit: the overhead
// is above a tenth of the memory model.
func (o Overhead) Significant(threads int, t SortTime) bool {
	return o.At(threads) > SignificantOverhead*t.Bandwidth
}

// Bounds of a file of small sorts.
const (
	maxSmallSorts       = 10_000
	maxSmallSortSeconds = 1e3
)

// ReadSmallSorts reads CSV with the columns threads and seconds, one measured
// sort of OverheadBytes a row. Faults are placed at file:line:column.
func ReadSmallSorts(r io.Reader, file string) ([]SmallSort, error) {
	var sorts []SmallSort
	err := table.Each(r, file, []string{"threads", "seconds"}, func(t *table.Table) {
		if len(sorts) == maxSmallSorts {
			t.Fail("threads", fmt.Errorf("more than %d rows", maxSmallSorts))
		}
		threads, seconds := t.Whole("threads", 1, MaxThreads), t.Positive("seconds")
		if seconds > maxSmallSortSeconds {
			t.Fail("seconds", fmt.Errorf("%v: want at most %v", seconds, maxSmallSortSeconds))
		}
		sorts = append(sorts, SmallSort{threads, Cost(seconds * 1e9)})
	})
	if err != nil {
		return nil, err
	}
	return sorts, nil
}
