package imports

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bandmate.dev/bandmate/profiler/pmu/catalog"
	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// record is one line of perf stat in either format.
type record struct {
	// time is the end of the interval in seconds; absent without -I.
	time    float64
	timed   bool
	where   string // S0, S0-D1, N0, CPU3, …; empty for the whole machine
	event   string
	unit    string
	value   float64
	missing string // why there is no value; empty when there is one
	// empty is true for a place without a counter. Perf before 6.3 prints one for each
	// core, die or node, with the number of counters 0.
	empty bool
	// running is the percentage of the time the event was counted; absent in
	// some versions.
	running *float64
}

func (r record) String() string {
	if r.where == "" {
		return show(r.event)
	}
	return show(r.event) + " at " + show(r.where)
}

var errCutOff = errors.New("the last line is cut off: the file is truncated; remove this line, and with -I all of its time")

// foreign is the error about a line that perf did not write.
func foreign(line, option string) error {
	return fmt.Errorf("%s is no line of perf stat %s: remove what the program printed (perf stat -o FILE keeps it apart)", show(line), option)
}

// counter is one event at one place.
type counter struct{ where, event string }

// counterReading is what a counter counted in the interval.
type counterReading struct {
	place
	event *event
	unit  string
	bytes float64 // mean over the lines
	lines int
	why   string // no value
}

const (
	// maxCounters bounds the memory of an interval.
	maxCounters = 1 << 16
	// maxName bounds the name of an event and its place, in bytes.
	maxName = 1024
	// fullyCounted is the percentage from which multiplexing is a rounding.
	fullyCounted = 99.5
)

// perfReader turns records into a series. It knows one interval at a time.
type perfReader struct {
	series
	in      *lines
	options Options
	// parse reads a line; false for one without an event.
	parse func(line string) (record, bool, error)

	events   *dictionary
	counters map[counter]counterReading // of the interval
	expected map[counter]counterReading // of the first interval
	order    []counter                  // those of the chosen family
	chosen   family
	apart    map[family]bool
	others   map[string]bool // names of other events
	timed    bool
	records  int
	until    float64 // the end of the interval
	elapsed  float64 // wall time in the file; 0 is unknown
	leastRun float64 // percentage
	averaged string  // an event that appeared more than once
}

func newPerfReader(in *lines, o Options, parse func(string) (record, bool, error)) reader {
	return &perfReader{
		series: newSeries(), in: in, options: o, parse: parse, events: &dictionary{devices: catalogEvents(), tables: tableEvents(), found: map[string]*event{}}, leastRun: 100,
		counters: map[counter]counterReading{}, others: map[string]bool{}, apart: map[family]bool{},
	}
}

var (
	elapsedLine = regexp.MustCompile(`^\s*([0-9.,]+) +seconds time elapsed`)
	otherLine   = regexp.MustCompile(`^\s*[0-9.,]+ +seconds (user|sys)\b`)
)

// isPerfComment reports whether perf wrote the line for people: `# started on
// …` of -o, headings, blank lines.
func isPerfComment(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#") || elapsedLine.MatchString(line) || otherLine.MatchString(line)
}

func (p *perfReader) line(text string) error {
	if m := elapsedLine.FindStringSubmatch(text); m != nil {
		p.elapsed, _ = number(m[1])
	}
	if isPerfComment(text) {
		return nil
	}
	p.in.at = p.in.number
	r, ok, err := p.parse(text)
	if err != nil || !ok || r.empty && r.missing != "" {
		return err
	}
	if err := p.follow(r); err != nil {
		return err
	}
	switch e := p.events.find(r.event); {
	case r.event == "duration_time", r.event == "tool/duration_time/":
		return p.duration(r)
	case e != nil:
		return p.count(r, e)
	case len(p.others) < maxRemembered:
		p.others[r.event] = true
	}
	return nil
}

// follow begins the interval of a record when it is another one.
func (p *perfReader) follow(r record) error {
	again := p.records > 0
	switch {
	case len(r.event)+len(r.where) > maxName:
		return fmt.Errorf("%s is longer than the name of an event: the line is damaged; remove it", show(r.event))
	case again && r.timed != p.timed:
		return errors.New("lines with and without a time are mixed: the file holds two measurements; import them one by one")
	case again && r.timed && r.time < p.until:
		return fmt.Errorf("the time goes back from %v s to %v s: the file holds two measurements; import them one by one", p.until, r.time)
	case again && r.timed && r.time > p.until:
		if err := p.close(); err != nil {
			return err
		}
	}
	if r.timed && !(r.time > p.at) {
		return fmt.Errorf("the time %v s does not follow %v s: want the lines as perf wrote them", r.time, p.at)
	}
	p.records++
	p.timed, p.until = r.timed, r.time
	return nil
}

