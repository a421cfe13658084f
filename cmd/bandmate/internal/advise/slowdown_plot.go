package advise

import (
	"strings"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
)

// predictionPlot is the picture of a prediction: the target and each of its
// neighbors as a target itself, so that all have an interval. It is empty where no
// picture is wanted.
func predictionPlot(g *advisor.Group, f predictionFlags, wanted cli.PictureFlags) *report.SlowdownPlot {
	plot := &report.SlowdownPlot{Series: []string{"predicted"}, Limit: f.limit.Slowdown}
	if !wanted.Any() {
		return plot
	}
	var names []string
	for i, e := range g.Entries {
		var v report.SlowdownValue
		if p, err := g.Predict(i, false); err == nil {
			v = cli.PredictedValue(p)
		}
		names = append(names, e.Application.Name())
		plot.Rows = append(plot.Rows, report.SlowdownRow{Name: names[i], Values: []report.SlowdownValue{v}})
	}
	plot.Title = names[0] + " beside " + strings.Join(names[1:], ", ")
	return plot
}
