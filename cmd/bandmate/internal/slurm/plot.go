package slurm

import (
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
)

// advicePlot is the picture of advice for a job of a Slurm cluster.
func advicePlot(by advised) *report.SlowdownPlot {
	machines := map[string]string{}
	for i := range by.cluster.Nodes {
		machines[by.cluster.Nodes[i].Name] = by.advisor.Site.Machine(&by.cluster.Nodes[i])
	}
	known := by.advisor.Advisor
	var places []cli.Judgment
	for _, c := range by.Candidates {
		j := cli.Judgment{Place: c.Node, Jobs: []cli.JudgedJob{{
			Application: known.Lookup(by.Application, c.Machine).Application,
			Known:       c.Score.Newcomer.Known, After: c.Slowdown,
		}}}
		for _, r := range c.Residents {
			j.Jobs = append(j.Jobs, cli.JudgedJob{
				Application: known.Lookup(r.Application, machines[r.Node]).Application, Known: r.Known, After: r.After,
			})
		}
		switch {
		case c.Excluded:
			j.Remark = "excluded"
		case !c.Fits:
			j.Remark = "no room now"
		}
		places = append(places, j)
	}
	return cli.PlacesPlot(by.Application, by.Limit, places)
}
