package main

import (
	"context"
	"math"
	"slices"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/transfer"
)

// pairErrors are errors over pairs, in points.
type pairErrors struct {
	mean, most, coverage float64
}

type tally struct {
	sum, most, rows, covered float64
}

func (t *tally) add(p predictor.Prediction, pair evaluation.Pair) {
	e := 100 * math.Abs(float64(p.NormalizedPerformance-pair.Measured))
	t.sum += e
	t.most = max(t.most, e)
	t.rows++
	if s := max(pair.Measured.Slowdown(), 1); p.Interval.Low <= s && s <= p.Interval.High {
		t.covered++
	}
}

func (t *tally) errors() pairErrors {
	return pairErrors{t.sum / t.rows, t.most, t.covered / t.rows}
}

// transferAll carries the profiles of every application over from one simulated
// machine to another and predicts the pairs there. The streams count as
// co-runners only: the machine was calibrated with them.
func transferAll(from, to *evaluation.Dataset, method string) (pairErrors, error) {
	there, here := machine("from", from), machine("to", to)
	if method == v1alpha1.TransferredBySustained {
		there.Spec.ProbeMap = nil
	}
	apps := map[string]*predictor.Application{}
	for i := range from.Apps {
		profile := measuredThere(&from.Apps[i])
		moved, err := transfer.Profile(profile, there, here)
		if err != nil {
			return pairErrors{}, err
		}
		if apps[moved.Name], err = predictor.Compile(moved); err != nil {
			return pairErrors{}, err
		}
	}
	var t tally
	for _, pair := range to.Pairs {
		if slices.Contains(streams(), pair.Target) {
			continue
		}
		p, err := predictor.Predict(apps[pair.Target], []*predictor.Application{apps[pair.Corunner]}, predictor.Options{})
		if err != nil {
			return pairErrors{}, err
		}
		t.add(p, pair)
	}
	return t.errors(), nil
}

// measuredThere is the profile of four levels at three read shares, as measured
// on the machine from where the application is a target.
func measuredThere(a *evaluation.App) *v1alpha1.ApplicationProfile {
	p := a.Profile(evaluation.Options{ReadShares: readShares(), Levels: []float64{0.25, 0.5, 0.75, 1}})
	p.Spec.Machine.Name = "from"
	c := &p.Spec.Contentiousness
	c.ReadBytesPerSecond, c.WriteBytesPerSecond = float64(a.Local.Traffic.Read), float64(a.Local.Traffic.Write)
	c.Timeline = nil
	return p
}

// without are the errors of a method on the machine itself, or of predicting no
// slowdown, over the same pairs.
func without(d *evaluation.Dataset, method predictor.Method) (pairErrors, error) {
	var t tally
	if method == "" {
		for _, pair := range d.Pairs {
			if !slices.Contains(streams(), pair.Target) {
				t.add(predictor.Prediction{NormalizedPerformance: 1, Interval: predictor.Interval{Low: 1, High: 1}}, pair)
			}
		}
		return t.errors(), nil
	}
	pairs := *d
	pairs.Groups = nil
	_, err := evaluation.Evaluate(context.Background(), &pairs, evaluation.Options{
		Methods: []predictor.Method{method}, ReadShares: readShares(), Levels: []float64{0.25, 0.5, 0.75, 1},
		Each: func(r evaluation.Row) error {
			if !slices.Contains(streams(), r.Target) {
				t.add(predictor.Prediction{NormalizedPerformance: r.Predicted, Interval: r.Interval},
					evaluation.Pair{Target: r.Target, Corunner: r.Corunner, Measured: r.Measured})
			}
			return nil
		},
	})
	return t.errors(), err
}
