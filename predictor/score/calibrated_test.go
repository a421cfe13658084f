package score_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/units"
)

// described compiles the applications of a simulated platform as a model of its
// memory describes them, from three read shares × four levels.
func described(t testing.TB, platform string) []*predictor.Application {
	t.Helper()
	apps := simulated(t, platform, evaluation.Options{
		ReadShares: []units.ReadShare{0.5, 0.75, 1}, Levels: []float64{0.25, 0.5, 0.75, 1},
	})
	c, err := predictor.Calibrate(apps, memory.LinkUnknown)
	if err != nil {
		t.Fatal(err)
	}
	for i := range apps {
		if apps[i], err = c.Apply(apps[i]); err != nil {
			t.Fatal(err)
		}
	}
	return apps
}

// Of many domains the first one by estimate costs hardly more than the best of all,
// however many are there: it loses less than a twentieth of what a random one does.
func TestEstimateFindsTheBestAmongCalibrated(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	for _, platform := range []string{"ddr3x4", "ddr4x2"} {
		apps := described(t, platform)
		sketches := sketched(apps)
		for _, objective := range []score.Objective{score.AddedCost, score.WorstSlowdown} {
			t.Run(fmt.Sprint(platform, " ", objective), func(t *testing.T) {
				s, err := score.New(score.Options{Objective: objective})
				if err != nil {
					t.Fatal(err)
				}
				random := rand.New(rand.NewPCG(1, 2))
				var lost, anyone float64
				for _, residents := range []int{2, 8, 30} {
					const rounds = 10
					var lostHere, anyoneHere float64
					for range rounds {
						first, best, anyOne := chosenByEstimate(t, s, apps, sketches, random, residents)
						lostHere += (first - best) / rounds
						anyoneHere += (anyOne - best) / rounds
					}
					t.Logf("%d residents: mean cost above the best: %.4f by estimate, %.4f of a random domain", residents, lostHere, anyoneHere)
					lost += lostHere
					anyone += anyoneHere
				}
				if lost > anyone/20 {
					t.Errorf("the first by estimate costs %.4f more than the best, a random domain %.4f", lost, anyone)
				}
			})
		}
	}
}

// A newcomer that the model of the memory does not describe makes the curves predict
// everybody. What the two ways differ in is no gain for the residents.
func TestNewcomerByCurvesHelpsNobody(t *testing.T) {
	const platform = "ddr4x2"
	apps, plain := described(t, platform), simulated(t, platform, evaluation.Options{
		ReadShares: []units.ReadShare{0.5, 0.75, 1}, Levels: []float64{0.25, 0.5, 0.75, 1},
	})
	s, err := score.New(score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range apps {
		domain := score.Domain{Name: "node"}
		for k := range 3 {
			a := apps[(i+k)%len(apps)]
			domain.Residents = append(domain.Residents, score.Job{Name: a.Name(), CPUs: 1, Application: a})
		}
		newcomer := plain[(i+3)%len(plain)]
		got, err := s.Score(score.Job{Name: newcomer.Name(), CPUs: 1, Application: newcomer}, domain)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Residents {
			// What is solved in combinations of phases of three is solved at the mean of four.
			if float64(r.Before-r.After) > 0.01 {
				t.Errorf("%s: %.4f before %s, %.4f with it", r.Job, r.Before, newcomer.Name(), r.After)
			}
		}
	}
}

// chosenByEstimate returns the exact cost of the first by estimate of sixteen
// domains of about so many residents, of the best one and of one by chance.
func chosenByEstimate(t *testing.T, s *score.Scorer, apps []*predictor.Application, sketches map[*predictor.Application]*fast.Model,
	random *rand.Rand, residents int,
) (first, best, anyOne float64) {
	t.Helper()
	a := apps[random.IntN(len(apps))]
	const domains = 16
	least := math.Inf(1)
	best = math.Inf(1)
	for range domains {
		l := load(t, s, apps, sketches, random, residents/2+random.IntN(residents))
		if !l.Reliable(sketches[a]) {
			t.Fatal("the estimate is coarse")
		}
		exact, err := s.ScoreLoad(score.Job{Name: "n", Application: a, CPUs: 4}, l)
		if err != nil {
			t.Fatal(err)
		}
		if e := l.Estimate(sketches[a], 4); e < least {
			first, least = exact.Cost, e
		}
		best = min(best, exact.Cost)
		anyOne = exact.Cost
	}
	return first, best, anyOne
}

// What no model describes makes a domain one of coarse estimates: one known by its
// curves alone does, one of which only the traffic is known does not.
func TestFine(t *testing.T) {
	apps := described(t, "ddr4x2")
	byCurves := simulated(t, "ddr4x2", evaluation.Options{})[0]
	background := units.Traffic{Read: 1e9, Write: 1e9}
	sketches := sketched(append(slices.Clone(apps[:3]), byCurves))
	for name, test := range map[string]struct {
		domain   score.Domain
		newcomer *predictor.Application
		want     bool
	}{
		"nobody":                  {score.Domain{}, apps[0], false},
		"described":               {score.Domain{Residents: []score.Job{{Application: apps[1], CPUs: 1}}}, apps[0], true},
		"beside measured traffic": {score.Domain{Residents: []score.Job{{Application: apps[1], CPUs: 1}}, Background: &background}, apps[0], true},
		"beside an unknown one":   {score.Domain{Residents: []score.Job{{Application: apps[1], CPUs: 1}, {Name: "x", CPUs: 1}}}, apps[0], true},
		"beside one by curves":    {score.Domain{Residents: []score.Job{{Application: apps[1], CPUs: 1}, {Application: byCurves, CPUs: 1}}}, apps[0], false},
		"one by curves":           {score.Domain{Residents: []score.Job{{Application: apps[1], CPUs: 1}}}, byCurves, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s score.Scorer
			l, err := s.Prepare(test.domain)
			if err != nil {
				t.Fatal(err)
			}
			var drawn []*fast.Model
			for _, r := range test.domain.Residents {
				drawn = append(drawn, sketches[r.Application])
			}
			s.Tabulate(l, drawn)
			if got := l.Reliable(sketches[test.newcomer]); got != test.want {
				t.Errorf("fine: %v, want %v", got, test.want)
			}
			if !test.want {
				return
			}
			newcomer := score.Job{Application: test.newcomer, CPUs: 2}
			exact, err := s.ScoreLoad(newcomer, l)
			if err != nil {
				t.Fatal(err)
			}
			estimate := l.Estimate(sketches[test.newcomer], 2)
			if off := math.Abs(estimate - exact.Cost); off > 0.02+0.15*exact.Cost {
				t.Errorf("estimated as %.3f, exactly %.3f", estimate, exact.Cost)
			}
		})
	}
}

// Thirty residents, as on a full node, that a model describes: preparing the domain
// for estimates, one of them, and the exact score.
func BenchmarkDescribed30(b *testing.B) {
	apps := described(b, "ddr4x2")
	sketches := sketched(apps)
	var s score.Scorer
	random := rand.New(rand.NewPCG(1, 2))
	l := load(b, &s, apps, sketches, random, 30)
	b.Run("prepare", func(b *testing.B) {
		for b.Loop() {
			load(b, &s, apps, sketches, random, 30)
		}
	})
	b.Run("estimate", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			l.Estimate(sketches[apps[i%len(apps)]], 4)
		}
	})
	b.Run("exact", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.ScoreLoad(score.Job{Application: apps[i%len(apps)], CPUs: 4}, l); err != nil {
				b.Fatal(err)
			}
		}
	})
}
