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
	"regexp"
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

// Expand returns the names that a list stands for, in its order and as often as
// they are named. An empty list has none. An error that is not ErrTooMany quotes the
// list and says at which byte, from 0, it went wrong.
func Expand(list string) ([]string, error) {
	var names, found []string // found are those of the entry so far
	for at := 0; at < len(list); {
		if list[at] == ',' {
			names, found = append(names, found...), nil
			at++
			continue
		}
		if found == nil {
			found = []string{""}
		}
		part, size, err := segment(list[at:])
		if err == nil && len(names)+len(found)*len(part) > Most {
			err = ErrTooMany
		}
		if err != nil {
			return nil, fmt.Errorf("host list %q: at byte %d: %w", shortened(list), at, err)
		}
		found = combine(found, part)
		at += size
	}
	return append(names, found...), nil
}

// shortened cuts a list for a message.
func shortened(list string) string {
	const most = 60
	if len(list) > most {
		return list[:most] + "…"
	}
	return list
}

// literal is text of a name without brackets.
var literal = regexp.MustCompile(`^[A-Za-z0-9._-]+`)

// segment returns what the text begins with, literal text or the numbers of a
// bracket, and how many bytes that takes.
func segment(text string) (part []string, size int, err error) {
	if name := literal.FindString(text); name != "" {
		return []string{name}, len(name), nil
	}
	if text[0] != '[' {
		return nil, 0, fmt.Errorf("%q cannot be in a node name: want letters, digits, dots, dashes, underscores", text[0])
	}
	inside, _, closed := strings.Cut(text[1:], "]")
	if !closed {
		return nil, 0, errors.New("the bracket is not closed")
	}
	for numbers := range strings.SplitSeq(inside, ",") {
		low, high, isRange := strings.Cut(numbers, "-")
		if !isRange {
			high = low
		}
		if part, err = count(part, low, high); err != nil {
			return nil, 0, err
		}
	}
	return part, len(inside) + len("[]"), nil
}

// count appends the numbers from low to high, as wide as low.
func count(numbers []string, low, high string) ([]string, error) {
	first, err := strconv.ParseUint(low, 10, 63)
	last, err2 := strconv.ParseUint(high, 10, 63)
	switch {
	case err != nil, err2 != nil, max(len(low), len(high)) > mostDigits:
		return nil, fmt.Errorf("%q to %q in a bracket: want numbers of 1 to %d digits, and ranges", low, high, mostDigits)
	case last < first:
		return nil, fmt.Errorf("the range %s-%s goes backwards", low, high)
	case last-first >= uint64(Most-len(numbers)):
		return nil, ErrTooMany
	}
	for n := first; n <= last; n++ {
		numbers = append(numbers, fmt.Sprintf("%0*d", len(low), n))
	}
	return numbers, nil
}

// combine returns every name with every part behind it.
func combine(names, parts []string) []string {
	all := slices.Grow([]string(nil), len(names)*len(parts))
	for _, name := range names {
		for _, part := range parts {
			all = append(all, name+part)
		}
	}
	return all
}
