package profiler

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"text/tabwriter"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/golden"
	"bandmate.dev/bandmate/units"
)

// realVM is the measured data set of testdata/real-vm, with its rmw probe under
// the name of this package.
type realVM struct {
	points    []v1alpha1.ProbePoint
	sustained []v1alpha1.SustainedBandwidth
	apps      []string
	readings  map[string][]ProbeReading
	curves    map[string][]v1alpha1.SensitivityCurve
}

func readReal(t *testing.T) realVM {
	t.Helper()
	d := realVM{readings: map[string][]ProbeReading{}, curves: map[string][]v1alpha1.SensitivityCurve{}}
	names := map[string]string{"reader": Reader, "rmw": Modifier}
	for _, row := range readCSV(t, "probe_map.csv") {
		if row.number("level") == 1 && row.text("probe") == "reader" {
			d.sustained = append(d.sustained, v1alpha1.SustainedBandwidth{
				ReadShare: row.number("read_share"), BytesPerSecond: 1e9 * row.number("solo_gbs"), Repeats: 3,
			})
		}
		if names[row.text("probe")] == "" {
			continue
		}
		d.points = append(d.points, v1alpha1.ProbePoint{
			Probe:                    names[row.text("probe")],
			ReadShare:                row.number("read_share"),
			Level:                    row.number("level"),
			InterfererBytesPerSecond: 1e9 * row.number("solo_gbs"),
			AchievedBytesPerSecond:   1e9 * row.number("corun_gbs"),
			RelativeSpeed:            row.number("probe_rel"),
			Spread:                   new(row.number("repeat_sd")),
			Repeats:                  3,
		})
	}
	for _, row := range readCSV(t, "probe_apps.csv") {
		app := row.text("app")
		if !slices.Contains(d.apps, app) {
			d.apps = append(d.apps, app)
		}
		if names[row.text("probe")] == "" {
			continue
		}
		d.readings[app] = append(d.readings[app], ProbeReading{
			Probe:         names[row.text("probe")],
			RelativeSpeed: row.number("probe_rel"),
			// The data set has no spread per reading; this is the median
			// of these probes over the map.
			Spread:                 new(0.015),
			ApplicationPerformance: new(row.number("app_norm_perf_beside_probe")),
		})
	}
	for _, row := range readCSV(t, "curves.csv") {
		app := row.text("app")
		d.curves[app] = append(d.curves[app], v1alpha1.SensitivityCurve{
			ReadShare: row.number("read_share"),
			Points: []v1alpha1.CurvePoint{{
				Level:                    row.number("level"),
				InterfererBytesPerSecond: 1e9 * row.number("interferer_solo_gbs"),
				AchievedBytesPerSecond:   new(1e9 * row.number("interferer_achieved_gbs")),
				NormalizedPerformance:    row.number("norm_perf"),
				Spread:                   new(row.number("repeat_sd")),
			}},
		})
	}
	return d
}

func (d realVM) newMap(t *testing.T) *Map {
	t.Helper()
	m, err := NewMap(d.points, d.sustained)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type csvRow struct {
	t      *testing.T
	fields map[string]string
}

func (r csvRow) text(field string) string { return r.fields[field] }

func (r csvRow) number(field string) float64 {
	v, err := strconv.ParseFloat(r.fields[field], 64)
	if err != nil {
		r.t.Fatalf("%s: %v", field, err)
	}
	return v
}

func readCSV(t *testing.T, name string) []csvRow {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "real-vm", name))
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []csvRow
	for _, record := range records[1:] {
		row := csvRow{t: t, fields: map[string]string{}}
		for i, field := range record {
			row.fields[records[0][i]] = field
		}
		rows = append(rows, row)
	}
	return rows
}

// TestRealApplications compares the traffic inferred for twelve measured
// programs with a golden table, so that a change of the method is seen.
func TestRealApplications(t *testing.T) {
	d := readReal(t)
	m := d.newMap(t)
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "application\tGB/s\t90% interval\tread share\t±\tresidual\tsaturated")
	for _, app := range d.apps {
		e := infer(t, m, d.readings[app])
		share, _ := e.Traffic.ReadShare()
		text := fmt.Sprintf("%.2f", share)
		if !e.ReadShareKnown {
			text = "unknown"
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f to %.1f\t%s\t%.2f\t%.3f\t%v\n", app, e.Traffic.Total().GBps(),
			e.Low.GBps(), e.High.GBps(), text, e.ReadShareUncertainty, e.Residual, e.Saturated)
	}
	w.Flush()
	golden.Want(t, "testdata/real-vm.golden", out.Bytes())
}

