package cluster

import (
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// judgmentOf is a verdict of the scheduler plugin.
func judgmentOf(v Verdict) cli.Judgment {
	seen := v.seen
	j := cli.Judgment{Place: v.Node, Remark: v.why(), Jobs: []cli.JudgedJob{{
		Name: "the pod", Application: seen.Newcomer.Application, Known: seen.Score.Newcomer.Known, After: seen.Score.Newcomer.After,
	}}}
	for i, r := range seen.Residents {
		e := seen.Score.Residents[i]
		j.Jobs = append(j.Jobs, cli.JudgedJob{
			Name: r.Namespace + "/" + r.Name, Remark: r.Application, Application: r.Entry.Application,
			Known: e.Known, Before: e.Before, After: e.After,
		})
	}
	if seen.Background != nil {
		if others, err := predictor.Assumed("background", *seen.Background); err == nil {
			j.Others = append(j.Others, others)
		}
	}
	return j
}

// whatIfPlot is the picture of what-if: all nodes, or everyone on one; empty where
// no picture is wanted.
func whatIfPlot(answer WhatIfAnswer, f whatIfFlags) *report.SlowdownPlot {
	if !f.pictures.Any() {
		return &report.SlowdownPlot{}
	}
	limit := units.Slowdown(answer.Limit)
	if f.node != "" {
		return placePlot(answer.Application, limit, judgmentOf(answer.Nodes[0]))
	}
	var places []cli.Judgment
	for _, v := range answer.Nodes {
		places = append(places, judgmentOf(v))
	}
	return cli.PlacesPlot(answer.Application, limit, places)
}

// placePlot shows everyone at one place without and with the newcomer.
func placePlot(application string, limit units.Slowdown, place cli.Judgment) *report.SlowdownPlot {
	plot := &report.SlowdownPlot{
		Title: application + " on " + place.Place, Series: []string{"without " + application, "with it"}, Limit: limit,
		Notes: []string{"Intervals are those with it, and missing where something was assumed."},
	}
	for i, job := range place.Jobs {
		before := report.SlowdownValue{Slowdown: job.Before}
		switch {
		case i == 0:
			before = report.SlowdownValue{Missing: "not there yet"}
		case !job.Known:
			before = report.SlowdownValue{}
		}
		plot.Rows = append(plot.Rows, report.SlowdownRow{
			Name: job.Name, Remark: job.Remark, Values: []report.SlowdownValue{before, place.Value(i)},
		})
	}
	return plot
}
