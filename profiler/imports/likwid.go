package imports

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// likwidReader reads either form of output. A controller's counters are shown at
// one hardware thread per socket and as zero, nan or - at the others, so the
// threads are summed. Which socket a thread belongs to is not in the file.
type likwidReader struct {
	table
	in      *lines
	options Options

	current likwidTable
	found   *likwidTable // the finished table of the memory group

	// head is the order of the values in a row of the timeline:
	//
	//	# GID|MetricsCount|CpuCount|Total runtime [s]|Runtime (RDTSC) [s]|Memory read bandwidth [MBytes/s]|…
	//	1 3 2 1.000073 1.000035 1.000035 10526.1 0 5206.9 0
	//
	// Every metric is followed by its value at every thread. -O separates by comma.
	// The first cell of a column counts metrics here.
	head    []column
	metrics int
	rows    int
}

// likwidTable is a table of metrics by hardware thread:
//
//	TABLE,Group 1 Metric,MEM,6,
//	Metric,HWThread 0,HWThread 28,
//	Runtime (RDTSC) [s],1.0008,1.0008,
//	Memory read bandwidth [MBytes/s],10526.1,212.4,
//	Memory write bandwidth [MBytes/s],5206.9,106.0,
type likwidTable struct {
	title   string // empty for a table of something else
	line    int
	threads int
	columns []column
	cells   []string
	seconds float64
}

const likwidTimelineHead = "# GID|"

// isLikwidLine recognizes the tables of -O and the head of the timeline mode.
func isLikwidLine(line string) bool {
	return strings.HasPrefix(line, "STRUCT,Info,") || strings.HasPrefix(line, "TABLE,") || strings.HasPrefix(line, likwidTimelineHead)
}

// likwidBandwidth matches metrics of the groups MEM, MEM_DP, MEM_SP, … : `Memory
// read bandwidth [MBytes/s]`, on some platforms `writeback` or with `DDR`, and
// those of other memory.
var likwidBandwidth = regexp.MustCompile(`^(?:(?:DDR )?Memory|(MCDRAM|HBM|PMM|CXL)(?: [Mm]emory)?) (read|write)(?:back)? bandwidth \[([KMG])Bytes?/s\]$`)

func likwidColumn(metric string) (column, bool) {
	m := likwidBandwidth.FindStringSubmatch(strings.TrimSpace(metric))
	if m == nil {
		return column{}, false
	}
	bytes, _ := sysfs.UnitBytes(m[3] + "B")
	return column{name: metric, memory: otherMemory[m[1]], kind: catalog.Kind(m[2]), bytes: bytes}, true
}

// complete reports whether columns hold the reads and the writes of DRAM.
func complete(columns []column) bool {
	seen := map[catalog.Kind]bool{}
	for _, c := range columns {
		seen[c.kind] = seen[c.kind] || c.memory == ""
	}
	return seen[catalog.Read] && seen[catalog.Write]
}

func newLikwid(in *lines, o Options) reader {
	return &likwidReader{table: newTable(), in: in, options: o}
}

func (l *likwidReader) line(text string) error {
	l.in.at = l.in.number
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, likwidTimelineHead):
		return l.timelineHead(text)
	case l.head != nil:
		return l.timelineRow(text)
	case strings.HasPrefix(text, "TABLE,"), strings.HasPrefix(text, "STRUCT,"):
		if err := l.endTable(); err != nil {
			return err
		}
		l.current = likwidTable{line: l.in.number, title: likwidTitle(strings.Split(text, ","))}
	case l.current.title != "":
		return l.tableRow(strings.Split(strings.TrimRight(text, ", "), ","))
	}
	// Anything else is what the program printed, or counts before metrics.
	return nil
}

// likwidTitle returns the title of a table of metrics by thread, which is in the
// second cell, or in the third after the name of a marked region; "" for another
// table.
func likwidTitle(cells []string) string {
	if cells[0] != "TABLE" || len(cells) < 3 {
		return ""
	}
	title := cells[1]
	if strings.HasPrefix(title, "Region ") {
		title += ", " + cells[2]
	}
	if !strings.HasSuffix(title, " Metric") {
		return ""
	}
	return title
}

