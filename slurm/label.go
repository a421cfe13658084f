package slurm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"bandmate.dev/bandmate/units"
)

// The words of a job's comment that Bandmate reads.
const (
	// ApplicationWord is followed by the application's name: bandmate=NAME.
	ApplicationWord = "bandmate"
	// LimitWord is followed by the slowdown the job may suffer at most, as in
	// bandmate-limit=1.15.
	LimitWord = "bandmate-limit"
)

// Label is what a job's comment says to Bandmate.
type Label struct {
	// Application is empty when the comment names none.
	Application string
	// Limit is 0 when the comment sets none.
	Limit units.Slowdown
	// Faults say which words were not understood and do not count.
	Faults []string
}

// ParseLabel reads a comment: words of the form NAME=VALUE between blanks, commas
// and semicolons, of which only those of Bandmate count, and of each the first.
// Comments come from users: what is no name or no number becomes a fault.
func ParseLabel(comment string) Label {
	var l Label
	isBetween := func(r rune) bool { return r == ',' || r == ';' || r == ' ' || (r >= '\t' && r <= '\r') }
	var seen []string
	for word := range strings.FieldsFuncSeq(comment, isBetween) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || (key != ApplicationWord && key != LimitWord) || slices.Contains(seen, key) {
			continue
		}
		seen = append(seen, key)
		switch key {
		case ApplicationWord:
			if !ValidApplication(value) {
				l.Faults = append(l.Faults, fmt.Sprintf("%s=%q cannot be the name of an application", key, value))
				continue
			}
			l.Application = value
		case LimitWord:
			limit, err := parseLimit(value)
			if err != nil {
				l.Faults = append(l.Faults, fmt.Sprintf("%s=%q: %v", key, value, err))
				continue
			}
			l.Limit = limit
		}
	}
	return l
}

// ValidApplication reports whether a profile can have this name: that of a
// Kubernetes object.
func ValidApplication(name string) bool {
	return len(validation.IsDNS1123Subdomain(name)) == 0
}

// parseLimit reads a slowdown such as 1.15 or 1.15x.
func parseLimit(text string) (units.Slowdown, error) {
	number := strings.TrimRight(text, "x×")
	limit, err := strconv.ParseFloat(number, 64)
	if err != nil || !(limit >= 1) || math.IsInf(limit, 0) {
		return 0, errors.New("want a slowdown of 1 or more, such as 1.15")
	}
	return units.Slowdown(limit), nil
}
