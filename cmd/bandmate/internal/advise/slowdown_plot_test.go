package advise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/report/page"
	"bandmate.dev/bandmate/units"
)

// exampleGroup is some of the applications of the documentation.
func exampleGroup(t *testing.T, f predictionFlags, names ...string) *advisor.Group {
	t.Helper()
	g, _, err := f.choose(t.Context(), &cli.App{StoreDir: "../../../../docs/example/store"}, names)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fittedAt reads a drawn curve as its picture joins it.
func fittedAt(c report.Curve, b units.Bandwidth) float64 {
	last := report.FittedPoint{Performance: 1}
	for _, at := range c.Fitted {
		if b <= at.Bandwidth {
			return float64(last.Performance) + float64((b-last.Bandwidth)/(at.Bandwidth-last.Bandwidth))*float64(at.Performance-last.Performance)
		}
		last = at
	}
	return float64(last.Performance)
}

// The fitted curves of pictures are those that predictions say they read, and with
// their intervals those of the report page.
func TestFittedCurves(t *testing.T) {
	known, err := (&cli.App{StoreDir: "../../../../docs/example/store"}).LoadAdvisor()
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := known.Select(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var profiles []*v1alpha1.ApplicationProfile
	for _, e := range all {
		profiles = append(profiles, e.Profile)
	}
	data, err := page.NewData(page.Content{Applications: profiles})
	if err != nil {
		t.Fatal(err)
	}
	readings := 0
	for i, p := range profiles {
		plot := cli.CurvePlot(p)
		drawn := map[units.ReadShare]report.Curve{}
		for _, c := range plot.Curves {
			if c.Pattern != "" && c.Pattern != cli.Sequential {
				if len(c.Fitted) > 0 {
					t.Errorf("%s: a fitted curve at %s of pattern %s, which no prediction reads", p.Name, c.ReadShare, c.Pattern)
				}
				continue
			}
			drawn[c.ReadShare] = c
		}
		for _, r := range data.Applications[i].Fits {
			c := drawn[r.ReadShare]
			if float64(c.HalfWidth) != r.HalfWidth || !(r.HalfWidth > 0) || len(c.Fitted) != len(r.Curve) {
				t.Errorf("%s at %s: ± %v with %d points, the page has ± %v with %d", p.Name, r.ReadShare, c.HalfWidth, len(c.Fitted), r.HalfWidth, len(r.Curve))
			}
		}
		for j, other := range profiles {
			said, err := predictor.Predict(all[i].Application, []*predictor.Application{all[j].Application}, predictor.Options{Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range said.Explanation.Readings {
				readings++
				if got := fittedAt(drawn[r.ReadShare], r.BytesPerSecond); math.Abs(got-float64(r.NormalizedPerformance)) > 1e-9 {
					t.Errorf("%s beside %s: at %s reads and %s drawn at %v, read as %v", p.Name, other.Name, r.ReadShare, r.BytesPerSecond, got, r.NormalizedPerformance)
				}
			}
		}
	}
	if readings == 0 {
		t.Error("no prediction read a curve")
	}
}

// A picture of a prediction says what the prediction says: of the target, with the
// interval, and of each neighbor.
func TestPredictionPlot(t *testing.T) {
	for _, line := range []string{"sort triad", "sort triad triad triad triad numpy", "triad xz zstd lammps", "numpy sort"} {
		for _, method := range []predictor.Method{predictor.Default, "linear-estimated"} {
			names, f := strings.Fields(line), predictionFlags{method: string(method), limit: cli.Limit{Slowdown: 1.5}}
			g := exampleGroup(t, f, names...)
			p, err := g.Predict(0, false)
			if err != nil {
				t.Fatal(err)
			}
			plot := predictionPlot(g, f, cli.PictureFlags{SVG: "-"})
			if plot.Limit != 1.5 || len(plot.Rows) != len(names) {
				t.Errorf("%s: %d rows, limit %v", line, len(plot.Rows), plot.Limit)
			}
			if got, want := plot.Rows[0].Values[0], cli.PredictedValue(p); got != want {
				t.Errorf("%s by %s: %+v, want %+v", line, method, got, want)
			}
			for i, row := range plot.Rows[1:] {
				want, v := p.CorunnerSlowdowns[names[i+1]], row.Values[0]
				if math.Abs(float64(v.Slowdown/want)-1) > 1e-6 || v.Low > v.Slowdown || v.High < v.Slowdown {
					t.Errorf("%s by %s: %s %+v, predicted %v", line, method, row.Name, v, want)
				}
			}
		}
	}
}

// Only with pressure beyond what was measured is a value extrapolated.
func TestPredictionPlotExtrapolates(t *testing.T) {
	for names, want := range map[string]bool{"sort triad": false, "sort triad triad triad triad numpy": true} {
		var f predictionFlags
		plot := predictionPlot(exampleGroup(t, f, strings.Fields(names)...), f, cli.PictureFlags{PNG: "-"})
		if got := plot.Rows[0].Values[0].Extrapolated; got != want {
			t.Errorf("%s: extrapolated %t", names, got)
		}
	}
}

// The interval of a prediction belongs to a score of the same slowdown only.
func TestJudgmentIntervals(t *testing.T) {
	compiled := exampleGroup(t, predictionFlags{}, "sort", "triad", "numpy").Applications()
	j := cli.Judgment{Place: "n1"}
	for i, a := range compiled {
		p, err := predictor.Predict(a, cli.Besides(compiled, i), predictor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j.Jobs = append(j.Jobs, cli.JudgedJob{Application: a, Known: true, After: p.Slowdown})
	}
	for i := range j.Jobs {
		if v := j.Value(i); !(v.Low > 0 && v.Low <= v.Slowdown && v.Slowdown <= v.High) {
			t.Errorf("job %d: %+v", i, v)
		}
	}
	if v := j.Worst(); v.Slowdown != max(j.Jobs[1].After, j.Jobs[2].After) {
		t.Errorf("the worst neighbor: %+v", v)
	}
	for name, change := range map[string]func(*cli.Judgment){
		"another slowdown": func(j *cli.Judgment) { j.Jobs[0].After *= 1.01 },
		"no profile":       func(j *cli.Judgment) { j.Jobs[1].Application = nil },
	} {
		other := cli.Judgment{Jobs: slices.Clone(j.Jobs)}
		change(&other)
		if v := other.Value(0); v.Low != 0 || v.High != 0 || v.Slowdown != other.Jobs[0].After {
			t.Errorf("%s: %+v", name, v)
		}
	}
	j.Jobs[0].Known = false
	if v := j.Value(0); v != (report.SlowdownValue{}) {
		t.Errorf("of an unknown job: %+v", v)
	}
	alone := cli.Judgment{Jobs: j.Jobs[:1]}
	if v := alone.Worst(); v.Slowdown != 0 || v.Missing != "nobody there" {
		t.Errorf("the worst of nobody: %+v", v)
	}
}
