package v1alpha1

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// MaxLevel is how many interferers a curve point may stand for: more do
	// not fit the CPUs beside an application.
	MaxLevel = 64
	// MaxSeconds is about thirty years.
	MaxSeconds = 1e9
)

// Limits on the number of entries, which bound what a file can cost.
const (
	MaxCurves         = 64
	MaxCurvePoints    = 128
	MaxTimeline       = 10_000
	MaxPhases         = 64
	MaxSustained      = 256
	MaxProbePoints    = 4096
	MaxWarnings       = 100
	MaxArguments      = 1024
	MaxStringBytes    = 1024
	MaxArgumentBytes  = 16 << 10
	phaseSumTolerance = 1e-3
)

const (
	wantBandwidth  = "want bytes per second, 0 to 1e13"
	wantInterferer = "want bytes per second, 1e3 to 1e13 (is this in GB/s?)"
	wantShare      = "want a share from 0 to 1"
	wantLevel      = "want a share above 0 to 1; 1 is unpaced"
	wantCurveLevel = "want a share above 0; 1 is one interferer unpaced, more are several, up to 64"
	wantSpread     = "want a finite spread of 0 or more"
)

// faults collects what is wrong with a profile.
type faults struct{ list field.ErrorList }

func (f *faults) invalid(p *field.Path, value any, want string) {
	f.list = append(f.list, field.Invalid(p, value, want))
}

// within wants low ≤ v ≤ high, which NaN fails.
func (f *faults) within(p *field.Path, v, low, high float64, want string) {
	if !(v >= low && v <= high) {
		f.invalid(p, v, want)
	}
}

// above wants low < v ≤ high, which NaN fails.
func (f *faults) above(p *field.Path, v, low, high float64, want string) {
	if !(v > low && v <= high) {
		f.invalid(p, v, want)
	}
}

func (f *faults) share(p *field.Path, v float64) { f.within(p, v, 0, 1, wantShare) }

func (f *faults) bandwidth(p *field.Path, v float64) {
	f.within(p, v, 0, MaxBytesPerSecond, wantBandwidth)
}

func (f *faults) atLeast(p *field.Path, v, low int) {
	if v < low {
		f.invalid(p, v, fmt.Sprintf("want %d or more", low))
	}
}

// spread wants a spread only where it can exist.
func (f *faults) spread(p *field.Path, spread *float64, repeats int) {
	if spread == nil {
		return
	}
	f.within(p, *spread, 0, math.MaxFloat64, wantSpread)
	if repeats < 2 {
		f.invalid(p, *spread, "want it absent with fewer than two repeats")
	}
}

// length wants low to high entries and reports whether it is worth looking at
// them: too many are not looked at.
func (f *faults) length(p *field.Path, n, low, high int) bool {
	switch {
	case n < low:
		f.list = append(f.list, field.Required(p, fmt.Sprintf("want %d or more entries", low)))
	case n > high:
		f.list = append(f.list, field.TooMany(p, n, high))
		return false
	}
	return true
}

func (f *faults) oneOf(p *field.Path, v string, valid ...string) {
	if !slices.Contains(valid, v) {
		f.list = append(f.list, field.NotSupported(p, v, valid))
	}
}

// duplicate reports that key was seen before.
func duplicate[K comparable](f *faults, p *field.Path, seen map[K]bool, key K, shown any) {
	if seen[key] {
		f.list = append(f.list, field.Duplicate(p, shown))
	}
	seen[key] = true
}

// text wants printable text: nothing that could steer a terminal.
func (f *faults) text(p *field.Path, s string, maxBytes int, alsoAllowed string) {
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

func (f *faults) warnings(p *field.Path, list []string) {
	if !f.length(p, len(list), 0, MaxWarnings) {
		return
	}
	for i, w := range list {
		f.text(p.Index(i), w, MaxStringBytes, "")
	}
}

// header checks what both kinds have: type, name, labels, annotations.
func (f *faults) header(t metav1.TypeMeta, m *metav1.ObjectMeta, kind string) {
	if t.APIVersion != "" {
		f.oneOf(field.NewPath("apiVersion"), t.APIVersion, APIVersion)
	}
	if t.Kind != "" {
		f.oneOf(field.NewPath("kind"), t.Kind, kind)
	}
	path := field.NewPath("metadata")
	f.list = append(f.list, apivalidation.ValidateObjectMeta(m, m.Namespace != "", apivalidation.NameIsDNSSubdomain, path)...)
	for key, value := range m.Annotations {
		f.text(path.Child("annotations").Key(key), value, math.MaxInt, "\n\t")
	}
}

// name wants the metadata.name of another object.
func (f *faults) name(p *field.Path, name string) {
	if name == "" {
		f.list = append(f.list, field.Required(p, "want the name of a machine"))
		return
	}
	for _, fault := range validation.IsDNS1123Subdomain(name) {
		f.invalid(p, name, fault)
	}
}

var cpuList = regexp.MustCompile(`^[0-9]{1,6}(-[0-9]{1,6})?(,[0-9]{1,6}(-[0-9]{1,6})?)*$`)

func (f *faults) cpuList(p *field.Path, list string) {
	if list != "" && !cpuList.MatchString(list) {
		f.invalid(p, list, "want a kernel CPU list, such as 0-7,16")
	}
}

func (f *faults) measurement(p *field.Path, m *Measurement) {
	// Other years do not survive RFC 3339, the format of a file.
	if year := m.Time.UTC().Year(); !m.Time.IsZero() && (year < 1970 || year > 9999) {
		f.invalid(p.Child("time"), m.Time.UTC().String(), "want a year from 1970 to 9999")
	}
	f.text(p.Child("bandmateVersion"), m.BandmateVersion, MaxStringBytes, "")
	f.cpuList(p.Child("targetCPUs"), m.TargetCPUs)
	f.cpuList(p.Child("interfererCPUs"), m.InterfererCPUs)
	if m.MemoryNode != nil {
		f.atLeast(p.Child("memoryNode"), *m.MemoryNode, 0)
	}
	if m.Regime != nil {
		f.oneOf(p.Child("regime", "name"), m.Regime.Name, "same-core", "same-complex", "cross-complex")
		f.above(p.Child("regime", "roundTripNanoseconds"), m.Regime.RoundTripNanoseconds, 0, 1e9, "want nanoseconds, above 0 to 1e9")
	}
	f.atLeast(p.Child("droppedSamples"), m.DroppedSamples, 0)
	f.text(p.Child("progress"), m.Progress, MaxStringBytes, "\t")
	f.within(p.Child("interferers"), float64(m.Interferers), 0, MaxLevel, "want 0 (one) to 64 interferers")
}

// normalPattern spells the default out.
func normalPattern(pattern string) string { return cmp.Or(pattern, "sequential") }

func (f *faults) pattern(p *field.Path, pattern string) {
	f.oneOf(p, normalPattern(pattern), "sequential", "random")
}
