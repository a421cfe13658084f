package v1alpha1

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of plausible values. A value outside is far more likely a mistaken
// unit or a damaged file than a measurement.
const (
	// MaxBytesPerSecond, 10 TB/s, is above every memory system of one machine.
	MaxBytesPerSecond = 1e13
	// MinBytesPerSecond, 1 kB/s, is below every bandwidth worth recording: a
	// smaller number is one in GB/s or MB/s.
	MinBytesPerSecond = 1e3
	// MaxNormalizedPerformance allows for noise, which may lift an undisturbed
	// application above one.
	MaxNormalizedPerformance = 1.5
	// MaxLevel bounds the interferers that a curve point may stand for: more do
	// not fit the CPUs beside an application.
	MaxLevel = 64
)

// Limits on the size of a file.
const (
	MaxTimeline      = 10_000
	MaxWarnings      = 100
	MaxStringBytes   = 1024
	maxArgumentBytes = 16 << 10
	maxPhases        = 64
)

const (
	wantTraffic = "want bytes per second, 0 to 1e13"
	wantRate    = "want bytes per second, 1e3 to 1e13 (is this in GB/s?)"
)

// numberRule is a range of numbers; open leaves low out. NaN is in no range.
type numberRule struct {
	low, high float64
	open      bool
	want      string
}

// numberRules are the rules that the tag want of a number may name.
var numberRules = map[string]numberRule{
	"traffic":     {0, MaxBytesPerSecond, false, wantTraffic},
	"rate":        {MinBytesPerSecond, MaxBytesPerSecond, false, wantRate},
	"accesses":    {MinBytesPerSecond, 100 * MaxBytesPerSecond, false, "want bytes per second, 1e3 to 1e15 (is this in GB/s?)"},
	"half-reads":  {0.5, 1, false, "want a share from 0.5 to 1"},
	"loss":        {-MaxBytesPerSecond, MaxBytesPerSecond, false, "want bytes per second, -1e13 to 1e13"},
	"share":       {0, 1, false, "want a share from 0 to 1"},
	"part":        {0, 1, true, "want a share above 0 to 1"},
	"level":       {0, MaxLevel, true, "want a share above 0; 1 is one interferer unpaced, more are several, up to 64"},
	"performance": {0, MaxNormalizedPerformance, true, "want solo time ÷ co-run time, above 0 to 1.5"},
	"speed":       {0, MaxNormalizedPerformance, true, "want bandwidth beside the interferer ÷ alone, above 0 to 1.5"},
	"spread":      {0, 1e6, false, "want a spread of 0 to 1e6"},
	"seconds":     {0, 1e9, true, "want seconds, above 0 to 1e9"},
	"latency":     {0, 1e9, false, "want seconds, 0 to 1e9, or the field absent when unknown"},
	"nanoseconds": {0, 1e9, true, "want nanoseconds, above 0 to 1e9"},
	"fitted":      {0, 1e9, false, "want nanoseconds, 0 to 1e9"},
	"count":       {0, math.MaxInt, false, "want 0 or more"},
	"positive":    {1, math.MaxInt, false, "want 1 or more"},
	"interferers": {0, MaxLevel, false, "want 0 (one) to 64 interferers"},
	"occupancy":   {0, MaxBytesPerSecond, false, "want bytes, 0 to 1e13, or the field absent when unknown"},
	"bytes":       {0, math.MaxInt64, false, "want bytes, or the field absent when unknown"},
	"requests":    {0, 1e9, true, "want requests per second, above 0 to 1e9"},
	"cpus-used":   {0, 1 << 16, false, "want CPU seconds per second, 0 to 65536"},
	"message":     {1, 1 << 60, false, "want bytes, 1 or more, or the field absent when unknown"},
}

func (r numberRule) holds(v float64) bool {
	return v >= r.low && v <= r.high && !(r.open && v == r.low)
}

// number applies a rule to v, which is shown as value.
func (f *faults) number(p *field.Path, v float64, value any, rule numberRule) {
	if !rule.holds(v) {
		f.invalid(p, value, rule.want)
	}
}

var cpuList = regexp.MustCompile(`^[0-9]{1,6}(-[0-9]{1,6})?(,[0-9]{1,6}(-[0-9]{1,6})?)*$`)

// text applies the rule of a string: a name, or the values allowed, separated by
// "|". Without a rule it is printable text of MaxStringBytes.
func (f *faults) text(p *field.Path, s, rule string) {
	switch {
	case rule == "machine" && s == "":
		f.required(p, "want the name of a machine")
	case rule == "machine":
		for _, fault := range validation.IsDNS1123Subdomain(s) {
			f.invalid(p, s, fault)
		}
	case rule == "cpus":
		if s != "" && !cpuList.MatchString(s) {
			f.invalid(p, s, "want a kernel CPU list, such as 0-7,16")
		}
	case rule == "source" && s == "":
		f.required(p, "want what it was measured with, such as imc or probe, or imported")
	case rule == "line":
		f.printable(p, s, MaxStringBytes, "\t")
	case rule == "argument":
		f.printable(p, s, maxArgumentBytes, "\n\t")
	case strings.Contains(rule, "|"):
		if valid := strings.Split(rule, "|"); !slices.Contains(valid, s) {
			f.list = append(f.list, field.NotSupported(p, s, slices.DeleteFunc(valid, func(v string) bool { return v == "" })))
		}
	default:
		f.printable(p, s, MaxStringBytes, "")
	}
}

// printable wants text that cannot steer a terminal.
func (f *faults) printable(p *field.Path, s string, maxBytes int, alsoAllowed string) {
	if len(s) > maxBytes {
		f.list = append(f.list, field.TooLong(p, s, maxBytes))
		return
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) && !strings.ContainsRune(alsoAllowed, r)
	}) {
		f.invalid(p, s, "want printable text in UTF-8, without control characters")
	}
}
