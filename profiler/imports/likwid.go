package imports

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

const likwidTool = "likwid-perfctr"

// isLikwidLine recognizes the tables of -O and the head of the timeline mode.
func isLikwidLine(line string) bool {
	return strings.HasPrefix(line, "STRUCT,Info,") || strings.HasPrefix(line, "TABLE,") || strings.HasPrefix(line, likwidTimelineHead)
}

const likwidTimelineHead = "# GID|"

// metricKind is what a metric of a likwid group says.
type metricKind int

const (
	otherMetric metricKind = iota
	readBandwidth
	writeBandwidth
	runtime
)

// The metrics of the groups MEM, MEM_DP, MEM_SP, … : `Memory read bandwidth
// [MBytes/s]`, `Memory write bandwidth [MBytes/s]`, on some platforms
// `writeback`, on some with `DDR`. Those of MCDRAM, HBM and PMM (Optane) are
// other memory.
var likwidBandwidth = regexp.MustCompile(`^(?:DDR )?Memory (read|write|writeback) bandwidth \[([KMG])Bytes?/s\]$`)

var likwidOther = regexp.MustCompile(`^(?:MCDRAM|HBM|PMM|CXL)\b.*bandwidth`)

// kindOf also returns the bytes per second of one unit of the metric.
func kindOf(metric string) (metricKind, float64) {
	metric = strings.TrimSpace(metric)
	if metric == "Runtime (RDTSC) [s]" {
		return runtime, 1
	}
	m := likwidBandwidth.FindStringSubmatch(metric)
	if m == nil {
		return otherMetric, 0
	}
	scale := map[string]float64{"K": 1e3, "M": 1e6, "G": 1e9}[m[2]]
	if m[1] == "read" {
		return readBandwidth, scale
	}
	return writeBandwidth, scale
}

// likwidReader reads either form of output. A controller's counters are shown at
// one hardware thread per socket and as zero, nan or - at the others, so the
// threads are summed. Which socket a thread belongs to is not in the file.
type likwidReader struct {
	in      *lines
	options Options
	series  *series
	apart   bool // metrics of other memory were seen

	table likwidTable
	found *likwidTable // the finished table of the memory group
	head  *likwidHead
	rows  int
}

// likwidTable is a table of metrics by hardware thread:
//
//	TABLE,Group 1 Metric,MEM,6,
//	Metric,HWThread 0,HWThread 28,
//	Runtime (RDTSC) [s],1.0008,1.0008,
//	Memory read bandwidth [MBytes/s],10526.1,212.4,
//	Memory write bandwidth [MBytes/s],5206.9,106.0,
type likwidTable struct {
	title   string
	line    int
	inside  bool
	threads int
	rates   [runtime + 1]*float64
	missing string
}

// likwidHead is the order of the values of a timeline row:
//
//	# GID|MetricsCount|CpuCount|Total runtime [s]|Runtime (RDTSC) [s]|Memory read bandwidth [MBytes/s]|…
//	1 3 2 1.000073 1.000035 1.000035 10526.1 0 5206.9 0
//
// Every metric is followed by its value at every thread. -O separates by comma.
type likwidHead struct{ metrics []string }

func parseLikwid(in *lines, o Options) (Result, error) {
	l := &likwidReader{in: in, options: o, series: newSeries()}
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return l.finish()
		}
		if err != nil {
			return Result{}, err
		}
		if err := l.take(strings.TrimSpace(line)); err != nil {
			return Result{}, in.errorf("%w", err)
		}
	}
}

func (l *likwidReader) take(line string) error {
	switch {
	case strings.HasPrefix(line, likwidTimelineHead):
		return l.timelineHead(line)
	case l.head != nil:
		return l.timelineRow(line)
	case strings.HasPrefix(line, "TABLE,"), strings.HasPrefix(line, "STRUCT,"):
		if err := l.endTable(); err != nil {
			return err
		}
		return l.startTable(strings.Split(line, ","))
	case l.table.inside:
		return l.tableRow(strings.Split(line, ","))
	}
	// What the program printed, the counts before metrics.
	return nil
}

