package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/units"
)

// MaxAnnotationBytes bounds an annotation; a longer one is refused unread.
const MaxAnnotationBytes = 1024

var errTooLong = fmt.Errorf("want at most %d bytes", MaxAnnotationBytes)

// ParseMaxSlowdown reads the value of MaxSlowdownAnnotation: a decimal number,
// 1 to 1000.
func ParseMaxSlowdown(text string) (units.Slowdown, error) {
	v, err := parseNumber(text)
	if err != nil || !(v >= 1 && v <= 1000) {
		return 0, fmt.Errorf("%s %q: want a slowdown of 1 to 1000, such as 1.15", MaxSlowdownAnnotation, shorten(text))
	}
	return units.Slowdown(v), nil
}

// MinRequestsPerSecond and MaxRequestsPerSecond bound a load.
const (
	MinRequestsPerSecond = 1e-6
	MaxRequestsPerSecond = 1e9
)

// ParseLoad reads the value of LoadAnnotation: a decimal number of requests per second,
// MinRequestsPerSecond to MaxRequestsPerSecond.
func ParseLoad(text string) (float64, error) {
	v, err := parseNumber(text)
	if err != nil || !(v >= MinRequestsPerSecond && v <= MaxRequestsPerSecond) {
		return 0, fmt.Errorf("%s %q: want requests per second, 1e-6 to 1e9, such as 20000", LoadAnnotation, shorten(text))
	}
	return v, nil
}

// ParseMaxP99 reads the value of MaxP99Annotation: a duration as of time.ParseDuration,
// above 0.
func ParseMaxP99(text string) (time.Duration, error) {
	if len(text) <= MaxAnnotationBytes {
		if v, err := time.ParseDuration(text); err == nil && v > 0 {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%s %q: want a duration above 0, such as 2ms", MaxP99Annotation, shorten(text))
}

// ParseNUMANode reads the value of NUMANodeAnnotation: a whole number, 0 to 4095.
func ParseNUMANode(text string) (int, error) {
	v, err := parseNumber(text)
	if err != nil || v != math.Trunc(v) || !(v >= 0 && v <= 4095) {
		return 0, fmt.Errorf("%s %q: want the number of a NUMA node, such as 0", NUMANodeAnnotation, shorten(text))
	}
	return int(v), nil
}

func parseNumber(text string) (float64, error) {
	if len(text) > MaxAnnotationBytes {
		return 0, errTooLong
	}
	// ParseFloat also accepts 0x1p-2, inf and 1_0.
	if strings.ContainsFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }) {
		return 0, errors.New("not a decimal number")
	}
	return strconv.ParseFloat(text, 64)
}

// shorten bounds a value that messages and logs quote.
func shorten(text string) string {
	const enough = 40
	if len(text) <= enough {
		return text
	}
	return text[:enough] + "…"
}

// MeasuredTraffic is the traffic that a node agent measured at all memory
// controllers of a node together.
//
// +kubebuilder:object:generate=false
type MeasuredTraffic struct {
	// ReadBytesPerSecond and WriteBytesPerSecond are means over the agent's
	// interval, finite and 0 or more.
	ReadBytesPerSecond  float64 `json:"readBytesPerSecond"`
	WriteBytesPerSecond float64 `json:"writeBytesPerSecond"`
	// Start and Time are the ends of the interval. Start is zero where it is not known: an
	// agent of an earlier version does not say it.
	Start metav1.Time `json:"start,omitzero"`
	Time  metav1.Time `json:"time"`
}

// Traffic returns the rates as a quantity.
func (m MeasuredTraffic) Traffic() units.Traffic {
	return units.Traffic{Read: units.Bandwidth(m.ReadBytesPerSecond), Write: units.Bandwidth(m.WriteBytesPerSecond)}
}

// ParseMeasuredTraffic reads the value of MeasuredTrafficAnnotation:
//
//	{"readBytesPerSecond":3.1e9,"writeBytesPerSecond":1.2e9,"start":"2026-11-20T08:59:45Z","time":"2026-11-20T09:00:00Z"}
//
// A missing rate or time, a rate that is no bandwidth, and a start after the time are
// errors. The start may be missing.
func ParseMeasuredTraffic(text string) (MeasuredTraffic, error) {
	var read struct {
		Read  *float64     `json:"readBytesPerSecond"`
		Write *float64     `json:"writeBytesPerSecond"`
		Start metav1.Time  `json:"start"`
		Time  *metav1.Time `json:"time"`
	}
	fail := func(err error) (MeasuredTraffic, error) {
		return MeasuredTraffic{}, fmt.Errorf("%s %q: %w", MeasuredTrafficAnnotation, shorten(text), err)
	}
	if len(text) > MaxAnnotationBytes {
		return fail(errTooLong)
	}
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		return fail(err)
	}
	switch {
	case read.Read == nil || read.Write == nil:
		return fail(errors.New("want readBytesPerSecond and writeBytesPerSecond"))
	case read.Time == nil || read.Time.IsZero():
		return fail(errors.New("want a time"))
	case read.Start.After(read.Time.Time):
		return fail(errors.New("want a start that is not after the time"))
	}
	for _, v := range []float64{*read.Read, *read.Write} {
		if !(v >= 0 && v <= MaxBytesPerSecond) {
			return fail(errors.New(wantTraffic))
		}
	}
	return MeasuredTraffic{*read.Read, *read.Write, read.Start, *read.Time}, nil
}

// MaxExclusiveCPUsBytes bounds ExclusiveCPUsAnnotation, which is longer than others.
const MaxExclusiveCPUsBytes = 32 << 10

// maxExclusiveCPUs bounds the CPUs of all lists together: short lists may hold millions.
const maxExclusiveCPUs = 10000

// exclusiveCPUs is a kernel CPU list of numbers of up to four digits.
var exclusiveCPUs = regexp.MustCompile(`^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*$`)

// ParseExclusiveCPUs reads the value of ExclusiveCPUsAnnotation, of at most 10,000 CPUs in
// all lists together:
//
//	{"0d9c8b7a-…":"2-3","5e4f3a2b-…":"4,6"}
func ParseExclusiveCPUs(text string) (map[string]string, error) {
	fail := func(err error) (map[string]string, error) {
		return nil, fmt.Errorf("%s %q: %w", ExclusiveCPUsAnnotation, shorten(text), err)
	}
	if len(text) > MaxExclusiveCPUsBytes {
		return fail(fmt.Errorf("want at most %d bytes", MaxExclusiveCPUsBytes))
	}
	var byPod map[string]string
	if err := json.Unmarshal([]byte(text), &byPod); err != nil {
		return fail(err)
	}
	total := 0
	for pod, list := range byPod {
		if pod == "" || !exclusiveCPUs.MatchString(list) {
			return fail(errors.New("want kernel CPU lists, such as 2-3,6, by the UID of the pod"))
		}
		if total += CountCPUs(list); total > maxExclusiveCPUs {
			return fail(fmt.Errorf("want at most %d CPUs", maxExclusiveCPUs))
		}
	}
	return byPod, nil
}

// CountCPUs adds up the sizes of the ranges of a kernel CPU list of digits, commas and
// hyphens, without making a set of them: short lists may hold millions.
func CountCPUs(list string) int {
	total := 0
	for item := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		low, _ := strconv.Atoi(first) // exclusiveCPUs matches digits only
		high, _ := strconv.Atoi(last)
		total += max(high-low+1, 1)
	}
	return total
}
