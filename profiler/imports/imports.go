// Package imports reads the measurements of other tools: perf stat, pcm-memory and
// likwid-perfctr. The result is a [profiler.Summary] with its time line.
//
// An interval that a tool could not count is a gap, never zero. It is left out with
// a warning; a file of gaps alone is an error.
package imports

import (
	"bufio"
	"bytes"
	"cmp"
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

// Options supply what the file does not contain.
type Options struct {
	// Name is the file's, for errors; empty is "input".
	Name string
	// Format is the format of the file; empty means that it is detected.
	Format Format
	// Seconds is the wall time of a measurement whose file lacks it, as of perf
	// without duration_time; 0 when unknown. A time in the file takes precedence.
	Seconds float64
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	var faults []error
	if o.Format != "" && readers[o.Format] == nil {
		faults = append(faults, fmt.Errorf("format %q: want one of %s", o.Format, formatNames()))
	}
	if !(o.Seconds >= 0) || math.IsInf(o.Seconds, 0) {
		faults = append(faults, fmt.Errorf("seconds %v: want 0 (unknown) or more", o.Seconds))
	}
	return errors.Join(faults...)
}

// Result is an imported measurement. Counters is nil for likwid, whose files lack
// sockets. PerNode does not include traffic by socket, because a socket may have
// several NUMA nodes.
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

// reader takes the lines of one format. Its errors are located by the lines that
// it was made with.
type reader interface {
	// line takes the next line.
	line(text string) error
	// end returns the result after the last line.
	end() (Result, error)
}

var readers = map[Format]func(*lines, Options) reader{PerfCSV: newPerfCSV, PerfJSON: newPerfJSON, PCM: newPCM, Likwid: newLikwid}

// sniffBytes is how much of the start of a file determines its format.
const sniffBytes = 64 << 10

// Read reads one measurement in bounded memory. The error names the file, the line
// and the remedy; it wraps [ErrFormat] for the file of another tool.
func Read(r io.Reader, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, fmt.Errorf("importing: %w", err)
	}
	in := &lines{name: cmp.Or(o.Name, "input"), reader: bufio.NewReaderSize(r, sniffBytes)}
	if o.Format == "" {
		// A short file ends before the buffer is full; a read error shows again
		// below.
		head, _ := in.reader.Peek(sniffBytes)
		var err error
		if o.Format, err = detect(head); err != nil {
			return Result{}, fmt.Errorf("%s: %w", in.name, err)
		}
	}
	lineReader := readers[o.Format](in, o)
	for {
		text, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Result{}, err
		}
		if err := lineReader.line(text); err != nil {
			return Result{}, in.locate(err)
		}
	}
	result, err := lineReader.end()
	if err != nil {
		return Result{}, in.locate(err)
	}
	result.Format = o.Format
	return result, nil
}

// detect determines the format from the start of a file.
func detect(head []byte) (Format, error) {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), bytes.HasPrefix(head, []byte("BZh")),
		bytes.HasPrefix(head, []byte{0xfd, '7', 'z'}), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "", fmt.Errorf("%w: the file is compressed: unpack it first", ErrFormat)
	case bytes.HasPrefix(head, []byte("PERFILE2")):
		return "", fmt.Errorf("%w: this is perf.data: convert it with perf stat report -x, -i FILE", ErrFormat)
	case len(bytes.TrimSpace(head)) == 0:
		return "", fmt.Errorf("%w: the file is empty: nothing was measured, or its output went elsewhere (perf writes to standard error; give it -o FILE)", ErrFormat)
	}
	for line := range strings.Lines(strings.TrimPrefix(string(head), byteOrderMark)) {
		line = strings.TrimSpace(line)
		switch {
		case isLikwidLine(line):
			return Likwid, nil
		case isPCMHeader(line):
			return PCM, nil
		case strings.HasPrefix(line, "Performance counter stats for"):
			return "", fmt.Errorf("%w: this is perf's table for people: repeat the measurement with perf stat -j -o FILE (or -x,)", ErrFormat)
		case isPerfComment(line):
		case strings.HasPrefix(line, "{"):
			return PerfJSON, nil
		default:
			if fault := decimalComma(line); fault != nil {
				return "", fault
			}
			if findSeparator(line) != "" {
				return PerfCSV, nil
			}
		}
	}
	return "", fmt.Errorf("%w: neither perf stat -x or -j, nor pcm-memory -csv, nor likwid-perfctr -O: "+
		"if it is one of them, name it with --format (%s)", ErrFormat, formatNames())
}
