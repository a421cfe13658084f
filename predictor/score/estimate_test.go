package score_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// simulated compiles the applications of a simulated platform, of whose curves the
// options take a part.
func simulated(t testing.TB, platform string, o evaluation.Options) []*predictor.Application {
	t.Helper()
	d, err := evaluation.Read(os.DirFS("../testdata/simulated/" + platform))
	if err != nil {
		t.Fatal(err)
	}
	var apps []*predictor.Application
	for _, a := range d.Apps {
		app, err := predictor.Compile(a.Profile(o))
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, app)
	}
	return apps
}

func sketched(apps []*predictor.Application) map[*predictor.Application]*fast.Model {
	sketches := map[*predictor.Application]*fast.Model{}
	for _, a := range apps {
		sketches[a] = fast.New(a)
	}
	return sketches
}

// load prepares a domain of n residents drawn from apps.
func load(t testing.TB, s *score.Scorer, apps []*predictor.Application, sketches map[*predictor.Application]*fast.Model, random *rand.Rand, n int) *score.Load {
	t.Helper()
	d := score.Domain{Name: "d"}
	var drawn []*fast.Model
	for range n {
		a := apps[random.IntN(len(apps))]
		d.Residents = append(d.Residents, score.Job{Name: a.Name(), Application: a, CPUs: float64(1 + random.IntN(8))})
		drawn = append(drawn, sketches[a])
	}
	l, err := s.Prepare(d)
	if err != nil {
		t.Fatal(err)
	}
	s.Tabulate(l, drawn)
	return l
}

// Of forty domains, the one that estimates put among the first four costs hardly
// more than the best of all.
func TestEstimateFindsTheBest(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	for _, platform := range []string{"ddr3x4", "ddr4x2"} {
		for _, objective := range []score.Objective{score.AddedCost, score.WorstSlowdown} {
			t.Run(fmt.Sprint(platform, " ", objective), func(t *testing.T) {
				apps := simulated(t, platform, evaluation.Options{})
				sketches := sketched(apps)
				s, err := score.New(score.Options{Objective: objective})
				if err != nil {
					t.Fatal(err)
				}
				random := rand.New(rand.NewPCG(1, 2))
				var lost, random1 float64
				const rounds, domains, shortlist = 25, 40, 4
				for range rounds {
					a := apps[random.IntN(len(apps))]
					newcomer := score.Job{Name: "n", Application: a, CPUs: 4}
					type candidate struct{ estimate, exact float64 }
					var all []candidate
					for range domains {
						l := load(t, s, apps, sketches, random, 1+random.IntN(3))
						exact, err := s.ScoreLoad(newcomer, l)
						if err != nil {
							t.Fatal(err)
						}
						all = append(all, candidate{l.Estimate(sketches[a], newcomer.CPUs), exact.Cost})
					}
					best := slices.MinFunc(all, func(a, b candidate) int { return compare(a.exact, b.exact) })
					random1 += all[0].exact - best.exact
					slices.SortFunc(all, func(a, b candidate) int { return compare(a.estimate, b.estimate) })
					found := slices.MinFunc(all[:shortlist], func(a, b candidate) int { return compare(a.exact, b.exact) })
					lost += found.exact - best.exact
				}
				t.Logf("mean cost above the best: %.4f from the shortlist, %.4f of a random domain", lost/rounds, random1/rounds)
				if lost > random1/20 {
					t.Errorf("the shortlist costs %.4f more than the best, a random domain %.4f", lost/rounds, random1/rounds)
				}
			})
		}
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestEstimateOfNothing(t *testing.T) {
	var s score.Scorer
	empty, err := s.Prepare(score.Domain{})
	if err != nil {
		t.Fatal(err)
	}
	s.Tabulate(empty, nil)
	if cost := empty.Estimate(nil, 4); cost != 0 {
		t.Errorf("an unknown newcomer in an empty domain costs %v", cost)
	}
	unprofiled := fast.New(predictor.Unprofiled("x"))
	if cost := empty.Estimate(unprofiled, 4); cost != 0 {
		t.Errorf("an unprofiled newcomer in an empty domain costs %v", cost)
	}
}

func TestPrepareRefuses(t *testing.T) {
	var s score.Scorer
	for name, d := range map[string]score.Domain{
		"a resident of negative size":      {Residents: []score.Job{{CPUs: -1}}},
		"a background that is none":        {Background: &units.Traffic{Read: -1}},
		"a background beyond all measures": {Background: &units.Traffic{Read: units.Bandwidth(inf())}},
	} {
		if _, err := s.Prepare(d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func inf() float64 {
	huge := 1e308
	return huge * 10
}

func TestBackground(t *testing.T) {
	known, err := predictor.Assumed("a", units.Traffic{Read: 10, Write: 5})
	if err != nil {
		t.Fatal(err)
	}
	residents := []score.Job{{Application: known}, {}}
	if got := score.Background(units.Traffic{Read: 12, Write: 3}, residents); got != (units.Traffic{Read: 2}) {
		t.Errorf("%+v", got)
	}
}

func BenchmarkEstimate(b *testing.B) {
	apps := simulated(b, "ddr4x2", evaluation.Options{})
	sketches := sketched(apps)
	var s score.Scorer
	random := rand.New(rand.NewPCG(1, 2))
	l := load(b, &s, apps, sketches, random, 30)
	k := sketches[apps[3]]
	for b.Loop() {
		l.Estimate(k, 4)
	}
}

// Thirty residents, as on a full node.
func BenchmarkPrepare30(b *testing.B) {
	apps := simulated(b, "ddr4x2", evaluation.Options{})
	sketches := sketched(apps)
	var s score.Scorer
	random := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		load(b, &s, apps, sketches, random, 30)
	}
}

func BenchmarkScoreLoad(b *testing.B) {
	apps := simulated(b, "ddr4x2", evaluation.Options{})
	sketches := sketched(apps)
	for _, n := range []int{1, 2, 4, 8, 16, 30} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var s score.Scorer
			random := rand.New(rand.NewPCG(1, 2))
			l := load(b, &s, apps, sketches, random, n)
			i := 0
			for b.Loop() {
				if _, err := s.ScoreLoad(score.Job{Application: apps[i%len(apps)], CPUs: 4}, l); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
