package main

import (
	"sync"
	"time"

	"bandmate.dev/bandmate/report"
)

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

// progressFunc is told how many steps are done, of how many, and the next one.
type progressFunc = func(done, total int, next string)

// withProgress runs what takes long, and shows how far it is until it ends.
func withProgress[T any](a *app, run func(progressFunc) (T, error)) (T, error) {
	progress := a.progress()
	defer progress.done()
	return run(progress.Progress)
}

// countDown shows how much is left of a measurement that takes a known time, until
// the returned function is called. What takes seconds only needs no bar.
func (a *app) countDown(label string, duration time.Duration) (stop func()) {
	const worthwhile, tick = 3 * time.Second, time.Second
	if duration < worthwhile {
		return func() {}
	}
	progress := a.progress()
	ended := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		total := int(duration / tick)
		for second := range total {
			progress.Progress(second, total, label)
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		shown.Wait()
		progress.done()
	})
}
