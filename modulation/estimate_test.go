package modulation

import (
	"math"
	"math/rand/v2"
	"testing"
)

// alongThirds returns n readings of a program whose performance is 0.9, 0.5 and 0.7 in
// the thirds of a run of 3 s, from a part of the runs: 1.5 is one and a half.
func alongThirds(random *rand.Rand, n int, runs, noise float64) []Reading {
	var readings []Reading
	for i := range n {
		whole, at := math.Modf(runs * float64(i) / float64(n))
		performance := []float64{0.9, 0.5, 0.7}[int(3*at)]
		y := math.Log(performance) + noise*random.NormFloat64()
		readings = append(readings, Reading{Log: y, Run: int(whole), Position: 3 * at, Alone: 1, Beside: math.Exp(y)})
	}
	return readings
}

// thirds is the performance of a whole run of alongThirds.
const thirds = 3 / (1/0.9 + 1/0.5 + 1/0.7)

func TestSummarizeWeighsByWork(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, runs := range []float64{1, 1.4, 2, 2.3, 5} {
		e := Summarize(alongThirds(random, 300, runs, 0.02), random)
		if !e.Phases || math.Abs(e.Performance-thirds) > 0.005 {
			t.Errorf("%v runs: %+v, want %.4f", runs, e, thirds)
		}
		// One run does not show that the next is the same.
		if sure := e.StandardError < 0.006; sure != (runs >= 2) {
			t.Errorf("%v runs: standard error %.4f", runs, e.StandardError)
		}
		if e.Spread < 0.013 || e.Spread > 0.03 {
			t.Errorf("%v runs: spread %.3f, want 0.02", runs, e.Spread)
		}
	}
	// Work that is counted in other units is the same work.
	readings := alongThirds(random, 300, 3, 0.02)
	for i, r := range readings {
		if r.Position > 1 {
			readings[i].Position = 1 + 10*(r.Position-1)
			readings[i].Alone, readings[i].Beside = 10*r.Alone, 10*r.Beside
		}
	}
	if e := Summarize(readings, random); math.Abs(e.Performance-thirds) > 0.005 {
		t.Errorf("with unequal ticks: %+v, want %.4f", e, thirds)
	}
}

func TestSummarizeFewReadings(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 1))
	one := Summarize([]Reading{{Log: math.Log(0.8), Alone: 1}}, random)
	if math.Abs(one.Performance-0.8) > 1e-12 || !math.IsInf(one.StandardError, 1) || one.Low != 0 || !math.IsInf(one.High, 1) {
		t.Errorf("of one reading: %+v", one)
	}
	var equal []Reading
	for range 100 {
		equal = append(equal, Reading{Alone: 1, Beside: 1})
	}
	e := Summarize(equal, random)
	if e.Performance != 1 || e.StandardError != 0 || e.Low != 1 || e.High != 1 || e.Phases || e.Spread != 0 || e.Readings != 100 {
		t.Errorf("of equal readings: %+v", e)
	}
}

// TestSummarizeBearsInterruptions has one in ten readings be far off.
func TestSummarizeBearsInterruptions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	var readings []Reading
	for i := range 200 {
		y := math.Log(0.8) + 0.02*random.NormFloat64()
		if i%10 == 3 {
			y -= 3
		}
		readings = append(readings, Reading{Log: y, Position: float64(i), Alone: 1})
	}
	if e := Summarize(readings, random); math.Abs(e.Performance-0.8) > 0.005 || e.Spread > 0.04 || e.Phases {
		t.Errorf("%+v, want 0.8", e)
	}
}

// TestSummarizeSeldomSeesPhases counts false phases in noise.
func TestSummarizeSeldomSeesPhases(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1))
	seen := 0
	for range 300 {
		var readings []Reading
		for i := range 60 {
			readings = append(readings, Reading{Log: 0.05 * random.NormFloat64(), Position: float64(i), Alone: 1})
		}
		if differ(along(readings)) {
			seen++
		}
	}
	if seen > 4 {
		t.Errorf("noise was taken for phases %d times in 300", seen)
	}
}

// TestBootstrapsAgreeWithTheFormula compares the standard error with that of a
// trimmed mean (Tukey and McLaughlin 1963).
func TestBootstrapsAgreeWithTheFormula(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	for _, n := range []int{10, 30, 60, 400} {
		ratio := 0.0
		const repeats = 60
		for range repeats {
			var readings []Reading
			logs := make([]float64, n)
			for i := range logs {
				logs[i] = 0.05 * random.NormFloat64()
				readings = append(readings, Reading{Log: logs[i], Position: float64(i), Alone: 1})
			}
			e := Summarize(readings, random)
			_, se := trimmedError(logs)
			ratio += e.StandardError / e.Performance / se / repeats
		}
		if ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%d readings: the standard error is %.2f times that by the formula", n, ratio)
		}
	}
}
