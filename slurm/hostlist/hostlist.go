// Package hostlist reads and writes Slurm's node lists, such as
// "node[01-04,7],login1".
//
// A list is names separated by commas. A name may have bracketed groups of
// numbers and ranges; several groups stand for every combination, the last one
// counting fastest. A range keeps the width of its lower end: [08-10] is 08, 09,
// 10. This is the language of hostlist_create in Slurm's src/common/hostlist.c,
// without its deprecated form node1-4.
package hostlist

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Most bounds how many names a list may stand for; Slurm's own bound for one
// range is 64 Ki.
const Most = 1 << 17

// mostDigits is as many as surely fit an int64.
const mostDigits = 18

// ErrTooMany means that a list stands for more than Most names.
var ErrTooMany = fmt.Errorf("more than %d names", Most)

// SyntaxError is a fault in a list.
type SyntaxError struct {
	List string
	// Offset is the byte at which the list went wrong, from 0.
	Offset int
	Reason string
}

// Error implements error. The list is quoted, and cut when it is long.
func (e *SyntaxError) Error() string {
	const most = 60
	list := e.List
	if len(list) > most {
		list = list[:most] + "…"
	}
	return fmt.Sprintf("host list %q: at byte %d: %s", list, e.Offset, e.Reason)
}

// Expand returns the names that a list stands for, in its order and as often as
// they are named. An empty list has none. The error is a *SyntaxError or
// ErrTooMany.
func Expand(list string) ([]string, error) {
	p := parser{list: list}
	var names []string
	for p.skipCommas(); p.at < len(list); p.skipCommas() {
		segments, err := p.entry()
		if err != nil {
			return nil, err
		}
		if names, err = combine(names, segments); err != nil {
			return nil, fmt.Errorf("host list: %w", err)
		}
	}
	return names, nil
}

// parser walks a list once.
type parser struct {
	list string
	at   int
}

func (p *parser) fault(offset int, reason string) error {
	return &SyntaxError{List: p.list, Offset: offset, Reason: reason}
}

func (p *parser) skipCommas() {
	for p.at < len(p.list) && p.list[p.at] == ',' {
		p.at++
	}
}

// segment is a part of a name: literal text, or one of several numbers.
type segment []string

// entry reads up to the next comma outside brackets.
func (p *parser) entry() ([]segment, error) {
	var segments []segment
	for p.at < len(p.list) && p.list[p.at] != ',' {
		if p.list[p.at] == '[' {
			group, err := p.group()
			if err != nil {
				return nil, err
			}
			segments = append(segments, group)
			continue
		}
		start := p.at
		for p.at < len(p.list) && isNameByte(p.list[p.at]) {
			p.at++
		}
		if p.at == start {
			return nil, p.fault(p.at, fmt.Sprintf("%q cannot be in a node name: want letters, digits, dots, dashes, underscores", p.list[p.at]))
		}
		segments = append(segments, segment{p.list[start:p.at]})
	}
	return segments, nil
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '.' || c == '-' || c == '_'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// group reads a bracket with its numbers and ranges.
func (p *parser) group() (segment, error) {
	open := p.at
	p.at++
	var numbers segment
	for {
		low, err := p.number()
		if err != nil {
			return nil, err
		}
		high := low
		if p.next('-') {
			if high, err = p.number(); err != nil {
				return nil, err
			}
		}
		if numbers, err = count(numbers, low, high); err != nil {
			if errors.Is(err, ErrTooMany) {
				return nil, fmt.Errorf("host list: %w", err)
			}
			return nil, p.fault(open, err.Error())
		}
		switch {
		case p.next(']'):
			return numbers, nil
		case p.next(','):
		case p.at == len(p.list):
			return nil, p.fault(open, "the bracket is not closed")
		default:
			return nil, p.fault(p.at, fmt.Sprintf("%q cannot be in a bracket: want numbers and ranges", p.list[p.at]))
		}
	}
}

func (p *parser) next(c byte) bool {
	if p.at < len(p.list) && p.list[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) number() (string, error) {
	start := p.at
	for p.at < len(p.list) && isDigit(p.list[p.at]) {
		p.at++
	}
	switch digits := p.list[start:p.at]; {
	case digits == "":
		return "", p.fault(start, "a number is missing")
	case len(digits) > mostDigits:
		return "", p.fault(start, fmt.Sprintf("a number of more than %d digits", mostDigits))
	default:
		return digits, nil
	}
}

// count appends the numbers from low to high, as wide as low.
func count(numbers segment, low, high string) (segment, error) {
	first, err := strconv.ParseInt(low, 10, 64)
	if err != nil {
		return nil, err
	}
	last, err := strconv.ParseInt(high, 10, 64)
	if err != nil {
		return nil, err
	}
	switch {
	case last < first:
		return nil, fmt.Errorf("the range %s-%s goes backwards", low, high)
	case last-first >= int64(Most-len(numbers)):
		return nil, ErrTooMany
	}
	numbers = slices.Grow(numbers, int(last-first+1))
	for n := first; n <= last; n++ {
		numbers = append(numbers, fmt.Sprintf("%0*d", len(low), n))
	}
	return numbers, nil
}

// combine appends every combination of the segments.
func combine(names []string, segments []segment) ([]string, error) {
	total := 1
	for _, s := range segments {
		if total *= len(s); total > Most {
			return nil, ErrTooMany
		}
	}
	if len(names)+total > Most {
		return nil, ErrTooMany
	}
	names = slices.Grow(names, total)
	var b strings.Builder
	for i := range total {
		b.Reset()
		stride := total
		for _, s := range segments {
			stride /= len(s)
			b.WriteString(s[i/stride%len(s)])
		}
		names = append(names, b.String())
	}
	return names, nil
}
