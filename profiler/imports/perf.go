package imports

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// perfTool is the Tool of both perf formats.
const perfTool = "perf stat"

// record is one line of perf stat in either format.
type record struct {
	line int
	// time is the end of the interval in seconds; absent without -I.
	time    float64
	timed   bool
	where   string // S0, S0-D1, N0, CPU3, …; empty for the whole machine
	event   string
	unit    string
	value   float64
	missing string // why there is no value; empty when there is one
	// running is the percentage of the time the event was counted; absent in
	// some versions.
	running *float64
}

// Words that perf prints in place of a count.
func absence(text string) (why string, absent bool) {
	switch text = strings.TrimSpace(text); text {
	case "<not supported>", "<not counted>":
		return strings.Trim(text, "<>"), true
	case "(null)", "":
		return "no value", true
	}
	return "", false
}

// unitBytes returns the size of a unit that perf scales a count to.
func unitBytes(unit string) (bytes float64, ok bool) {
	switch unit {
	case "B", "Bytes", "bytes":
		return 1, true
	case "KiB":
		return 1 << 10, true
	case "MiB":
		return 1 << 20, true
	case "GiB":
		return 1 << 30, true
	case "KB", "kB":
		return 1e3, true
	case "MB":
		return 1e6, true
	case "GB":
		return 1e9, true
	}
	return 0, false
}

// counter is one event at one place.
type counter struct{ where, event string }

// reading is what a counter counted in the interval.
type reading struct {
	place
	event *event
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
	in       *lines
	options  Options
	events   *dictionary
	series   *series
	counters map[counter]reading // of the interval
	expected map[counter]bool    // of the first interval
	order    []counter           // those of the chosen family
	chosen   family
	units    map[string]string // of an event
	others   map[string]bool   // names that are no memory events
	cautions map[string]bool
	apart    map[family]bool
	boxes    map[string]bool
	timed    bool
	records  int
	end      float64 // of the interval
	line     int     // of the latest record
	elapsed  float64 // wall time in the file; 0 is unknown
	leastRun float64 // percentage
	averaged string  // an event that appeared more than once
}

