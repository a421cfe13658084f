package cli

import (
	"math"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// JudgedJob is a resident of a memory domain, or the newcomer: its application, nil
// where there is no profile, and its score.
type JudgedJob struct {
	Name, Remark  string
	Application   *predictor.Application
	Known         bool
	Before, After units.Slowdown
}

// Judgment is what a score says of one place.
type Judgment struct {
	Place, Remark string
	// newcomer, then the residents.
	Jobs []JudgedJob
	// Others press there, too, but have no slowdown.
	Others []*predictor.Application
}

// Value is the slowdown of job number i after the placement. The score has no
// interval; that of a prediction among the same applications is taken where it is
// one of the same slowdown, so where nothing was assumed of anyone.
func (j Judgment) Value(i int) report.SlowdownValue {
	job := j.Jobs[i]
	if !job.Known {
		return report.SlowdownValue{}
	}
	v := report.SlowdownValue{Slowdown: job.After}
	var all []*predictor.Application
	for _, each := range j.Jobs {
		if each.Application == nil {
			return v
		}
		all = append(all, each.Application)
	}
	p, err := predictor.Predict(all[i], append(Besides(all, i), j.Others...), predictor.Options{})
	const same = 1e-6
	if err == nil && math.Abs(float64(p.Slowdown-job.After)) <= same*float64(job.After) {
		return PredictedValue(p)
	}
	return v
}

// Worst is the highest slowdown of the residents.
func (j Judgment) Worst() report.SlowdownValue {
	worst := 0
	for i := 1; i < len(j.Jobs); i++ {
		if j.Jobs[i].Known && (worst == 0 || j.Jobs[i].After > j.Jobs[worst].After) {
			worst = i
		}
	}
	switch {
	case worst > 0:
		return j.Value(worst)
	case len(j.Jobs) == 1:
		return report.SlowdownValue{Missing: "nobody there"}
	}
	return report.SlowdownValue{}
}

// PlacesPlot shows for each place the newcomer and whom it slows down most.
func PlacesPlot(application string, limit units.Slowdown, places []Judgment) *report.SlowdownPlot {
	plot := &report.SlowdownPlot{
		Title: "Where to put " + application, Series: []string{application, "neighbor that suffers most"}, Limit: limit,
		Notes: []string{"Best place first, as the scheduler ranks them. An interval is missing where something was assumed."},
	}
	for _, place := range places {
		plot.Rows = append(plot.Rows, report.SlowdownRow{
			Name: place.Place, Remark: place.Remark, Values: []report.SlowdownValue{place.Value(0), place.Worst()},
		})
	}
	return plot
}

// Besides are all but number i.
func Besides(all []*predictor.Application, i int) []*predictor.Application {
	others := make([]*predictor.Application, 0, len(all)-1)
	return append(append(others, all[:i]...), all[i+1:]...)
}

// PredictedValue returns a prediction as a plot shows it.
func PredictedValue(p predictor.Prediction) report.SlowdownValue {
	return report.SlowdownValue{
		Slowdown: p.Slowdown, Low: p.Interval.Low, High: p.Interval.High, Extrapolated: p.Extrapolated > 0,
	}
}