// duration takes the wall time. With aggregation perf repeats it by place.
func (p *perfReader) duration(r record) error {
	switch {
	case r.missing != "" || r.timed:
	case r.unit != "ns" && r.unit != "":
		return fmt.Errorf("duration_time in %s: want ns", show(r.unit))
	default:
		p.elapsed = max(p.elapsed, r.value*time.Nanosecond.Seconds())
	}
	return nil
}

// count adds a record of a memory event.
func (p *perfReader) count(r record, e *event) error {
	key := counter{r.where, r.event}
	n := counterReading{place: placeOf(r.where), event: e, unit: r.unit, why: r.missing, lines: 1}
	if r.missing == "" {
		size, isSize := sysfs.UnitBytes(r.unit)
		switch {
		case r.value < 0:
			return fmt.Errorf("%s counted %v: want 0 or more", show(r.event), r.value)
		case r.unit == "":
			size = e.bytesPerCount
		case !isSize:
			return fmt.Errorf("%s in %s: want bytes, KiB, MiB or GiB, or plain counts", show(r.event), show(r.unit))
		}
		n.bytes = r.value * size // perf has scaled it for multiplexing
		if r.running != nil && *r.running >= 0 {
			p.leastRun = min(p.leastRun, *r.running)
		}
	}
	if before, again := p.counters[key]; again {
		if !isOneBox(r.event) {
			return fmt.Errorf("%s appears twice: counted twice, or channels of one name; give the event once, and --no-merge for channels", r)
		}
		p.averaged = r.event
		n.why = cmp.Or(before.why, n.why)
		n.lines += before.lines
		n.bytes = before.bytes + (n.bytes-before.bytes)/float64(n.lines)
	} else if len(p.counters) >= maxCounters {
		return fmt.Errorf("more than %d counters in one interval: aggregate with --per-node", maxCounters)
	}
	if first, known := p.expected[key]; p.expected != nil && !known {
		return fmt.Errorf("%s appears at %v s for the first time: the start of the file is missing, or the CPUs changed; remove the lines before this interval", r, r.time)
	} else if known && first.why == "" && r.missing == "" && (first.unit == "") != (r.unit == "") {
		return fmt.Errorf("the unit of %s changes from %s to %s: the file was assembled from several; import them one by one", show(r.event), show(first.unit), show(r.unit))
	}
	p.counters[key] = n
	return nil
}

var placeName = regexp.MustCompile(`^([SN])(\d{1,6})(?:-|$)`)

// placeOf reads the socket of S0 or S0-D1-C2, the NUMA node of N0.
func placeOf(where string) place {
	m := placeName.FindStringSubmatch(where)
	if m == nil {
		return place{}
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return place{}
	}
	if m[1] == "N" {
		return place{node, n}
	}
	return place{socket, n}
}

// close ends the interval.
func (p *perfReader) close() error {
	if p.expected == nil {
		if err := p.choose(); err != nil {
			return err
		}
	}
	defer clear(p.counters)
	if why := p.incomplete(); why != "" {
		p.gap(p.until, why)
		return nil
	}
	places := map[place]flow{}
	for _, key := range p.order {
		n := p.counters[key]
		places[n.place] = places[n.place].add(flowOf(n.event.kind, n.bytes))
	}
	return p.add(p.until, places)
}

// incomplete says why the interval is a gap; empty for a complete interval.
func (p *perfReader) incomplete() string {
	for _, key := range p.order {
		switch n, ok := p.counters[key]; {
		case !ok:
			return "without " + show(key.event)
		case n.why != "":
			return n.why + ": " + show(key.event)
		}
	}
	return ""
}

// choose decides in the first interval which counters are summed.
func (p *perfReader) choose() error {
	seen := map[family]*coverage{}
	for key, n := range p.counters {
		c := seen[n.event.family]
		if c == nil {
			c = &coverage{seen: map[catalog.Kind]bool{}, spellings: map[string]string{}}
			seen[n.event.family] = c
		}
		c.add(key.event, n)
	}
	f, err := p.chooseFamily(seen)
	if err != nil {
		return err
	}
	if err := seen[f].ambiguous(); err != nil {
		return err
	}
	p.chosen = f
	p.expected = maps.Clone(p.counters)
	for key, n := range p.counters {
		if n.event.family == f {
			p.order = append(p.order, key)
		} else {
			p.apart[n.event.family] = true
		}
	}
	slices.SortFunc(p.order, func(a, b counter) int {
		return cmp.Or(cmp.Compare(a.where, b.where), cmp.Compare(a.event, b.event))
	})
	return nil
}