func newPerfReader(in *lines, o Options) *perfReader {
	return &perfReader{
		in: in, options: o, events: newDictionary(), series: newSeries(), leastRun: 100,
		counters: map[counter]reading{}, units: map[string]string{}, others: map[string]bool{},
		cautions: map[string]bool{}, apart: map[family]bool{}, boxes: map[string]bool{},
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

// read feeds every line to parse and finishes.
func (p *perfReader) read(parse func(line string) (record, bool, error)) (Result, error) {
	for {
		line, err := p.in.next()
		if errors.Is(err, io.EOF) {
			return p.finish()
		}
		if err != nil {
			return Result{}, err
		}
		if m := elapsedLine.FindStringSubmatch(line); m != nil {
			p.elapsed, _ = number(m[1])
		}
		if isPerfComment(line) {
			continue
		}
		r, ok, err := parse(line)
		if err != nil {
			return Result{}, err
		}
		if !ok {
			continue
		}
		r.line = p.in.number
		if err := p.take(r); err != nil {
			return Result{}, p.in.errorAt(r.line, "%w", err)
		}
	}
}

// take adds one record to the interval it belongs to.
func (p *perfReader) take(r record) error {
	if len(r.event)+len(r.where) > maxName {
		return fmt.Errorf("%s is longer than the name of an event: the line is damaged; remove it", show(r.event))
	}
	if p.records > 0 && r.timed != p.timed {
		return errors.New("lines with and without a time are mixed: the file holds two measurements; import them one by one")
	}
	if r.timed && p.records > 0 && r.time < p.end {
		return fmt.Errorf("the time goes back from %v s to %v s: the file holds two measurements; import them one by one", p.end, r.time)
	}
	if r.timed && p.records > 0 && r.time > p.end {
		if err := p.close(); err != nil {
			return err
		}
	}
	if r.timed && !(r.time > p.series.at) {
		return fmt.Errorf("the time %v s does not follow %v s: want the lines as perf wrote them", r.time, p.series.at)
	}
	p.records++
	p.timed, p.end, p.line = r.timed, r.time, r.line
	if isDuration(r.event) {
		return p.duration(r)
	}
	e := p.events.find(r.event)
	if e == nil {
		if len(p.others) < maxRemembered {
			p.others[r.event] = true
		}
		return nil
	}
	return p.count(r, e)
}

func isDuration(event string) bool {
	return event == "duration_time" || event == "tool/duration_time/"
}

// duration takes the wall time. With aggregation perf repeats it by place.
func (p *perfReader) duration(r record) error {
	if r.missing != "" || r.timed {
		return nil
	}
	switch r.unit {
	case "ns", "":
		p.elapsed = max(p.elapsed, r.value*time.Nanosecond.Seconds())
	default:
		return fmt.Errorf("duration_time in %s: want ns", show(r.unit))
	}
	return nil
}

// count adds a record of a memory event.
func (p *perfReader) count(r record, e *event) error {
	if len(p.boxes) < maxRemembered {
		box, _, _ := strings.Cut(r.event, "/")
		p.boxes[box] = true
	}
	if e.caution != "" {
		p.cautions[e.caution] = true
	}
	key := counter{r.where, r.event}
	old, again := p.counters[key]
	n := reading{place: placeOf(r.where), event: e, why: r.missing, lines: 1}
	if r.missing == "" {
		bytes, err := p.bytes(r, e)
		if err != nil {
			return err
		}
		n.bytes = bytes
		if r.running != nil && *r.running >= 0 {
			p.leastRun = min(p.leastRun, *r.running)
		}
	}
	if again {
		if !isOneBox(r.event) {
			return fmt.Errorf("%s appears twice%s: counted twice, or channels of one name; give the event once, and --no-merge for channels", show(r.event), at(r))
		}
		p.averaged = r.event
		if old.why != "" || n.why != "" {
			n.why = cmp.Or(old.why, n.why)
		} else {
			n.lines = old.lines + 1
			n.bytes = old.bytes + (n.bytes-old.bytes)/float64(n.lines)
		}
	}
	if len(p.counters) >= maxCounters && !again {
		return fmt.Errorf("more than %d counters in one interval: aggregate with --per-node", maxCounters)
	}
	if p.expected != nil && !p.expected[key] {
		return fmt.Errorf("%s%s appears at %v s for the first time: the start of the file is missing, or the CPUs changed; remove the lines before this interval", show(r.event), at(r), r.time)
	}
	p.counters[key] = n
	return nil
}

// bytes returns the count as an amount of data. Values are scaled by perf for
// multiplexing already.
func (p *perfReader) bytes(r record, e *event) (float64, error) {
	if r.value < 0 {
		return 0, fmt.Errorf("%s counted %v: want 0 or more", show(r.event), r.value)
	}
	before, seen := p.units[r.event]
	if !seen && len(p.units) < maxRemembered {
		p.units[r.event] = r.unit
	}
	if seen && (before == "") != (r.unit == "") {
		return 0, fmt.Errorf("the unit of %s changes from %s to %s: the file was assembled from several; import them one by one", show(r.event), show(before), show(r.unit))
	}
	if r.unit == "" {
		return r.value * e.bytesPerCount, nil
	}
	size, ok := unitBytes(r.unit)
	if !ok {
		return 0, fmt.Errorf("%s in %s: want bytes, KiB, MiB or GiB, or plain counts", show(r.event), show(r.unit))
	}
	return r.value * size, nil
}

func at(r record) string {
	if r.where == "" {
		return ""
	}
	return " at " + show(r.where)
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
		p.series.gap(p.end, why)
		return nil
	}
	places := map[place]flow{}
	for _, key := range p.order {
		n := p.counters[key]
		places[n.place] = places[n.place].add(n.event.direction.flow(n.bytes))
	}
	return p.series.add(p.end, places)
}

// incomplete says why the interval is a gap; empty when it is none.
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
			c = &coverage{spellings: map[string]string{}}
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
	p.expected = make(map[counter]bool, len(p.counters))
	for key, n := range p.counters {
		p.expected[key] = true
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
	seen      [both + 1]bool
	counted   bool              // any value at all
	spellings map[string]string // an event of each
}

func (c *coverage) add(event string, n reading) {
	c.seen[n.event.direction] = true
	c.counted = c.counted || n.why == ""
	if s := n.event.spelling; s != "" {
		c.spellings[s] = max(c.spellings[s], event)
	}
}

func (c *coverage) complete() bool { return c.seen[both] || c.seen[reads] && c.seen[writes] }

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
			if c.seen[writes] {
				have, lack = lack, have
			}
			return "", fmt.Errorf("%s were counted and no %s: measure both in one run, for example -e uncore_imc/cas_count_read/,uncore_imc/cas_count_write/", have, lack)
		}
	}
	return "", fmt.Errorf("no event of the memory controller is known among %s: measure for example -e uncore_imc/cas_count_read/,uncore_imc/cas_count_write/ (perf list shows what this machine has)", some(p.others))
}

// finish ends the last interval and sums up.
func (p *perfReader) finish() (Result, error) {
	fail := func(err error) (Result, error) { return Result{}, p.in.errorAt(max(p.line, 1), "%w", err) }
	if p.records == 0 {
		return fail(errors.New("no line of counts: the file is truncated, or perf ended before it printed them"))
	}
	if !p.timed {
		p.end = cmp.Or(p.elapsed, p.options.Seconds)
		if !(p.end > 0) {
			return fail(errors.New("the file does not hold the wall time: give it with --seconds, or measure again with -e duration_time or -I 1000 added"))
		}
	}
	if err := p.close(); err != nil {
		return fail(err)
	}
	r, err := p.series.summary()
	if err != nil {
		return fail(fmt.Errorf("%w: count fewer events at a time, with the permission to count for the whole machine (-a)", err))
	}
	r.Tool = perfTool
	r.Counters.LeastRunningShare = p.leastRun / 100
	if p.timed {
		r.Timeline = p.series.timeline()
	}
	r.Warnings = append(r.Warnings, p.warnings()...)
	return r, nil
}

func (p *perfReader) warnings() []string {
	w := slices.Sorted(maps.Keys(p.cautions))
	if !p.timed && p.elapsed == 0 {
		w = append(w, "the wall time was given by hand: the bandwidth is as right as it")
	}
	if p.leastRun < fullyCounted {
		w = append(w, fmt.Sprintf("the counters were multiplexed, at worst counted %.0f%% of the time: perf scaled the values up", p.leastRun))
	}
	if p.averaged != "" {
		w = append(w, fmt.Sprintf("%s was counted more than once: the mean is taken", show(p.averaged)))
	}
	if len(p.boxes) == 1 && isOneBox(p.order[0].event) {
		for box := range p.boxes {
			w = append(w, fmt.Sprintf("only %s was counted: the traffic of other memory controllers, if there are any, is missing", show(box)))
		}
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