// TestRealTruth checks the programs whose traffic is known by construction:
// triad moves 57.9 GB/s at 75% reads, and the arithmetic loop moves nothing.
func TestRealTruth(t *testing.T) {
	d := readReal(t)
	m := d.newMap(t)

	triad := infer(t, m, d.readings["triad"])
	const truth = 57.9e9
	if got := float64(triad.Traffic.Total()); math.Abs(got/truth-1) > 0.12 {
		t.Errorf("triad: %v, want 57.9 GB/s within 12%%", triad.Traffic.Total())
	}
	if truth < triad.Low || truth > triad.High {
		t.Errorf("triad: interval %v to %v lacks 57.9 GB/s", triad.Low, triad.High)
	}
	if share, _ := triad.Traffic.ReadShare(); math.Abs(float64(share)-0.75) > 0.05 {
		t.Errorf("triad: read share %v, want 75%% within 5 points", share)
	}

	fma := infer(t, m, d.readings["fma"])
	if fma.High > 3*units.GigabytePerSecond || fma.ReadShareKnown {
		t.Errorf("arithmetic loop: at most %v, read share known %v; want at most 3 GB/s and unknown", fma.High, fma.ReadShareKnown)
	}
}

// TestRealLeaveOneOut takes every measured setting of the interferer for an
// application of known traffic and infers it from a map without that setting.
// Settings at level 1 stay in: a map always ends there.
func TestRealLeaveOneOut(t *testing.T) {
	d := readReal(t)
	type setting struct{ share, level float64 }
	targets := map[setting][]v1alpha1.ProbePoint{}
	for _, p := range d.points {
		s := setting{p.ReadShare, p.Level}
		targets[s] = append(targets[s], p)
	}
	var relative, absolute float64
	covered := 0
	for s, target := range targets {
		rest := slices.DeleteFunc(slices.Clone(d.points), func(p v1alpha1.ProbePoint) bool {
			return p.Level < 1 && s == setting{p.ReadShare, p.Level}
		})
		m, err := NewMap(rest, d.sustained)
		if err != nil {
			t.Fatal(err)
		}
		var readings []ProbeReading
		for _, p := range target {
			readings = append(readings, ProbeReading{
				Probe:                  p.Probe,
				RelativeSpeed:          p.RelativeSpeed,
				Spread:                 p.Spread,
				ApplicationPerformance: new(p.AchievedBytesPerSecond / p.InterfererBytesPerSecond),
			})
		}
		e := infer(t, m, readings)
		truth := units.Bandwidth(target[0].InterfererBytesPerSecond)
		t.Logf("share %v level %v: true %v, inferred %v (%v to %v)", s.share, s.level, truth, e.Traffic.Total(), e.Low, e.High)
		deviation := math.Abs(float64(e.Traffic.Total() - truth))
		absolute += deviation / float64(len(targets)) / 1e9
		relative += deviation / float64(truth) / float64(len(targets))
		if truth >= e.Low && truth <= e.High {
			covered++
		}
	}
	t.Logf("mean error %.1f%%, %.2f GB/s; %d of %d intervals hold the truth", 100*relative, absolute, covered, len(targets))
	if relative > 0.12 || absolute > 2.5 {
		t.Errorf("mean error %.1f%% and %.2f GB/s, want at most 12%% and 2.5 GB/s", 100*relative, absolute)
	}
	if covered < 13 {
		t.Errorf("%d of %d 90%% intervals hold the truth", covered, len(targets))
	}
}

// TestRealCurvesHoldReadings infers from the level-1 points of sensitivity
// curves, which were measured independently of the probe readings: both have to
// tell the same story.
func TestRealCurvesHoldReadings(t *testing.T) {
	d := readReal(t)
	m := d.newMap(t)
	for _, app := range d.apps {
		readings := ReadingsFromCurves(d.curves[app])
		if len(readings) != 2 {
			t.Fatalf("%s: %d readings, want one of each probe", app, len(readings))
		}
		a, b := infer(t, m, d.readings[app]), infer(t, m, readings)
		t.Logf("%s: probes %v (%v to %v), curves %v (%v to %v)", app, a.Traffic.Total(), a.Low, a.High, b.Traffic.Total(), b.Low, b.High)
		if a.Low > b.High || b.Low > a.High {
			t.Errorf("%s: probes say %v to %v, curves %v to %v", app, a.Low, a.High, b.Low, b.High)
		}
	}
}

func infer(t testing.TB, m *Map, readings []ProbeReading) Estimate {
	t.Helper()
	e, err := m.Infer(readings)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