// startTable looks whether a table holds metrics by thread. The title is in the
// second cell, or in the third after the name of a marked region.
func (l *likwidReader) startTable(cells []string) error {
	l.table = likwidTable{line: l.in.number}
	if cells[0] != "TABLE" || len(cells) < 3 {
		return nil
	}
	title := cells[1]
	if strings.HasPrefix(title, "Region ") {
		title += ", " + cells[2]
	}
	if strings.HasSuffix(title, " Metric") {
		l.table.title, l.table.inside = title, true
	}
	return nil
}

func (l *likwidReader) tableRow(cells []string) error {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 0 {
		return nil
	}
	if cells[0] == "Metric" {
		l.table.threads = len(cells) - 1
		return nil
	}
	l.noteApart(cells[0])
	kind, scale := kindOf(cells[0])
	if kind == otherMetric {
		return nil
	}
	if len(cells)-1 != l.table.threads {
		if !l.in.whole {
			return errors.New("the last line is cut off: the file is truncated; measure again")
		}
		return fmt.Errorf("%s has %d values, the table %d threads: the line is damaged, or was written with decimal commas (measure again with LC_ALL=C)", show(cells[0]), len(cells)-1, l.table.threads)
	}
	sum, counted, err := combine(kind, cells[1:])
	if err != nil {
		return fmt.Errorf("%s: %w", show(cells[0]), err)
	}
	if !counted {
		l.table.missing = cells[0]
		return nil
	}
	sum *= scale
	l.table.rates[kind] = &sum
	return nil
}

// combine sums bandwidths over threads and takes the longest runtime; false
// when no thread has a value.
func combine(kind metricKind, cells []string) (value float64, counted bool, err error) {
	for _, cell := range cells {
		switch text := strings.TrimSpace(cell); strings.TrimLeft(strings.ToLower(text), "-") {
		case "", "nan", "inf", "(null)", "n/a":
			continue
		default:
			v, ok := number(text)
			if !ok || v < 0 {
				return 0, false, fmt.Errorf("%s: want a number of 0 or more", show(text))
			}
			counted = true
			if kind == runtime {
				value = max(value, v)
			} else {
				value += v
			}
		}
	}
	return value, counted, nil
}

func (l *likwidReader) noteApart(metric string) {
	l.apart = l.apart || likwidOther.MatchString(strings.TrimSpace(metric))
}

// endTable keeps the table if it is of memory traffic.
func (l *likwidReader) endTable() error {
	t := l.table
	l.table = likwidTable{}
	if !t.inside || t.rates[readBandwidth] == nil && t.rates[writeBandwidth] == nil && t.missing == "" {
		return nil
	}
	if l.found != nil {
		return fmt.Errorf("%s and %s (line %d) both hold memory traffic: the file holds several groups, regions or runs; import them one by one", show(l.found.title), show(t.title), t.line)
	}
	l.found = &t
	return nil
}

func (l *likwidReader) timelineHead(line string) error {
	metrics := strings.Split(line, "|")
	if len(metrics) < 5 {
		return fmt.Errorf("%s names no metrics: measure a group with metrics, for example -g MEM", show(line))
	}
	head := &likwidHead{metrics: metrics[4:]}
	if !strings.HasPrefix(metrics[1], "Metric") {
		return errors.New("the timeline holds plain counts: measure a group with metrics, for example -g MEM")
	}
	if l.head != nil {
		return errors.New("a second timeline begins: the file holds several groups or runs; measure the memory group alone and import one run")
	}
	var have [runtime + 1]bool
	for _, m := range head.metrics {
		l.noteApart(m)
		kind, _ := kindOf(m)
		have[kind] = true
	}
	if !have[readBandwidth] || !have[writeBandwidth] {
		return errors.New("the timeline has no read and write bandwidth of the memory: measure with -g MEM")
	}
	l.head = head
	return nil
}

