package profiler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/golden"
)

// runner answers with a fixed run and records what it was asked.
type runner struct {
	run    Run
	err    error
	probes []string
}

func (r *runner) Read(_ context.Context, _ Workload, probes []string) (Run, error) {
	r.probes = probes
	return r.run, r.err
}

func command() Workload { return Workload{Run: func(context.Context) error { return nil }} }

func TestProbeName(t *testing.T) {
	s, err := Select(t.Context(), "probe", &Probe{Map: readReal(t).newMap(t), Runner: &runner{}})
	if err != nil || s.Name() != ProbeName {
		t.Errorf("selected %v, %v", s, err)
	}
}

func TestProbeMeasure(t *testing.T) {
	d := readReal(t)
	for _, tt := range []struct {
		app    string
		node   *int
		golden string
	}{
		{app: "gather", node: new(1), golden: "measure.json"},
		{app: "fma", golden: "measure-no-share.json"},
	} {
		t.Run(tt.app, func(t *testing.T) {
			r := &runner{run: Run{Seconds: 2.5, Readings: d.readings[tt.app], Warnings: []string{"from the runner"}}}
			p := &Probe{Map: d.newMap(t), Runner: r, Node: tt.node}
			s, err := p.Measure(t.Context(), command())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.probes, []string{Modifier, Reader}) {
				t.Errorf("ran beside %q, want both probes", r.probes)
			}
			if got := s.Contentiousness(); got.Source != ProbeName || got.ReadShareUncertainty == nil ||
				got.ReadBytesPerSecond+got.WriteBytesPerSecond != float64(s.Total()) {
				t.Errorf("contentiousness %+v", got)
			}
			checkGoldenJSON(t, s, tt.golden)
		})
	}
}

// checkGoldenJSON compares the fields of the contract; numbers lose all but
// three digits, which differ between processors.
func checkGoldenJSON(t *testing.T, s Summary, name string) {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(rounded(got)); err != nil {
		t.Fatal(err)
	}
	golden.Want(t, filepath.Join("testdata", name), out.Bytes())
}

func rounded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = rounded(e)
		}
	case []any:
		for i, e := range v {
			v[i] = rounded(e)
		}
	case float64:
		return json.Number(strconv.FormatFloat(v, 'g', 3, 64))
	}
	return v
}

func TestProbeAvailable(t *testing.T) {
	d := readReal(t)
	flat := slices.Clone(d.points)
	for i := range flat {
		flat[i].RelativeSpeed = 0.99
	}
	quiet, err := NewMap(flat, d.sustained)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		probe Probe
		state State
		is    error
		want  string
	}{
		{"no map", Probe{Runner: &runner{}}, Unsupported, ErrUnsupported, "bandmate machine"},
		{"no runner", Probe{Map: d.newMap(t)}, Unsupported, ErrUnsupported, "no interferer"},
		{"no contention", Probe{Map: quiet, Runner: &runner{}}, Inconclusive, ErrInconclusive, "1.0% only"},
		{"usable", Probe{Map: d.newMap(t), Runner: &runner{}}, Usable, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.probe.Available(t.Context())
			if a.State != tt.state {
				t.Errorf("state %q, want %q", a.State, tt.state)
			}
			if err := a.Err(); !errors.Is(err, tt.is) || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %v with %q", err, tt.is, tt.want)
			}
			if tt.is == nil {
				return
			}
			if _, err := tt.probe.Measure(t.Context(), command()); !errors.Is(err, tt.is) {
				t.Errorf("measuring: %v, want %v", err, tt.is)
			}
		})
	}
}

func TestProbeMeasureFails(t *testing.T) {
	d := readReal(t)
	broken := errors.New("the command exited with 1")
	for _, tt := range []struct {
		name string
		run  Run
		err  error
		w    Workload
		want string
	}{
		{name: "no workload", want: "either a command to run or a duration"},
		{name: "the runner fails", err: broken, w: command(), want: broken.Error()},
		{name: "no time passed", run: Run{Readings: d.readings["cg"]}, w: command(), want: "took no time"},
		{name: "running processes", run: Run{Seconds: 1}, w: Workload{Processes: processes{}}, want: "cannot be run again"},
		{name: "no readings", run: Run{Seconds: 1}, w: Workload{Duration: time.Second}, want: "no reading of a probe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Probe{Map: d.newMap(t), Runner: &runner{run: tt.run, err: tt.err}}
			_, err := p.Measure(t.Context(), tt.w)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("error %v does not wrap the runner's", err)
			}
		})
	}
}

func TestReadingsFromCurves(t *testing.T) {
	point := func(level float64, achieved *float64) v1alpha1.CurvePoint {
		return v1alpha1.CurvePoint{Level: level, InterfererBytesPerSecond: 40e9, AchievedBytesPerSecond: achieved, NormalizedPerformance: 0.8, Spread: new(0.03)}
	}
	inferred := point(1, new(24e9))
	inferred.Inferred = true
	curves := []v1alpha1.SensitivityCurve{
		{ReadShare: 1, Points: []v1alpha1.CurvePoint{point(0.5, new(19e9)), point(1, new(24e9)), point(2, new(36e9))}},
		{ReadShare: 0.5, Pattern: "sequential", Points: []v1alpha1.CurvePoint{point(1, new(30e9))}},
		{ReadShare: 0.75, Points: []v1alpha1.CurvePoint{point(1, new(28e9))}},
		{ReadShare: 1, Pattern: "random", Points: []v1alpha1.CurvePoint{point(1, new(10e9))}},
		{ReadShare: 1, Points: []v1alpha1.CurvePoint{point(1, nil)}},
		{ReadShare: 1, Points: []v1alpha1.CurvePoint{inferred}},
	}
	want := []ProbeReading{
		{Probe: Reader, RelativeSpeed: 0.6, ApplicationPerformance: new(0.8), ApplicationSpread: new(0.03)},
		{Probe: Modifier, RelativeSpeed: 0.75, ApplicationPerformance: new(0.8), ApplicationSpread: new(0.03)},
	}
	if diff := cmp.Diff(want, ReadingsFromCurves(curves)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
