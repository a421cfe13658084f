package imports

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
)

// pcmReader reads the output of `pcm-memory 1 -csv -nc`; without -nc columns per
// channel come first:
//
//	,,SKT0,SKT0,SKT0,SKT1,SKT1,SKT1,System,System,System
//	Date,Time,Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),Mem Read (MB/s),Mem Write (MB/s),Memory (MB/s),Read,Write,Memory
//	2023-05-04,10:11:13.250, 2107.39, 1022.50, 3129.89,  120.00,   60.00,  180.00,   2227.39,   1082.50,   3309.89
//
// A row is the mean since the row before, in decimal megabytes per second. The
// System columns add Optane and HBM, so the sockets' are summed instead. Cells
// of channels that are absent are empty. Old versions separate by
// semicolons.
type pcmReader struct {
	table
	in      *lines
	options Options

	separator     string
	groups, names []string // the header rows
	columns       []column
	rows          int
	first, last   pcmValues // the first waits for its length
}

// pcmValues is a line of values.
type pcmValues struct {
	line  int
	time  time.Time
	cells []string
}

var (
	pcmGroups = regexp.MustCompile(`^(?:,,|;;)(?:SKT\d+|System)\b`)
	pcmNames  = regexp.MustCompile(`^Date[,;]Time[,;]`)
	pcmName   = regexp.MustCompile(`^(Mem|DDR4|PMM|HBM|MCDRAM)[ _](Read|Write)(?: \(MB/s\))?$`)
)

// isPCMHeader recognizes the first header row, and the second for files that
// lost the first.
func isPCMHeader(line string) bool {
	return pcmGroups.MatchString(line) || pcmNames.MatchString(line)
}

func newPCM(in *lines, o Options) reader { return &pcmReader{table: newTable(), in: in, options: o} }

func (p *pcmReader) line(text string) error {
	p.in.at = p.in.number
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case p.groups == nil && pcmGroups.MatchString(text):
		p.separator = text[:1]
		p.groups = strings.Split(text, p.separator)
		return nil
	case p.groups == nil && pcmNames.MatchString(text):
		return errors.New("the header row with SKT0 is missing: want both header rows as pcm-memory wrote them")
	case p.groups == nil:
		// What pcm-memory says before its table.
		return nil
	case p.names == nil:
		return p.header(strings.Split(text, p.separator))
	}
	return p.values(strings.Split(text, p.separator))
}

// header finds the columns in the second header row.
func (p *pcmReader) header(names []string) error {
	if !pcmNames.MatchString(strings.Join(names, ",")) || len(names) != len(p.groups) {
		return fmt.Errorf("the second header row has %d columns, the first %d: want both as pcm-memory -csv wrote them", len(names), len(p.groups))
	}
	p.names = names
	seen := map[place]map[catalog.Kind]int{}
	for i, name := range names {
		group, isSocket := strings.CutPrefix(strings.TrimSpace(p.groups[i]), "SKT")
		m := pcmName.FindStringSubmatch(strings.TrimSpace(name))
		if !isSocket || m == nil {
			continue
		}
		number, err := strconv.Atoi(group)
		if err != nil || number < 0 {
			return fmt.Errorf("column %d belongs to %s: want SKT and a number", i+1, show(p.groups[i]))
		}
		c := column{
			name: p.groups[i] + " " + strings.TrimSpace(name), place: place{socket, number}, memory: otherMemory[m[1]],
			kind: catalog.Kind(strings.ToLower(m[2])), bytes: 1e6, first: i, count: 1,
		}
		p.columns = append(p.columns, c)
		if c.memory == "" {
			if seen[c.place] == nil {
				seen[c.place] = map[catalog.Kind]int{}
			}
			seen[c.place][c.kind]++
		}
	}
	for where, kinds := range seen {
		if kinds[catalog.Read] != 1 || kinds[catalog.Write] != 1 {
			return fmt.Errorf("SKT%d has %d columns of reads and %d of writes, want one of each: the header is damaged", where.number, kinds[catalog.Read], kinds[catalog.Write])
		}
	}
	if len(seen) == 0 {
		return errors.New("no column Mem Read (MB/s) of a socket: want the output of pcm-memory -csv")
	}
	return nil
}

// values takes a row. The first one waits until the second tells how long an
// interval is.
func (p *pcmReader) values(cells []string) error {
	if len(cells) == len(p.names)+1 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(p.names)]
	}
	if err := p.in.width(len(cells), len(p.names)); err != nil {
		return err
	}
	at, err := pcmTime(cells[0], cells[1])
	if err != nil {
		return err
	}
	n := pcmValues{p.in.number, at, cells}
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

// interval adds a row that is the mean over a time.
func (p *pcmReader) interval(n pcmValues, seconds float64) error {
	p.in.at = n.line
	return p.row(p.columns, n.cells, p.at+seconds)
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

func (p *pcmReader) end() (Result, error) {
	switch {
	case p.names == nil:
		return Result{}, errors.New("no header rows of pcm-memory -csv: want the file from its start")
	case p.rows == 0:
		return Result{}, errors.New("no row of values: the file is truncated, or pcm-memory was stopped before its first interval")
	case p.rows == 1 && p.options.Seconds == 0:
		return Result{}, errors.New("a single row does not contain the length of its interval: set it with --seconds, or measure more rows")
	case p.rows == 1:
		if err := p.interval(p.first, p.options.Seconds); err != nil {
			return Result{}, err
		}
	}
	r, err := p.summary("run pcm-memory with the permission to read the counters (root), on bare metal")
	if err != nil {
		return Result{}, err
	}
	isNear := func(name string) bool { return strings.HasPrefix(strings.TrimSpace(name), "NM ") }
	if r.Total() == 0 && slices.ContainsFunc(p.names, isNear) {
		return Result{}, errors.New("pcm-memory -mm counts hits of the near memory and no bandwidth: measure again without -mm")
	}
	r.Tool = "pcm-memory"
	if p.rows > 1 {
		r.Warnings = append(r.Warnings, "pcm-memory does not say how long the first interval was: taken to be as long as the second")
	}
	return r, nil
}
