package pairing

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"bandmate.dev/bandmate/units"
)

// square is a problem given by a matrix: [i][j] is the slowdown of i beside j.
func square(limit units.Slowdown, m [][]units.Slowdown) Problem {
	return Problem{
		Jobs: len(m), Limit: limit,
		Slowdowns: func(i, j int) (units.Slowdown, units.Slowdown) { return m[i][j], m[j][i] },
	}
}

func TestOptimalByHand(t *testing.T) {
	// The cheapest pair, 0 with 1, leaves 2 with 3, which is dear.
	four := [][]units.Slowdown{
		{0, 1.0, 1.2, 1.3},
		{1.0, 0, 1.3, 1.2},
		{1.2, 1.3, 0, 3.0},
		{1.3, 1.2, 3.0, 0},
	}
	// With 2 it is slow in one direction only.
	three := [][]units.Slowdown{
		{0, 1.5, 1.1},
		{1.5, 0, 1.1},
		{1.1, 1.9, 0},
	}
	tests := []struct {
		name    string
		problem Problem
		want    []int
		total   float64
		worst   units.Slowdown
		over    int
	}{
		{"one job", square(0, four[:1]), []int{Alone}, 1, 1, 0},
		{"two jobs", square(0, four[:2]), []int{1, 0}, 2, 1, 0},
		{"greedy would be worse", square(0, four), []int{2, 3, 0, 1}, 4.8, 1.2, 0},
		{"one stays alone", square(0, three), []int{2, Alone, 0}, 3.2, 1.1, 0},
		{"a limit that the best keeps", square(1.1, four[:3]), []int{1, 0, Alone}, 3, 1, 0},
		{"a limit is kept at a price", square(1.25, [][]units.Slowdown{
			{0, 1, 1.2, 1.2}, {1.3, 0, 1.2, 1.2}, {1.2, 1.2, 0, 1}, {1.2, 1.2, 1, 0},
		}), []int{2, 3, 0, 1}, 4.8, 1.2, 0},
		{"a limit that cannot be kept", square(1.01, [][]units.Slowdown{{0, 1.5}, {1.5, 0}}), []int{1, 0}, 3, 1.5, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Optimal(t.Context(), test.problem)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range test.want {
				if p.Partner[i] != want {
					t.Fatalf("partners %v, want %v", p.Partner, test.want)
				}
			}
			if math.Abs(p.Total-test.total) > 1e-9 || p.Worst != test.worst || p.OverLimit != test.over {
				t.Errorf("%+v, want total %v, worst %v, %d over the limit", p, test.total, test.worst, test.over)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	none := Problem{Slowdowns: func(i, j int) (units.Slowdown, units.Slowdown) { return 1, 1 }}
	if _, err := Optimal(t.Context(), none); !errors.Is(err, ErrNoJobs) {
		t.Errorf("no jobs: %v", err)
	}
	for _, bad := range []units.Slowdown{0, -1, units.Slowdown(math.NaN()), units.Slowdown(math.Inf(1))} {
		p := Problem{Jobs: 2, Slowdowns: func(i, j int) (units.Slowdown, units.Slowdown) { return 1, bad }}
		if _, err := Optimal(t.Context(), p); err == nil {
			t.Errorf("slowdown %v: no error", bad)
		}
		if _, err := Greedy(p); err == nil {
			t.Errorf("greedy, slowdown %v: no error", bad)
		}
	}
	if _, err := AverageRandom(Problem{Jobs: 2, Slowdowns: none.Slowdowns, Limit: 0.5}); err == nil {
		t.Error("a limit below 1: no error")
	}
}

func drawProblem(t *rapid.T, most int) Problem {
	jobs := rapid.IntRange(1, most).Draw(t, "jobs")
	// Few different values make many ties, which make blossoms.
	values := rapid.SliceOfN(rapid.Float64Range(0.9, 20), 1, 6).Draw(t, "values")
	m := make([][]units.Slowdown, jobs)
	for i := range m {
		m[i] = make([]units.Slowdown, jobs)
		for j := range m[i] {
			m[i][j] = units.Slowdown(rapid.SampledFrom(values).Draw(t, "slowdown"))
		}
	}
	limit := units.Slowdown(0)
	if rapid.Bool().Draw(t, "limited") {
		limit = units.Slowdown(rapid.Float64Range(1, 10).Draw(t, "limit"))
	}
	return square(limit, m)
}

// bruteForce tries every pairing: fewest over the limit, then least total.
func bruteForce(t *table) (over int, total float64) {
	over, total = math.MaxInt, math.Inf(1)
	used := make([]bool, t.places)
	var place func(left, soFarOver int, soFar float64)
	place = func(left, soFarOver int, soFar float64) {
		if left == 0 {
			if soFarOver < over || soFarOver == over && soFar < total {
				over, total = soFarOver, soFar
			}
			return
		}
		i := 0
		for used[i] {
			i++
		}
		used[i] = true
		for j := i + 1; j < t.places; j++ {
			if used[j] {
				continue
			}
			used[j] = true
			more := soFarOver
			if t.overLimit(i, j) {
				more++
			}
			place(left-2, more, soFar+t.cost(i, j))
			used[j] = false
		}
		used[i] = false
	}
	place(t.places, 0, 0)
	return over, total
}

func TestOptimalIsNoWorseThanAnyPairing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		problem := drawProblem(t, 8)
		table, err := newTable(problem)
		if err != nil {
			t.Fatal(err)
		}
		over, total := bruteForce(table)
		w := newWeights(table)
		matched, err := w.byBlossoms(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, partner := range map[string][]int{"subsets": w.bySubsets(), "blossoms": matched} {
			p := table.pairing(partner)
			if p.OverLimit != over || math.Abs(p.Total-total) > 1e-6 {
				t.Fatalf("%s: %+v, brute force %v with %d over the limit", name, p, total, over)
			}
		}
	})
}

func TestBlossomsAgreeWithSubsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, err := newTable(drawProblem(t, 14))
		if err != nil {
			t.Fatal(err)
		}
		w := newWeights(table)
		matched, err := w.byBlossoms(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		bySubsets, byBlossoms := table.pairing(w.bySubsets()), table.pairing(matched)
		if bySubsets.OverLimit != byBlossoms.OverLimit || math.Abs(bySubsets.Total-byBlossoms.Total) > 1e-6 {
			t.Fatalf("subsets %+v, blossoms %+v", bySubsets, byBlossoms)
		}
	})
}

func TestOptimalStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := Optimal(ctx, randomProblem(40, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", p, err)
	}
}

// On larger problems nothing exact is at hand to compare with, but no exchange
// of partners between two pairs may help, and greedy may not be better.
func TestLargePairingsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.IntRange(17, 60).Draw(t, "jobs")
		problem := randomProblem(jobs, rapid.Uint64().Draw(t, "seed"))
		best, err := Optimal(t.Context(), problem)
		if err != nil {
			t.Fatal(err)
		}
		alone := 0
		for i, j := range best.Partner {
			if j == Alone {
				alone++
			} else if best.Partner[j] != i {
				t.Fatalf("%d has %d, which has %d", i, j, best.Partner[j])
			}
		}
		if alone != jobs%2 {
			t.Fatalf("%d of %d jobs alone", alone, jobs)
		}
		greedy, err := Greedy(problem)
		if err != nil {
			t.Fatal(err)
		}
		random, err := AverageRandom(problem)
		if err != nil {
			t.Fatal(err)
		}
		if best.Total > greedy.Total+1e-6 || best.Total > random+1e-6 {
			t.Fatalf("optimal %v, greedy %v, random %v", best.Total, greedy.Total, random)
		}
		table, _ := newTable(problem)
		checkExchanges(t, table, best)
	})
}

func checkExchanges(t *rapid.T, table *table, p Pairing) {
	partner := func(i int) int {
		if p.Partner[i] == Alone {
			return table.jobs
		}
		return p.Partner[i]
	}
	for i := range table.jobs {
		for k := range table.jobs {
			j, l := partner(i), partner(k)
			if k == i || k == j {
				continue
			}
			now := table.cost(i, j) + table.cost(k, l)
			if then := table.cost(i, l) + table.cost(k, j); l != i && then < now-1e-6 {
				t.Fatalf("%d-%d and %d-%d cost %v, exchanged %v", i, j, k, l, now, then)
			}
		}
	}
}

func TestAverageRandomIsTheMeanOfAllPairings(t *testing.T) {
	m := [][]units.Slowdown{{0, 1.1, 1.4, 2}, {1, 0, 1.3, 1.2}, {1.5, 1.1, 0, 1}, {1, 1, 1.8, 0}}
	got, err := AverageRandom(square(0, m))
	if err != nil {
		t.Fatal(err)
	}
	pair := func(i, j int) float64 { return float64(m[i][j] + m[j][i]) }
	want := (pair(0, 1) + pair(2, 3) + pair(0, 2) + pair(1, 3) + pair(0, 3) + pair(1, 2)) / 3
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
}

// randomProblem is jobs of random sensitivity and contentiousness, which is what
// slowdowns look like.
func randomProblem(jobs int, seed uint64) Problem {
	source := rand.New(rand.NewPCG(seed, 0))
	sensitivity, contentiousness := make([]float64, jobs), make([]float64, jobs)
	for i := range jobs {
		sensitivity[i], contentiousness[i] = source.ExpFloat64(), source.Float64()
	}
	of := func(i, j int) units.Slowdown { return units.Slowdown(1 + sensitivity[i]*contentiousness[j]) }
	return Problem{Jobs: jobs, Slowdowns: func(i, j int) (units.Slowdown, units.Slowdown) { return of(i, j), of(j, i) }}
}

func BenchmarkOptimal(b *testing.B) {
	for _, jobs := range []int{16, 100, 1000} {
		b.Run(map[int]string{16: "16", 100: "100", 1000: "1000"}[jobs], func(b *testing.B) {
			problem := randomProblem(jobs, 1)
			for b.Loop() {
				if _, err := Optimal(b.Context(), problem); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Slowdowns without any structure are harder for the algorithm than real ones.
func BenchmarkOptimalUnstructured(b *testing.B) {
	source := rand.New(rand.NewPCG(1, 0))
	const jobs = 1000
	m := make([]units.Slowdown, jobs*jobs)
	for i := range m {
		m[i] = units.Slowdown(1 + source.Float64())
	}
	problem := Problem{Jobs: jobs, Slowdowns: func(i, j int) (units.Slowdown, units.Slowdown) { return m[i*jobs+j], m[j*jobs+i] }}
	for b.Loop() {
		if _, err := Optimal(b.Context(), problem); err != nil {
			b.Fatal(err)
		}
	}
}
