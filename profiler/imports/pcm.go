package imports

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/profiler"
)

// A file of `pcm-memory 1 -csv -nc`; without -nc columns per channel come first:
//
//	,,SKT0,SKT0,SKT0,SKT1,SKT1,SKT1,System,System,System
//	Date,Time,Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),Read,Write,Memory
//	2023-05-04,10:11:13.250, 2107.39, 1022.50, 3129.89,  120.00,   60.00,  180.00,   2227.39,   1082.50,   3309.89
//
// A row is the mean since the row before, in decimal megabytes per second. The
// System columns add Optane and HBM, so the sockets' are summed instead. Cells
// of channels that are absent are empty.
func parsePCM(in *lines, o Options) (Result, error) {
	p := &pcmReader{in: in, options: o, series: newSeries()}
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return p.finish()
		}
		if err != nil {
			return Result{}, err
		}
		p.at = in.number
		if err := p.take(line); err != nil {
			return Result{}, in.errorAt(p.at, "%w", err)
		}
	}
}

const pcmTool = "pcm-memory"

// isPCMHeader recognizes the first header row, and the second for files that
// lost the first.
func isPCMHeader(line string) bool {
	return pcmGroups.MatchString(line) || strings.HasPrefix(line, "Date,Time,")
}

var pcmGroups = regexp.MustCompile(`^,,(?:SKT\d+|System)\b`)

// pcmColumns are the columns of a socket's memory.
type pcmColumns struct {
	place
	read, write int
}

type pcmReader struct {
	in      *lines
	options Options
	series  *series

	groups, names []string // the header rows
	dram          []pcmColumns
	apart         map[string][2]float64 // bytes of Optane and HBM, by kind
	apartColumns  map[string][]pcmColumns
	nearMemory    bool

	at    int // line of an error
	rows  int
	first row // waits for its length
	last  row
}

// row is a line of values.
type row struct {
	line  int
	time  time.Time
	cells []string
}

func (p *pcmReader) take(line string) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	fields := strings.Split(line, ",")
	switch {
	case p.groups == nil && pcmGroups.MatchString(line):
		p.groups = fields
		return nil
	case p.groups == nil && strings.HasPrefix(line, "Date,Time,"):
		return errors.New("the header row with SKT0 is missing: want both header rows as pcm-memory wrote them")
	case p.groups == nil:
		// What pcm-memory says before its table.
		return nil
	case p.names == nil:
		return p.header(fields)
	}
	return p.row(fields)
}

// header finds the columns in the second header row.
func (p *pcmReader) header(names []string) error {
	if len(names) < 2 || strings.TrimSpace(names[0]) != "Date" || len(names) != len(p.groups) {
		return fmt.Errorf("the second header row has %d columns, the first %d: want both as pcm-memory -csv wrote them", len(names), len(p.groups))
	}
	p.names = make([]string, len(names))
	p.apart, p.apartColumns = map[string][2]float64{}, map[string][]pcmColumns{}
	for i, name := range names {
		p.names[i] = strings.TrimSpace(name)
		if strings.HasPrefix(p.names[i], "NM ") {
			p.nearMemory = true
		}
	}
	for i := range names {
		group, ok := strings.CutPrefix(strings.TrimSpace(p.groups[i]), "SKT")
		if !ok {
			continue
		}
		number, err := strconv.Atoi(group)
		if err != nil || number < 0 {
			return fmt.Errorf("column %d belongs to %s: want SKT and a number", i+1, show(p.groups[i]))
		}
		where := place{socket, number}
		switch p.names[i] {
		case "Mem Read (MB/s)", "DDR4 Read (MB/s)":
			p.dram = append(p.dram, pcmColumns{where, i, p.pair(i, "Write")})
		case "PMM_Read (MB/s)", "PMM_Read":
			p.apartColumns["Optane"] = append(p.apartColumns["Optane"], pcmColumns{where, i, p.pair(i, "Write")})
		case "HBM Read (MB/s)", "MCDRAM Read (MB/s)":
			p.apartColumns["HBM"] = append(p.apartColumns["HBM"], pcmColumns{where, i, p.pair(i, "Write")})
		}
	}
	return p.checkColumns()
}

// pair returns the column of the writes that belong to the reads in column i of
// the same socket; 0 when there is none.
func (p *pcmReader) pair(i int, word string) int {
	want := strings.Replace(p.names[i], "Read", word, 1)
	for j := i + 1; j < len(p.names) && p.groups[j] == p.groups[i]; j++ {
		if p.names[j] == want {
			return j
		}
	}
	return 0
}

func (p *pcmReader) checkColumns() error {
	if len(p.dram) == 0 {
		return errors.New("no column Mem Read (MB/s) of a socket: want the output of pcm-memory -csv")
	}
	seen := map[place]bool{}
	for _, c := range p.dram {
		if c.write == 0 {
			return fmt.Errorf("column %d has reads of SKT%d and no column has its writes: the header is damaged", c.read+1, c.number)
		}
		if seen[c.place] {
			return fmt.Errorf("SKT%d has two columns %s: the header is damaged", c.number, show(p.names[c.read]))
		}
		seen[c.place] = true
	}
	return nil
}

