package main

import (
	"strings"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// predictionPlot is the picture of a prediction: the target and each of its
// neighbors as a target itself, so that all have an interval. It is empty where no
// picture is wanted.
func (k *knowledge) predictionPlot(names []string, f predictionFlags, wanted cli.PictureFlags) (*report.SlowdownPlot, error) {
	plot := &report.SlowdownPlot{Series: []string{"predicted"}, Limit: units.Slowdown(f.limit)}
	if !wanted.Any() {
		return plot, nil
	}
	known, err := k.find(names, f)
	if err != nil {
		return nil, err
	}
	for i, a := range known.compiled {
		p, err := predictor.Predict(a, cli.Besides(known.compiled, i), predictor.Options{Method: known.method})
		var v report.SlowdownValue
		if err == nil {
			v = cli.PredictedValue(p)
		}
		plot.Rows = append(plot.Rows, report.SlowdownRow{Name: known.profiles[i].Name, Values: []report.SlowdownValue{v}})
	}
	plot.Title = names[0] + " beside " + strings.Join(names[1:], ", ")
	return plot, nil
}
