package page

import (
	"errors"
	"math"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/units"
)

// MaxExact is the most applications of which the page carries every pair. Its
// square is the number of predictions, 40,000: some 2 MB.
const MaxExact = 200

// predict sets Pairs, Suffers and Causes. Above MaxExact applications it leaves Pairs
// empty and approximates the rest.
func (d *Data) predict(apps []*predictor.Application) error {
	n := len(apps)
	if n > MaxExact {
		d.rank(apps, fast.NewPairs(apps).Row)
		return nil
	}
	d.Pairs = make([][]Pair, n)
	for i, target := range apps {
		d.Pairs[i] = make([]Pair, n)
		for j, corunner := range apps {
			p, err := predictor.Predict(target, []*predictor.Application{corunner}, predictor.Options{})
			switch {
			case err == nil:
				d.Pairs[i][j] = newPair(p)
			case !errors.Is(err, predictor.ErrNoCurves) && !errors.Is(err, predictor.ErrNoContentiousness):
				return err
			}
		}
	}
	d.rank(apps, func(dst []units.NormalizedPerformance, i int) []units.NormalizedPerformance {
		for _, p := range d.Pairs[i] {
			performance := units.NormalizedPerformance(math.NaN())
			if p != nil {
				performance = units.NormalizedPerformance(1 / p[0])
			}
			dst = append(dst, performance)
		}
		return dst
	})
	return nil
}

func newPair(p predictor.Prediction) Pair {
	numbers := Pair{float64(p.Slowdown), float64(p.Interval.Low), float64(p.Interval.High), 0, float64(p.Extrapolated), 0}
	if p.Basis == predictor.MemoryModel {
		numbers[3] = 1
	}
	if p.Parts != nil {
		numbers[5] = float64(p.Parts.MemorySlowdown)
	}
	for numbers[len(numbers)-1] == 0 {
		numbers = numbers[:len(numbers)-1]
	}
	return numbers
}

// mean is a sum of slowdowns and how many they are.
type mean struct {
	sum   float64
	count int
}

func (m *mean) add(v float64) { m.sum, m.count = m.sum+v, m.count+1 }

func (m *mean) value() *float64 {
	if m.count == 0 || math.IsInf(m.sum, 0) || math.IsNaN(m.sum) {
		return nil
	}
	return new(m.sum / float64(m.count))
}

// rank sets Suffers and Causes from a row of performances for each target.
func (d *Data) rank(apps []*predictor.Application, row func([]units.NormalizedPerformance, int) []units.NormalizedPerformance) {
	n := len(apps)
	suffers, causes := make([]mean, n), make([]mean, n)
	var performances []units.NormalizedPerformance
	for i, a := range apps {
		sensitive, _ := a.Known()
		if !sensitive {
			continue
		}
		performances = row(performances[:0], i)
		for j, p := range performances {
			_, contentious := apps[j].Known()
			if !contentious || (i == j && n > 1) {
				continue
			}
			slowdown := float64(p.Slowdown())
			suffers[i].add(slowdown)
			causes[j].add(slowdown)
		}
	}
	for i := range d.Applications {
		d.Applications[i].Suffers, d.Applications[i].Causes = suffers[i].value(), causes[i].value()
	}
}