func (l *likwidReader) tableRow(cells []string) error {
	t := &l.current
	name, values := cells[0], cells[1:]
	c, isBandwidth := likwidColumn(name)
	switch {
	case name == "Metric":
		t.threads = len(values)
	case name == "Runtime (RDTSC) [s]":
		for _, text := range values {
			if seconds, ok := number(text); ok {
				t.seconds = max(t.seconds, seconds)
			}
		}
	case isBandwidth:
		c.first, c.count = len(t.cells), len(values)
		t.columns, t.cells = append(t.columns, c), append(t.cells, values...)
		return l.in.width(len(values), t.threads)
	}
	return nil
}

// endTable keeps the table if it is of memory traffic.
func (l *likwidReader) endTable() error {
	t := l.current
	l.current = likwidTable{}
	if len(t.columns) == 0 {
		return nil
	}
	if l.found != nil {
		return fmt.Errorf("%s and %s (line %d) both hold memory traffic: the file holds several groups, regions or runs; import them one by one", show(l.found.title), show(t.title), t.line)
	}
	l.found = &t
	return nil
}

func (l *likwidReader) timelineHead(text string) error {
	fields := strings.Split(text, "|")
	if l.head != nil {
		return errors.New("a second timeline begins: the file holds several groups or runs; measure the memory group alone and import one run")
	}
	if len(fields) < 5 || !strings.HasPrefix(fields[1], "Metric") {
		return errors.New("the timeline names no metrics: measure a group that has them, for example -g MEM")
	}
	l.metrics = len(fields) - 4
	for i, metric := range fields[4:] {
		if c, ok := likwidColumn(metric); ok {
			c.first = i
			l.head = append(l.head, c)
		}
	}
	if !complete(l.head) {
		return errors.New("the timeline has no read and write bandwidth of the memory: measure with -g MEM")
	}
	return nil
}

// timelineRow reads a row; other lines are what the program printed.
func (l *likwidReader) timelineRow(text string) error {
	cells := strings.Fields(text)
	if strings.Contains(text, ",") {
		cells = strings.Split(strings.TrimSuffix(text, ","), ",")
	}
	if len(cells) < 4 || !isDigits(cells[0]) || !isDigits(cells[1]) || !isDigits(cells[2]) {
		return nil
	}
	count, err := strconv.Atoi(cells[2])
	if err != nil || count < 1 || count > len(cells) {
		count = 1
	}
	if err := l.in.width(len(cells), 4+l.metrics*count); err != nil {
		return err
	}
	end, ok := number(cells[3])
	if !ok || !(end > l.at) {
		return fmt.Errorf("the time %s s does not follow %v s: the file holds two measurements, or several groups; import them one by one", show(cells[3]), l.at)
	}
	l.rows++
	columns := make([]column, len(l.head))
	for i, c := range l.head {
		c.first, c.count = 4+c.first*count, count
		columns[i] = c
	}
	return l.row(columns, cells, end)
}

func (l *likwidReader) end() (Result, error) {
	if err := l.endTable(); err != nil {
		return Result{}, err
	}
	timed := l.head != nil
	switch {
	case timed && l.rows == 0:
		return Result{}, errors.New("no row of the timeline: the file is truncated, or the run was shorter than its interval")
	case !timed && l.found == nil:
		return Result{}, errors.New("no table of memory bandwidth: measure a group that has it, for example likwid-perfctr -O -g MEM")
	case !timed:
		if err := l.addTable(*l.found); err != nil {
			return Result{}, err
		}
	}
	r, err := l.summary("measure again with the permission to read the counters")
	if err != nil {
		return Result{}, err
	}
	r.Tool, r.Counters = "likwid-perfctr", nil
	if !timed {
		r.Timeline = nil
	}
	return r, nil
}

// addTable takes the one interval of a table.
func (l *likwidReader) addTable(t likwidTable) error {
	l.in.at = t.line
	if !complete(t.columns) {
		return fmt.Errorf("the table lacks the read or the write bandwidth: %w", errNothing)
	}
	if t.seconds == 0 {
		t.seconds = l.options.Seconds
	}
	if !(t.seconds > 0) {
		return errors.New("the table lacks Runtime (RDTSC) [s]: give the wall time with --seconds")
	}
	return l.row(t.columns, t.cells, t.seconds)
}
