package main

import (
	"math"
	"strings"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// predictionPlot is the picture of a prediction: the target and each of its
// neighbors as a target itself, so that all have an interval. It is empty where no
// picture is wanted.
func (k *knowledge) predictionPlot(names []string, f predictionFlags, wanted pictureFlags) (*report.SlowdownPlot, error) {
	plot := &report.SlowdownPlot{Series: []string{"predicted"}, Limit: units.Slowdown(f.limit)}
	if !wanted.any() {
		return plot, nil
	}
	known, err := k.find(names, f)
	if err != nil {
		return nil, err
	}
	for i, a := range known.compiled {
		p, err := predictor.Predict(a, besides(known.compiled, i), predictor.Options{Method: known.method})
		var v report.SlowdownValue
		if err == nil {
			v = predictedValue(p)
		}
		plot.Rows = append(plot.Rows, report.SlowdownRow{Name: known.profiles[i].Name, Values: []report.SlowdownValue{v}})
	}
	plot.Title = names[0] + " beside " + strings.Join(names[1:], ", ")
	return plot, nil
}

// besides are all but number i.
func besides(all []*predictor.Application, i int) []*predictor.Application {
	others := make([]*predictor.Application, 0, len(all)-1)
	return append(append(others, all[:i]...), all[i+1:]...)
}

func predictedValue(p predictor.Prediction) report.SlowdownValue {
	return report.SlowdownValue{
		Slowdown: p.Slowdown, Low: p.Interval.Low, High: p.Interval.High, Extrapolated: p.Extrapolated > 0,
	}
}

// judgedJob is a job of a memory domain, or the one that would come: its application,
// nil where there is no profile, and what the score says.
type judgedJob struct {
	name, remark  string
	application   *predictor.Application
	known         bool
	before, after units.Slowdown
}

// judgment is what a score says of one place.
type judgment struct {
	place, remark string
	// newcomer, then everyone who is there.
	jobs []judgedJob
	// others press there, too, but have no slowdown.
	others []*predictor.Application
}

// value is the slowdown of job number i after the placement. The score has no
// interval; that of a prediction among the same applications is taken where it is
// one of the same slowdown, so where nothing was assumed of anyone.
func (j judgment) value(i int) report.SlowdownValue {
	job := j.jobs[i]
	if !job.known {
		return report.SlowdownValue{}
	}
	v := report.SlowdownValue{Slowdown: job.after}
	var all []*predictor.Application
	for _, each := range j.jobs {
		if each.application == nil {
			return v
		}
		all = append(all, each.application)
	}
	p, err := predictor.Predict(all[i], append(besides(all, i), j.others...), predictor.Options{})
	const same = 1e-6
	if err == nil && math.Abs(float64(p.Slowdown-job.after)) <= same*float64(job.after) {
		return predictedValue(p)
	}
	return v
}

// worst is the highest slowdown of those who are there already.
func (j judgment) worst() report.SlowdownValue {
	worst := 0
	for i := 1; i < len(j.jobs); i++ {
		if j.jobs[i].known && (worst == 0 || j.jobs[i].after > j.jobs[worst].after) {
			worst = i
		}
	}
	switch {
	case worst > 0:
		return j.value(worst)
	case len(j.jobs) == 1:
		return report.SlowdownValue{Missing: "nobody there"}
	}
	return report.SlowdownValue{}
}

// placesPlot shows for each place the newcomer and whom it slows down most.
func placesPlot(application string, limit units.Slowdown, places []judgment) *report.SlowdownPlot {
	plot := &report.SlowdownPlot{
		Title: "Where to put " + application, Series: []string{application, "neighbor that suffers most"}, Limit: limit,
		Notes: []string{"Best place first, as the scheduler ranks them. An interval is missing where something was assumed."},
	}
	for _, place := range places {
		plot.Rows = append(plot.Rows, report.SlowdownRow{
			Name: place.place, Remark: place.remark, Values: []report.SlowdownValue{place.value(0), place.worst()},
		})
	}
	return plot
}

// placePlot shows everyone at one place without and with the newcomer.
func placePlot(application string, limit units.Slowdown, place judgment) *report.SlowdownPlot {
	plot := &report.SlowdownPlot{
		Title: application + " on " + place.place, Series: []string{"without " + application, "with it"}, Limit: limit,
		Notes: []string{"Intervals are those with it, and missing where something was assumed."},
	}
	for i, job := range place.jobs {
		before := report.SlowdownValue{Slowdown: job.before}
		switch {
		case i == 0:
			before = report.SlowdownValue{Missing: "not there yet"}
		case !job.known:
			before = report.SlowdownValue{}
		}
		plot.Rows = append(plot.Rows, report.SlowdownRow{
			Name: job.name, Remark: job.remark, Values: []report.SlowdownValue{before, place.value(i)},
		})
	}
	return plot
}

// judgmentOf is a verdict of the scheduler plugin.
func judgmentOf(v verdict) judgment {
	seen := v.seen
	j := judgment{place: v.Node, remark: v.why(), jobs: []judgedJob{{
		name: "the pod", application: seen.Newcomer.Application, known: seen.Score.Newcomer.Known, after: seen.Score.Newcomer.After,
	}}}
	for i, r := range seen.Residents {
		e := seen.Score.Residents[i]
		j.jobs = append(j.jobs, judgedJob{
			name: r.Pod.Namespace + "/" + r.Pod.Name, remark: r.Pod.Application, application: r.Entry.Application,
			known: e.Known, before: e.Before, after: e.After,
		})
	}
	if seen.Background != nil {
		if others, err := score.Assumed("background", *seen.Background); err == nil {
			j.others = append(j.others, others)
		}
	}
	return j
}

// whatIfPlot is the picture of what-if: all nodes, or everyone on one; empty where
// no picture is wanted.
func whatIfPlot(answer whatIfAnswer, f whatIfFlags) *report.SlowdownPlot {
	if !f.pictures.any() {
		return &report.SlowdownPlot{}
	}
	limit := units.Slowdown(answer.Limit)
	if f.node != "" {
		return placePlot(answer.Application, limit, judgmentOf(answer.Nodes[0]))
	}
	var places []judgment
	for _, v := range answer.Nodes {
		places = append(places, judgmentOf(v))
	}
	return placesPlot(answer.Application, limit, places)
}

// advicePlot is the picture of advice for a job of a Slurm cluster.
func advicePlot(by advised) *report.SlowdownPlot {
	machines := map[string]string{}
	for i := range by.cluster.Nodes {
		machines[by.cluster.Nodes[i].Name] = by.advisor.Site.Machine(&by.cluster.Nodes[i])
	}
	known := by.advisor.Roster
	var places []judgment
	for _, c := range by.Candidates {
		j := judgment{place: c.Node, jobs: []judgedJob{{
			application: known.Lookup(by.Application, c.Machine).Application,
			known:       c.Score.Newcomer.Known, after: c.Slowdown,
		}}}
		for _, r := range c.Residents {
			j.jobs = append(j.jobs, judgedJob{
				application: known.Lookup(r.Application, machines[r.Node]).Application, known: r.Known, after: r.After,
			})
		}
		switch {
		case c.Excluded:
			j.remark = "excluded"
		case !c.Fits:
			j.remark = "no room now"
		}
		places = append(places, j)
	}
	return placesPlot(by.Application, by.Limit, places)
}
