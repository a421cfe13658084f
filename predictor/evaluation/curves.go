package evaluation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/table"
	"bandmate.dev/bandmate/units"
)

// setting is one setting of the interferer as the files write it.
type setting struct{ readPercent, level float64 }

// readInterferer reads what the interferer reaches alone, by setting; nil
// without the file.
func readInterferer(fsys fs.FS) (alone map[setting]units.Traffic, err error) {
	columns := []string{"read_pct", "level", "solo_read_Bps", "solo_write_Bps"}
	err = readOptional(fsys, interfererFile, columns, func(t *table.Table) {
		s := settingOf(t)
		if _, twice := alone[s]; twice {
			t.Fail("level", fmt.Errorf("%v at %v%% reads appears twice", s.level, s.readPercent))
		}
		if alone == nil {
			alone = map[setting]units.Traffic{}
		}
		alone[s] = traffic(t, "solo_")
	})
	return alone, err
}

func settingOf(t *table.Table) setting {
	s := setting{t.Number("read_pct", 0, 100), t.Positive("level")}
	if s.level > 1 {
		t.Fail("level", errors.New("want above 0 to 1"))
	}
	if s.readPercent > 0 && s.readPercent <= 1 { // no interferer reads so little
		t.Fail("read_pct", fmt.Errorf("%v: want percent, such as 50 (is this a part of 1?)", s.readPercent))
	}
	return s
}

// performance returns the normalized performance of a row. More than a profile can hold is
// another quantity: a slowdown, or a percentage.
func performance(t *table.Table) float64 {
	p := t.Positive("norm_perf")
	if p > v1alpha1.MaxNormalizedPerformance {
		t.Fail("norm_perf", fmt.Errorf("%v: want solo time ÷ co-run time, above 0 to %v", p, v1alpha1.MaxNormalizedPerformance))
	}
	return p
}

// hasAll reports whether the header names columns that mean nothing without each other.
// The row fails where it names some of them only.
func hasAll(t *table.Table, columns ...string) bool {
	lacking := slices.IndexFunc(columns, func(column string) bool { return !t.Has(column) })
	if lacking < 0 {
		return true
	}
	if given := slices.IndexFunc(columns, t.Has); given >= 0 {
		t.Fail(columns[given], fmt.Errorf("no column %q in the header: want %s together or none of them", columns[lacking], strings.Join(columns, ", ")))
	}
	return false
}

// soloColumns begin the columns of what the interferer reaches alone. Where
// curves.csv lacks them, interferer.csv has it.
const soloColumns = "interferer_solo_"

func (d *Dataset) readCurves(fsys fs.FS) error {
	alone, err := readInterferer(fsys)
	if err != nil {
		return err
	}
	required := []string{"app", "read_pct", "level", "norm_perf"}
	if alone == nil {
		required = append(required, soloColumns+"read_Bps", soloColumns+"write_Bps")
	}
	return readTable(fsys, curvesFile, required, func(t *table.Table) {
		a, s := d.known(t, "app"), settingOf(t)
		a.addPoint(s.readPercent/100, curvePoint(t, s.level, soloTraffic(t, s, alone), d.Platform.SharedCache != nil))
	})
}

// soloTraffic returns what the interferer reaches alone at the row's setting.
func soloTraffic(t *table.Table, s setting, alone map[setting]units.Traffic) units.Traffic {
	if hasAll(t, soloColumns+"read_Bps", soloColumns+"write_Bps") {
		return traffic(t, soloColumns)
	}
	solo, known := alone[s]
	if !known {
		t.Fail("level", fmt.Errorf("%v at %v%% reads is not in %s", s.level, s.readPercent, interfererFile))
	}
	return solo
}

// curvePoint reads a point, with the total traffic where a cache is shared: elsewhere it
// says nothing more.
func curvePoint(t *table.Table, level float64, solo units.Traffic, withTotal bool) v1alpha1.CurvePoint {
	point := v1alpha1.CurvePoint{
		Level: level, InterfererBytesPerSecond: float64(solo.Total()), NormalizedPerformance: performance(t),
	}
	point.Repeats, point.Spread = repeated(t)
	if hasAll(t, "interferer_corun_read_Bps", "interferer_corun_write_Bps") {
		achieved := traffic(t, "interferer_corun_")
		total := float64(achieved.Total())
		point.AchievedBytesPerSecond = &total
		if withTotal {
			point.TotalBytesPerSecond = totalTraffic(t)
		}
	}
	return point
}

// mostRepeats bounds the repeats of a point.
const mostRepeats = 1_000_000

// repeated returns how often a point was measured, once where the row does not say, and the
// standard deviation; nil where it is not known.
func repeated(t *table.Table) (repeats int, spread *float64) {
	switch {
	case t.Given("repeats"):
		repeats = t.Whole("repeats", 1, mostRepeats)
		if repeats > 1 && t.Given("repeat_sd") {
			spread = new(t.NotNegative("repeat_sd"))
		}
	case t.Given("readings"):
		repeats = t.Whole("readings", 1, mostRepeats)
		if repeats > 1 && t.Given("standard_error") {
			spread = new(t.NotNegative("standard_error") * math.Sqrt(float64(repeats)))
		}
	default:
		repeats = 1
	}
	for _, of := range [][2]string{{"repeat_sd", "repeats"}, {"standard_error", "readings"}} {
		if t.Given(of[0]) && !t.Given(of[1]) {
			t.Fail(of[0], fmt.Errorf("no %s: want both or neither", of[1]))
		}
	}
	return repeats, spread
}

// totalTraffic returns what a counter of the memory controller shows while the application
// and the interferer run; nil where the row does not say.
func totalTraffic(t *table.Table) *float64 {
	if !hasAll(t, "app_read_Bps", "app_write_Bps") {
		return nil
	}
	total := float64(traffic(t, "app_").Add(traffic(t, "interferer_corun_")).Total())
	return &total
}

// readCachePoints reads the points beside an interferer that touches a working set in
// random order.
func (d *Dataset) readCachePoints(fsys fs.FS) error {
	required := []string{
		"app", "read_pct", "level", "footprint_bytes", "norm_perf", "interferer_solo_llc_Bps", "interferer_corun_llc_Bps",
		"interferer_corun_read_Bps", "interferer_corun_write_Bps",
	}
	return readOptional(fsys, randomFile, required, func(t *table.Table) {
		a, s := d.known(t, "app"), settingOf(t)
		a.Cache = append(a.Cache, v1alpha1.CachePoint{
			FootprintBytes: int64(t.Positive("footprint_bytes")), ReadShare: s.readPercent / 100, Level: s.level,
			AccessedBytesPerSecond: t.Positive("interferer_solo_llc_Bps"), AchievedBytesPerSecond: t.Positive("interferer_corun_llc_Bps"),
			TotalBytesPerSecond: totalTraffic(t), NormalizedPerformance: performance(t), Repeats: 1,
		})
	})
}

// addPoint puts a point into the curve of its read share, both in order.
func (a *App) addPoint(share float64, p v1alpha1.CurvePoint) {
	i, found := slices.BinarySearchFunc(a.Curves, share, func(c v1alpha1.SensitivityCurve, share float64) int {
		return cmp.Compare(c.ReadShare, share)
	})
	if !found {
		a.Curves = slices.Insert(a.Curves, i, v1alpha1.SensitivityCurve{ReadShare: share})
	}
	curve := &a.Curves[i]
	at := len(curve.Points)
	for at > 0 && curve.Points[at-1].InterfererBytesPerSecond > p.InterfererBytesPerSecond {
		at--
	}
	curve.Points = slices.Insert(curve.Points, at, p)
}