// timelineRow reads a row; other lines are what the program printed.
func (l *likwidReader) timelineRow(line string) error {
	separator := " "
	if strings.Contains(line, ",") {
		separator = ","
	}
	cells := strings.Split(line, separator)
	if len(cells) < 4 || !isDigits(cells[0]) || !isDigits(cells[1]) || !isDigits(cells[2]) {
		return nil
	}
	count, err := strconv.Atoi(cells[2])
	if err != nil || count < 1 || count > len(cells) {
		count = 1
	}
	if cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) != 4+len(l.head.metrics)*count {
		if !l.in.whole {
			return errors.New("the last line is cut off: the file is truncated; remove it")
		}
		return fmt.Errorf("%d values, want %d: 4 and %d metrics at %d threads; the line is damaged, or was written with decimal commas (measure again with LC_ALL=C)",
			len(cells), 4+len(l.head.metrics)*count, len(l.head.metrics), count)
	}
	end, ok := number(cells[3])
	if !ok || !(end > l.series.at) {
		return fmt.Errorf("the time %s s does not follow %v s: the file holds two measurements, or several groups; import them one by one", show(cells[3]), l.series.at)
	}
	l.rows++
	var moved flow
	for i, metric := range l.head.metrics {
		kind, scale := kindOf(metric)
		if kind != readBandwidth && kind != writeBandwidth {
			continue
		}
		sum, counted, err := combine(kind, cells[4+i*count:4+(i+1)*count])
		if err != nil {
			return fmt.Errorf("%s: %w", show(metric), err)
		}
		if !counted {
			l.series.gap(end, "no value of "+show(metric))
			return nil
		}
		bytes := sum * scale * (end - l.series.at)
		if kind == readBandwidth {
			moved.read += bytes
		} else {
			moved.write += bytes
		}
	}
	return l.series.add(end, map[place]flow{{}: moved})
}

func (l *likwidReader) finish() (Result, error) {
	fail := func(err error) (Result, error) { return Result{}, l.in.errorAt(max(l.in.number, 1), "%w", err) }
	if err := l.endTable(); err != nil {
		return fail(err)
	}
	timed := l.head != nil
	switch {
	case timed && l.rows == 0:
		return fail(errors.New("no row of the timeline: the file is truncated, or the run was shorter than its interval"))
	case timed:
	case l.found == nil:
		return fail(errors.New("no table of memory bandwidth: measure a group that has it, for example likwid-perfctr -O -g MEM"))
	default:
		if err := l.addTable(l.found); err != nil {
			return Result{}, l.in.errorAt(l.found.line, "%w", err)
		}
	}
	r, err := l.series.summary()
	if err != nil {
		return fail(fmt.Errorf("%w: measure again with the permission to read the counters", err))
	}
	r.Tool = likwidTool
	r.Counters = nil
	if timed {
		r.Timeline = l.series.timeline()
	}
	if l.apart {
		r.Warnings = append(r.Warnings, "the traffic of other memory (HBM, Optane, CXL) in the file is in no figure")
	}
	return r, nil
}

// addTable takes the one interval of a table.
func (l *likwidReader) addTable(t *likwidTable) error {
	read, write := t.rates[readBandwidth], t.rates[writeBandwidth]
	if read == nil || write == nil {
		return fmt.Errorf("the table lacks a value of the read or of the write bandwidth: %w", errNothing)
	}
	seconds := l.options.Seconds
	if t.rates[runtime] != nil {
		seconds = *t.rates[runtime]
	}
	if !(seconds > 0) {
		return errors.New("the table lacks Runtime (RDTSC) [s]: give the wall time with --seconds")
	}
	return l.series.add(seconds, map[place]flow{{}: flow{read: *read, write: *write}.scale(seconds)})
}
