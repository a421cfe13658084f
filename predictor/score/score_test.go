package score

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/units"
)

const gb = 1e9

// application makes one that reads gbps and loses a hundredth of its speed per
// sensitivity GB/s that an unhindered interferer reads beside it; without a
// sensitivity it has no curves, with a negative gbps no known contentiousness.
func application(t testing.TB, name string, gbps, sensitivity float64) *predictor.Application {
	t.Helper()
	p := &v1alpha1.ApplicationProfile{}
	p.Name = name
	if gbps >= 0 {
		p.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: gbps * gb, Source: "imc"}
	}
	if sensitivity > 0 {
		c := v1alpha1.SensitivityCurve{ReadShare: 1}
		for _, level := range []float64{0.25, 0.5, 0.75, 1} {
			bandwidth := 20 * level * gb
			c.Points = append(c.Points, v1alpha1.CurvePoint{
				Level: level, InterfererBytesPerSecond: bandwidth, AchievedBytesPerSecond: &bandwidth,
				NormalizedPerformance: 1 - sensitivity*20*level/100, Repeats: 3,
			})
		}
		p.Spec.Curves = append(p.Spec.Curves, c)
	}
	a, err := predictor.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The numbers are those of straight curves: a resident that loses 1% per GB/s
// keeps 0.9 beside 10 GB/s. Insensitive neighbors (0.001) keep their traffic.
func TestScore(t *testing.T) {
	const hardly = 0.001
	sensitive := application(t, "sensitive", 2, 1)
	heavy := application(t, "heavy", 10, hardly)
	silent := application(t, "silent", -1, 1)
	curveless := application(t, "curveless", 10, 0)
	tests := []struct {
		name      string
		options   Options
		newcomer  Job
		residents []Job
		cost      float64
		over      int
		avoided   bool
		unknown   string
	}{
		{"an empty domain", Options{}, Job{Name: "n", Application: sensitive, CPUs: 4}, nil, 0, 0, false, ""},
		{
			"a sensitive newcomer beside a heavy resident",
			Options{},
			Job{Name: "n", Application: sensitive, CPUs: 4},
			[]Job{{Name: "r", Application: heavy, CPUs: 8}},
			4 * (1/0.9 - 1), 0, false, "",
		},
		{
			"a heavy newcomer beside a sensitive resident",
			Options{},
			Job{Name: "n", Application: heavy, CPUs: 4},
			[]Job{{Name: "r", Application: sensitive, CPUs: 8}},
			8 * (1/0.9 - 1), 0, false, "",
		},
		{
			"what was there before is not charged",
			Options{},
			Job{Name: "n", Application: application(t, "light", 0, hardly), CPUs: 4},
			[]Job{{Name: "r", Application: sensitive, CPUs: 8}, {Name: "h", Application: heavy, CPUs: 8}},
			0, 0, false, "",
		},
		{
			"a limit exceeded",
			Options{},
			Job{Name: "n", Application: heavy, CPUs: 1},
			[]Job{{Name: "r", Application: sensitive, CPUs: 1, Limit: 1.1}},
			1/0.9 - 1, 1, false, "",
		},
		{
			"a limit kept",
			Options{},
			Job{Name: "n", Application: heavy, CPUs: 1},
			[]Job{{Name: "r", Application: sensitive, CPUs: 1, Limit: 1.12}},
			1/0.9 - 1, 0, false, "",
		},
		{
			"the worst slowdown",
			Options{Objective: WorstSlowdown},
			Job{Name: "n", Application: heavy, CPUs: 4},
			[]Job{{Name: "r", Application: sensitive, CPUs: 8}},
			1/0.9 - 1, 0, false, "",
		},
		{
			"an unknown resident is ignored",
			Options{},
			Job{Name: "n", Application: sensitive, CPUs: 1},
			[]Job{{Name: "r", CPUs: 1}},
			0, 0, false, "r",
		},
		{
			"an unknown resident is avoided",
			Options{Unknown: Avoid},
			Job{Name: "n", Application: sensitive, CPUs: 1},
			[]Job{{Name: "r", CPUs: 1}},
			0, 0, true, "r",
		},
		{
			"unknown jobs are not kept apart",
			Options{Unknown: Avoid},
			Job{Name: "n", CPUs: 1},
			[]Job{{Name: "r", CPUs: 1}},
			0, 0, false, "n r",
		},
		{
			"an unknown resident is assumed to be heavy",
			Options{Unknown: Assume, StandIn: heavy},
			Job{Name: "n", Application: sensitive, CPUs: 1},
			[]Job{{Name: "r", CPUs: 1}},
			1/0.9 - 1, 0, false, "r",
		},
		{
			"half known: its traffic counts, its slowdown cannot",
			Options{},
			Job{Name: "n", Application: sensitive, CPUs: 1},
			[]Job{{Name: "r", Application: curveless, CPUs: 1}},
			1/0.9 - 1, 0, false, "r",
		},
		{
			"half known: its slowdown counts, its traffic cannot",
			Options{},
			Job{Name: "n", Application: heavy, CPUs: 1},
			[]Job{{Name: "r", Application: silent, CPUs: 1}},
			1/0.9 - 1, 0, false, "r",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scorer, err := New(test.options)
			if err != nil {
				t.Fatal(err)
			}
			got, err := scorer.Score(test.newcomer, Domain{Name: "node", Residents: test.residents})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Cost-test.cost) > 2e-3*float64(1+len(test.residents)) {
				t.Errorf("cost %v, want %v:\n%s", got.Cost, test.cost, got.Explain())
			}
			if got.OverLimit != test.over || got.Avoided != test.avoided || strings.Join(got.Unknown(), " ") != test.unknown {
				t.Errorf("%d over the limit, avoided %v, unknown %v; want %d, %v, %q",
					got.OverLimit, got.Avoided, got.Unknown(), test.over, test.avoided, test.unknown)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	sensitive, heavy := application(t, "sensitive", 2, 1), application(t, "heavy", 15, 0.001)
	light := application(t, "light", 1, 0.001)
	scorer, err := New(Options{Unknown: Avoid})
	if err != nil {
		t.Fatal(err)
	}
	newcomer := Job{Name: "n", Application: sensitive, CPUs: 2, Limit: 1.1}
	var scores []Score
	for _, d := range []Domain{
		{Name: "busy", Residents: []Job{{Name: "h", Application: heavy, CPUs: 2}}},
		{Name: "strange", Residents: []Job{{Name: "x", CPUs: 2}}},
		{Name: "calm", Residents: []Job{{Name: "l", Application: light, CPUs: 2}}},
		{Name: "empty"},
	} {
		one, err := scorer.Score(newcomer, d)
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, one)
	}
	slices.SortStableFunc(scores, Compare)
	var order []string
	for _, s := range scores {
		order = append(order, s.Domain)
	}
	if diff := cmp.Diff([]string{"empty", "calm", "strange", "busy"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for _, want := range []string{"busy: added-cost 0.", "1 over the limit", "newcomer n: 1.00× → 1.1", "above its limit of 1.10×", "resident h"} {
		if text := scores[3].Explain(); !strings.Contains(text, want) {
			t.Errorf("explanation %q, want %q", text, want)
		}
	}
	if text := scores[2].Explain(); !strings.Contains(text, "avoided") || !strings.Contains(text, "not fully known") {
		t.Errorf("explanation %q", text)
	}
}

func TestScoreRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"an objective that is none":     {Objective: "beauty"},
		"a policy that is none":         {Unknown: "hope"},
		"a stand-in that is missing":    {Unknown: Assume},
		"a stand-in of unknown traffic": {Unknown: Assume, StandIn: application(t, "a", -1, 1)},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var s Scorer
	_, err := s.Score(Job{Name: "a", CPUs: -1}, Domain{Residents: []Job{{Name: "b", Limit: 0.5}}})
	if err == nil || !strings.Contains(err.Error(), "job a") || !strings.Contains(err.Error(), "job b") {
		t.Errorf("error %v, want both faults", err)
	}
	if _, err := s.Score(Job{CPUs: math.Inf(1)}, Domain{Name: "x"}); err == nil {
		t.Error("infinitely many CPUs: no error")
	}
}

// The scorer may be asked again and again without a trace of earlier answers.
func TestScorerForgets(t *testing.T) {
	var s Scorer
	newcomer := Job{Name: "n", Application: application(t, "n", 5, 1), CPUs: 2}
	full := Domain{Name: "full", Residents: []Job{
		{Name: "a", Application: application(t, "a", 8, 0.5), CPUs: 1},
		{Name: "b", Application: application(t, "b", 3, 2), CPUs: 1},
	}}
	first, err := s.Score(newcomer, full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Score(newcomer, Domain{Name: "empty"}); err != nil {
		t.Fatal(err)
	}
	again, err := s.Score(newcomer, full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(Effect{})); diff != "" {
		t.Errorf("a second time differs:\n%s", diff)
	}
	if first.Newcomer.After <= 1 || first.Residents[0].After < first.Residents[0].Before || units.Slowdown(1) > first.Residents[1].Before {
		t.Errorf("%+v", first)
	}
}

// However full a node is, one more application never speeds up those on it.
func TestFullNodesCost(t *testing.T) {
	loud := application(t, "loud", 5, 3)
	var s Scorer
	var domain Domain
	for n := range 40 {
		got, err := s.Score(Job{Name: "newcomer", Application: loud, CPUs: 1}, domain)
		if err != nil {
			t.Fatal(err)
		}
		if got.Cost < -1e-6 {
			t.Errorf("beside %d residents: cost %v", n, got.Cost)
		}
		domain.Residents = append(domain.Residents, Job{Name: fmt.Sprintf("resident-%d", n), Application: loud, CPUs: 1})
	}
}

func BenchmarkScore(b *testing.B) {
	var s Scorer
	newcomer := Job{Name: "n", Application: application(b, "n", 5, 1), CPUs: 2}
	domain := Domain{Name: "node", Residents: []Job{
		{Name: "a", Application: application(b, "a", 8, 0.5), CPUs: 1},
		{Name: "b", Application: application(b, "b", 3, 2), CPUs: 1},
	}}
	for b.Loop() {
		if _, err := s.Score(newcomer, domain); err != nil {
			b.Fatal(err)
		}
	}
}
