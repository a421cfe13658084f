package capability

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

// OverheadBytes is the size of the small sorts from which the overhead is fitted.
const OverheadBytes = 1 << 10

// SignificantOverhead is the overhead ÷ the memory model above which memory no
// longer limits a sort.
const SignificantOverhead = 0.1

// SmallSort is a measured sort of OverheadBytes.
type SmallSort struct {
	Threads int
	Cost    Cost
}

// FitOverhead fits the overhead of threads, recursion and false sharing: a line
// by least squares through what small sorts took beyond the memory model (its
// bound by bandwidth), over their threads. It is used for every size. The base
// may be negative, At of a few threads then too: see Overhead.
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

// Overhead is what a sort takes beyond its accesses to memory.
type Overhead struct{ Line Line }

// At returns the overhead with so many threads; never less than 0.
func (o Overhead) At(threads int) Cost { return max(0, o.Line.At(threads)) }

// Significant reports whether memory has stopped being the limit: the overhead
// is above a tenth of the memory model.
func (o Overhead) Significant(threads int, t SortTime) bool {
	return o.At(threads) > SignificantOverhead*t.Bandwidth
}

// maxSmallSorts bounds a file.
const maxSmallSorts = 10_000

// ReadSmallSorts reads CSV with the columns threads and seconds, one measured
// sort of OverheadBytes a row. Errors name the line.
func ReadSmallSorts(r io.Reader) ([]SmallSort, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = 2
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("header: %w: want threads,seconds", err)
	}
	if head[0] != "threads" || head[1] != "seconds" {
		return nil, fmt.Errorf("line 1: columns %q: want threads,seconds", head)
	}
	var sorts []SmallSort
	for len(sorts) < maxSmallSorts {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return sorts, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := rows.FieldPos(0)
		threads, err := strconv.Atoi(row[0])
		if err != nil || threads < 1 || threads > MaxThreads {
			return nil, fmt.Errorf("line %d: threads %q: want 1 to %d", line, row[0], MaxThreads)
		}
		seconds, err := strconv.ParseFloat(row[1], 64)
		if err != nil || !(seconds > 0 && seconds <= 1e3) {
			return nil, fmt.Errorf("line %d: seconds %q: want a time above 0", line, row[1])
		}
		sorts = append(sorts, SmallSort{threads, Cost(seconds * 1e9)})
	}
	return nil, fmt.Errorf("more than %d rows", maxSmallSorts)
}
