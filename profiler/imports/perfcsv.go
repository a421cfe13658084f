package imports

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"bandmate.dev/bandmate/profiler/pmu/sysfs"
)

// A file of `perf stat -x, -I 200 --per-socket`, perf 6.1:
//
//	0.201551410,S0,1,2307.16,MiB,uncore_imc/cas_count_read/,419996387,100.00,,
//	0.201551410,S0,1,897.35,MiB,uncore_imc/cas_count_write/,420061425,100.00,,
//
// time (-I), place and number of counters (--per-socket, --per-node) or CPU
// (-A), count, unit, event, nanoseconds counted, percentage counted, metric and
// its unit. See the section "CSV format" of perf-stat(1).
func newPerfCSV(in *lines, o Options) reader {
	separator, most := "", 0
	return newPerfReader(in, o, func(line string) (record, bool, error) {
		if separator == "" {
			if fault := decimalComma(line); fault != nil {
				return record{}, false, fault
			}
			if separator = findSeparator(line); separator == "" {
				return record{}, false, foreign(line, "-x")
			}
		}
		fields := strings.Split(strings.TrimLeft(line, " "), separator) // blanks align the time of -I
		if !in.whole && len(fields) < most {
			return record{}, false, errCutOff
		}
		if fields[0] == "summary" { // of --summary: the sum of the intervals
			return record{}, false, nil
		}
		most = max(most, len(fields))
		r, ok, err := perfFields(fields, separator)
		if err != nil {
			return record{}, false, fmt.Errorf("%w: %w", foreign(line, "-x"), err)
		}
		return r, ok, nil
	})
}

var (
	perfTime  = regexp.MustCompile(`^\d+\.\d{9}$`)
	perfPlace = regexp.MustCompile(`^(?:S\d+(?:-[A-Z][A-Z0-9]*\d+)*|N\d+|CPU\d+)$`)
	perfStart = regexp.MustCompile(`^(?:\d+(?:[.,]\d+)?|<not supported>|<not counted>|S\d+(?:-[A-Z][A-Z0-9]*\d+)*|N\d+|CPU\d+)([^0-9A-Za-z.<]+)`)
)

const (
	// maxSeparator and maxTerms bound the search, in bytes and in fields.
	maxSeparator = 16
	maxTerms     = 32
)

// findSeparator returns what separates the fields of a line; empty when it is
// no line of counts.
func findSeparator(line string) string {
	line = strings.TrimLeft(line, " ")
	m := perfStart.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	// An empty field makes a separator appear twice in a row.
	run := m[1]
	for i := 1; i <= min(len(run), maxSeparator); i++ {
		if separates(run[:i], line) {
			return run[:i]
		}
	}
	return ""
}

// separates reports whether a line of counts results. The percentage of the
// time counted, which every perf since 2013 prints, tells it from any other.
func separates(separator, line string) bool {
	r, ok, err := perfFields(strings.Split(line, separator), separator)
	return ok && err == nil && r.running != nil
}

// decimalComma recognizes numbers like 10380,38 beside the separator ','.
func decimalComma(line string) error {
	fields := strings.Split(line, ",")
	for i := range fields[:max(len(fields)-2, 0)] {
		_, unit := sysfs.UnitBytes(fields[i+2])
		if unit && isDigits(fields[i]) && isDigits(fields[i+1]) && len(fields[i+1]) == 2 {
			return fmt.Errorf("%s holds decimal commas, which the separator ',' hides: measure again with LC_ALL=C or -x';'", show(line))
		}
	}
	return nil
}

func isDigits(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// isMetricOnly recognizes a line of a metric only, as perf prints it below its event: at
// least three empty fields stand for the count, the unit and the event. Old versions put one
// more before the place.
//
//	S0,1,,,,,,,2.00,stalled cycles per insn
func isMetricOnly(fields []string) bool {
	empty := 0
	for _, text := range fields {
		switch text = strings.TrimSpace(text); {
		case text == "":
			if empty++; empty == 3 {
				return true
			}
		case perfTime.MatchString(text), perfPlace.MatchString(text), isDigits(text):
			empty = 0
		default:
			return false
		}
	}
	return false
}

// perfFields reads one line; false for a line of a metric only.
func perfFields(fields []string, separator string) (r record, ok bool, err error) {
	if isMetricOnly(fields) {
		return r, false, nil
	}
	rest := fields
	if text := strings.TrimSpace(rest[0]); perfTime.MatchString(text) {
		r.timed = true
		if r.time, err = strconv.ParseFloat(text, 64); err != nil {
			return r, false, fmt.Errorf("time %s: want seconds", show(text))
		}
		rest = rest[1:]
	}
	if len(rest) > 0 && perfPlace.MatchString(strings.TrimSpace(rest[0])) {
		r.where = strings.TrimSpace(rest[0])
		rest = rest[1:]
		// The number of counters that were summed, except with -A.
		if len(rest) > 3 && isDigits(strings.TrimSpace(rest[0])) && isCount(rest[1]) && !strings.HasPrefix(r.where, "CPU") {
			r.empty = strings.TrimSpace(rest[0]) == "0"
			rest = rest[1:]
		}
	}
	if len(rest) < 3 {
		return r, false, fmt.Errorf("want a count, a unit and an event")
	}
	event, after := joinEvent(rest[2:], separator)
	r.unit, r.event = unitName(rest[1]), event
	if _, unit := sysfs.UnitBytes(r.event); unit || !strings.ContainsFunc(r.event, unicode.IsLetter) {
		return r, false, fmt.Errorf("event %s: want a name", show(r.event))
	}
	if why, absent := absence(rest[0]); absent {
		r.missing = why
	} else if r.value, ok = number(rest[0]); !ok {
		return r, false, fmt.Errorf("count %s: want a number", show(rest[0]))
	}
	r.running = running(after)
	return r, true, nil
}

func isCount(text string) bool {
	_, absent := absence(text)
	_, ok := number(text)
	return strings.TrimSpace(text) != "" && (absent || ok)
}

func unitName(text string) string {
	if text = strings.TrimSpace(text); text == "(null)" {
		return ""
	}
	return text
}

// joinEvent puts an event together whose terms hold the separator, as
// `uncore_imc_0/event=0x04,umask=0x03/` with ','.
func joinEvent(fields []string, separator string) (event string, after []string) {
	event = fields[0]
	n := 1
	for strings.Count(event, "/") == 1 && n < min(len(fields), maxTerms) {
		event += separator + fields[n]
		n++
	}
	if strings.Count(event, "/") == 1 {
		// No end: the slash belongs to the name.
		return strings.TrimSpace(fields[0]), fields[1:]
	}
	return strings.TrimSpace(event), fields[n:]
}

// running finds the percentage behind the nanoseconds; a cgroup and a variance
// may stand before them.
func running(fields []string) *float64 {
	for i := 0; i+1 < min(len(fields), 4); i++ {
		share, ok := number(fields[i+1])
		if isDigits(strings.TrimSpace(fields[i])) && ok && share >= 0 && share <= 100 && strings.ContainsAny(fields[i+1], ".,") {
			return &share
		}
	}
	return nil
}
