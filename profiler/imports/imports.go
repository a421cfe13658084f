// Package imports reads measurements that other tools made: perf stat,
// pcm-memory and likwid-perfctr. The result is the [profiler.Summary] of a
// measurement of our own, with its time line.
//
// What a tool could not count is a gap: left out and named in a warning, or an
// error where nothing honest remains. It is never a zero.
package imports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"bandmate.dev/bandmate/profiler"
)

// SourceName is the Source of every imported summary.
const SourceName = "imported"

// Format is how a file is written.
type Format string

const (
	// PerfCSV is `perf stat -x SEP`, with any separator.
	PerfCSV Format = "perf-csv"
	// PerfJSON is `perf stat -j`.
	PerfJSON Format = "perf-json"
	// PCM is `pcm-memory -csv`.
	PCM Format = "pcm"
	// Likwid is `likwid-perfctr -O` or its timeline mode `-t`.
	Likwid Format = "likwid"
)

// Formats returns every format.
func Formats() []Format { return []Format{PerfCSV, PerfJSON, PCM, Likwid} }

func formatNames() string {
	names := make([]string, len(Formats()))
	for i, f := range Formats() {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}

// ErrFormat is wrapped where a file is in none of the [Formats].
var ErrFormat = errors.New("unknown format")

// Options say what the file does not.
type Options struct {
	// Name is the file's, for errors; empty is "input".
	Name string
	// Format is how the file is written; empty finds out.
	Format Format
	// Seconds is the wall time of a measurement that does not hold it: perf
	// without duration_time, a single row of pcm-memory. 0 is unknown. A time
	// in the file goes before.
	Seconds float64
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	var faults []error
	if o.Format != "" && parsers[o.Format] == nil {
		faults = append(faults, fmt.Errorf("format %q: want one of %s", o.Format, formatNames()))
	}
	if !(o.Seconds >= 0) || math.IsInf(o.Seconds, 0) {
		faults = append(faults, fmt.Errorf("seconds %v: want 0 (unknown) or more", o.Seconds))
	}
	return errors.Join(faults...)
}

// Result is an imported measurement. Its Summary.Counters are nil for likwid,
// whose files tell neither socket nor share of time; a socket may hold several
// NUMA nodes, so traffic by socket is none of Summary.PerNode.
type Result struct {
	profiler.Summary
	// Tool made the measurement, for example "perf stat".
	Tool string
	// Format is that of the file.
	Format Format
}

// MarshalJSON writes the fields of the summary, then "tool" and "format".
func (r Result) MarshalJSON() ([]byte, error) {
	summary, err := json.Marshal(r.Summary)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(struct {
		Tool   string `json:"tool"`
		Format Format `json:"format"`
	}{r.Tool, r.Format})
	if err != nil {
		return nil, err
	}
	return append(append(bytes.TrimSuffix(summary, []byte("}")), ','), rest[1:]...), nil
}

// parser reads a whole file of one format.
type parser func(*lines, Options) (Result, error)

var parsers = map[Format]parser{PerfCSV: parsePerfCSV, PerfJSON: parsePerfJSON, PCM: parsePCM, Likwid: parseLikwid}

// sniffBytes is how much of the start of a file tells its format.
const sniffBytes = 64 << 10

// Read reads one measurement. It keeps a bounded part of the file in memory,
// however long the file is. The error names the file, the line and the remedy;
// it wraps [ErrFormat] for the file of another tool.
func Read(r io.Reader, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, fmt.Errorf("importing: %w", err)
	}
	if o.Name == "" {
		o.Name = "input"
	}
	start := bufio.NewReaderSize(r, sniffBytes)
	format := o.Format
	if format == "" {
		// A short file ends before the buffer is full; a read error shows again
		// below.
		head, _ := start.Peek(sniffBytes)
		var err error
		if format, err = detect(head); err != nil {
			return Result{}, fmt.Errorf("%s: %w", o.Name, err)
		}
	}
	result, err := parsers[format](newLines(o.Name, start), o)
	if err != nil {
		return Result{}, err
	}
	result.Format = format
	return result, nil
}