// coverage is what the counters of a family see.
type coverage struct {
	seen      map[catalog.Kind]bool
	counted   bool              // any value at all
	spellings map[string]string // an event of each
}

func (c *coverage) add(event string, n counterReading) {
	c.seen[n.event.kind] = true
	c.counted = c.counted || n.why == ""
	if s := n.event.spelling; s != "" {
		c.spellings[s] = max(c.spellings[s], event)
	}
}

func (c *coverage) complete() bool {
	return c.seen[catalog.Total] || c.seen[catalog.Read] && c.seen[catalog.Write]
}

// ambiguous returns an error where the same traffic is counted under two names.
func (c *coverage) ambiguous() error {
	if len(c.spellings) < 2 {
		return nil
	}
	names := slices.Sorted(maps.Values(c.spellings))
	return fmt.Errorf("%s and %s count the same traffic: measure again with one of them", show(names[0]), show(names[1]))
}

func (p *perfReader) chooseFamily(seen map[family]*coverage) (family, error) {
	for _, counted := range []bool{true, false} {
		for _, f := range preference() {
			if c := seen[f]; c != nil && c.complete() && c.counted == counted {
				return f, nil
			}
		}
	}
	for _, f := range preference() {
		if c := seen[f]; c != nil {
			have, lack := "reads", "writes"
			if c.seen[catalog.Write] {
				have, lack = lack, have
			}
			return "", fmt.Errorf("%s were counted and no %s: measure both in one run, for example -e uncore_imc/cas_count_read/,uncore_imc/cas_count_write/", have, lack)
		}
	}
	return "", fmt.Errorf("no event of the memory controller is known among %s: measure for example -e uncore_imc/cas_count_read/,uncore_imc/cas_count_write/ (perf list shows what this machine has)", some(p.others))
}

// end closes the last interval and sums up.
func (p *perfReader) end() (Result, error) {
	if p.records == 0 {
		return Result{}, errors.New("no line of counts: the file is truncated, or perf ended before it printed them")
	}
	if !p.timed {
		p.until = cmp.Or(p.elapsed, p.options.Seconds)
		if !(p.until > 0) {
			return Result{}, errors.New("the file does not hold the wall time: give it with --seconds, or measure again with -e duration_time or -I 1000 added")
		}
	}
	if err := p.close(); err != nil {
		return Result{}, err
	}
	r, err := p.summary("count fewer events at a time, with the permission to count for the whole machine (-a)")
	if err != nil {
		return Result{}, err
	}
	r.Tool = "perf stat"
	r.Counters.LeastRunningShare = p.leastRun / 100
	if !p.timed {
		r.Timeline = nil
	}
	r.Warnings = append(r.Warnings, p.doubts()...)
	return r, nil
}

func (p *perfReader) doubts() []string {
	var w []string
	boxes := map[string]bool{}
	for _, key := range p.order {
		box, _, _ := strings.Cut(key.event, "/")
		boxes[box] = true
		if caution := p.expected[key].event.caution; caution != "" && !slices.Contains(w, caution) {
			w = append(w, caution)
		}
	}
	if !p.timed && p.elapsed == 0 {
		w = append(w, "the wall time was given by hand: the bandwidth is as right as it")
	}
	if p.leastRun < fullyCounted {
		w = append(w, fmt.Sprintf("the counters were multiplexed, at worst counted %.0f%% of the time: perf scaled the values up", p.leastRun))
	}
	if p.averaged != "" {
		w = append(w, fmt.Sprintf("%s was counted more than once: the mean is taken", show(p.averaged)))
	}
	if len(boxes) == 1 && isOneBox(p.order[0].event) {
		w = append(w, fmt.Sprintf("only %s was counted: the traffic of other memory controllers, if there are any, is missing", some(boxes)))
	}
	for _, f := range slices.Sorted(maps.Keys(p.apart)) {
		w = append(w, fmt.Sprintf("the counters of %s are left out: they see other memory than those of %s, or the same traffic", f, p.chosen))
	}
	if len(p.others) > 0 {
		w = append(w, "left out, no known events of a memory controller: "+some(p.others))
	}
	return w
}

// some names a few of a set.
func some(names map[string]bool) string {
	if len(names) == 0 {
		return "none"
	}
	sorted := slices.Sorted(maps.Keys(names))
	shown := make([]string, 0, maxNamed+1)
	for _, name := range sorted[:min(maxNamed, len(sorted))] {
		shown = append(shown, show(name))
	}
	if more := len(sorted) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, ", ")
}
