package main

import "bandmate.dev/bandmate/report"

// experimentProgress shows an experiment's progress on standard error.
type experimentProgress struct {
	shown   report.Progress
	started bool
}

// progress shows a bar on a terminal, a line now and then elsewhere, and
// nothing when told to be quiet.
func (a *app) progress() *experimentProgress {
	options, terminal := report.Detect(a.stderr, a.env)
	return &experimentProgress{
		shown: report.NewProgress(a.stderr, report.ProgressOptions{Options: options, Terminal: terminal, Quiet: a.quiet}),
	}
}

// Progress implements onboard.Reporter.
func (p *experimentProgress) Progress(done, total int, next string) {
	if !p.started {
		// What an interrupted run took before took no time in this one.
		p.shown.Start(total - done)
		p.started = true
	}
	p.shown.Step(next)
}

func (p *experimentProgress) done() { p.shown.Done() }