// row takes a line of values. The first one waits until the second tells how
// long an interval is.
func (p *pcmReader) row(cells []string) error {
	if len(cells) == len(p.names)+1 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(p.names)]
	}
	if len(cells) != len(p.names) {
		if !p.in.whole {
			return errors.New("the last line is cut off: the file is truncated; remove it")
		}
		return fmt.Errorf("%d columns, the header has %d: the line is damaged, or was written with decimal commas (run pcm-memory with LC_ALL=C)", len(cells), len(p.names))
	}
	at, err := pcmTime(cells[0], cells[1])
	if err != nil {
		return err
	}
	n := row{p.in.number, at, cells}
	p.rows++
	if p.rows == 1 {
		p.first, p.last = n, n
		return nil
	}
	seconds := at.Sub(p.last.time).Seconds()
	switch {
	case seconds == 0:
		return fmt.Errorf("the time of line %d again: the file holds a row twice, or a version of pcm-memory that writes whole seconds; measure again with a delay of 2 s or more", p.last.line)
	case seconds < 0:
		return fmt.Errorf("the time goes back from that of line %d: the file holds two measurements, or the clock was set; import them one by one", p.last.line)
	}
	if p.rows == 2 {
		if err := p.interval(p.first, seconds); err != nil {
			return err
		}
	}
	p.last = n
	return p.interval(n, seconds)
}

// interval adds the traffic of a row that is the mean over a time.
func (p *pcmReader) interval(n row, seconds float64) error {
	p.at = n.line
	end := p.series.at + seconds
	places := map[place]flow{}
	for _, c := range p.dram {
		rates, why, err := p.cells(n, c)
		if err != nil {
			return err
		}
		if why != "" {
			p.series.gap(end, why)
			return nil
		}
		places[c.place] = places[c.place].add(flow{read: rates[0], write: rates[1]}.scale(seconds))
	}
	for kind, columns := range p.apartColumns {
		for _, c := range columns {
			if c.write == 0 {
				continue
			}
			if rates, why, err := p.cells(n, c); err == nil && why == "" {
				sum := p.apart[kind]
				p.apart[kind] = [2]float64{sum[0] + rates[0]*seconds, sum[1] + rates[1]*seconds}
			}
		}
	}
	return p.series.add(end, places)
}

// cells returns the read and write rate in bytes per second, or why there is
// none.
func (p *pcmReader) cells(n row, c pcmColumns) (rates [2]float64, why string, err error) {
	const megabyte = 1e6
	for i, column := range []int{c.read, c.write} {
		text := strings.TrimSpace(n.cells[column])
		if text == "" || strings.EqualFold(text, "N/A") || strings.EqualFold(strings.TrimLeft(text, "-"), "nan") {
			return rates, fmt.Sprintf("SKT%d without %s", c.number, p.names[column]), nil
		}
		v, ok := number(text)
		if !ok {
			return rates, "", fmt.Errorf("column %d, %s: %s is no number of MB/s", column+1, show(p.names[column]), show(text))
		}
		// pcm marks what it could not count with -1.
		if v < 0 {
			return rates, fmt.Sprintf("SKT%d reports %s", c.number, text), nil
		}
		rates[i] = v * megabyte
	}
	return rates, "", nil
}

// pcmTime reads a date and a time as every version of pcm prints them:
// 2023-05-04 or 2023-5-4, 10:11:13 or 10:11:13.250. The zone is that of the
// machine and does not matter.
func pcmTime(date, clock string) (time.Time, error) {
	at, err := time.Parse("2006-1-2 15:4:5", strings.TrimSpace(date)+" "+strings.TrimSpace(clock))
	if err != nil {
		return at, fmt.Errorf("date %s, time %s: want for example 2023-05-04, 10:11:13.250", show(date), show(clock))
	}
	return at, nil
}

func (p *pcmReader) finish() (Result, error) {
	fail := func(err error) (Result, error) {
		return Result{}, p.in.errorAt(max(p.last.line, p.in.number, 1), "%w", err)
	}
	switch {
	case p.names == nil:
		return fail(errors.New("no header rows of pcm-memory -csv: want the file from its start"))
	case p.rows == 0:
		return fail(errors.New("no row of values: the file is truncated, or pcm-memory was stopped before its first interval"))
	case p.rows == 1 && p.options.Seconds == 0:
		return fail(errors.New("a single row does not tell how long its interval was: give it with --seconds, or measure more rows"))
	case p.rows == 1:
		if err := p.interval(p.first, p.options.Seconds); err != nil {
			return fail(err)
		}
	}
	r, err := p.series.summary()
	if err != nil {
		return fail(fmt.Errorf("%w: run pcm-memory with the permission to read the counters (root), on bare metal", err))
	}
	if p.nearMemory && p.series.moved.total() == 0 {
		return fail(errors.New("pcm-memory -mm counts hits of the near memory and no bandwidth: measure again without -mm"))
	}
	r.Tool = pcmTool
	r.Timeline = p.series.timeline()
	for _, kind := range []string{"HBM", "Optane"} {
		if moved := p.apart[kind]; moved[0]+moved[1] > 0 {
			mean := flow{read: moved[0], write: moved[1]}.over(cmp.Or(p.series.seconds, 1))
			r.Counters.Apart = append(r.Counters.Apart, profiler.MemoryTraffic{
				Memory: kind, ReadBytesPerSecond: float64(mean.Read), WriteBytesPerSecond: float64(mean.Write),
			})
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s is kept apart and in no figure: %v read, %v written", kind, mean.Read, mean.Write))
		}
	}
	if p.rows > 1 {
		r.Warnings = append(r.Warnings, "pcm-memory does not say how long the first interval was: taken to be as long as the second")
	}
	return r, nil
}
