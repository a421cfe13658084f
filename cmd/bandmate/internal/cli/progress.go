package cli

import (
	"sync"
	"time"

	"bandmate.dev/bandmate/report"
)

// Progress shows an experiment's progress on standard error.
type Progress struct {
	shown   report.Progress
	started bool
}

// NewProgress shows a bar on a terminal, a line now and then elsewhere, and nothing
// with --quiet.
func (a *App) NewProgress() *Progress {
	options, terminal := report.Detect(a.Stderr, a.Env)
	return &Progress{
		shown: report.NewProgress(a.Stderr, report.ProgressOptions{Options: options, Terminal: terminal, Quiet: a.Quiet}),
	}
}

// Progress shows that done of total steps are done, and the next one.
func (p *Progress) Progress(done, total int, next string) { p.Left(total-done, total-done, next) }

// Left implements sampling.Reporter: it shows that least to most steps follow, the first of
// which is next. What an interrupted run did before took no time in this one, and is not
// counted.
func (p *Progress) Left(least, most int, next string) {
	if !p.started {
		p.shown.Start(least)
		p.started = true
	}
	p.shown.Left(least, most)
	p.shown.Step(next)
}

// Share shows what share of the work is done, 0 to 1, and what runs now.
func (p *Progress) Share(done float64, what string) { p.shown.Share(done, what) }

// Done removes the bar.
func (p *Progress) Done() { p.shown.Done() }

// ProgressFunc receives the number of steps done, their total, and the next step.
type ProgressFunc = func(done, total int, next string)

// WithProgress runs what takes long, and shows how far it is until it ends.
func WithProgress[T any](a *App, run func(ProgressFunc) (T, error)) (T, error) {
	progress := a.NewProgress()
	defer progress.Done()
	return run(progress.Progress)
}

// CountDown shows how much is left of a measurement that takes a known time, until
// the returned function is called. What takes seconds only needs no bar.
func (a *App) CountDown(label string, duration time.Duration) (stop func()) {
	const worthwhile, tick = 3 * time.Second, time.Second
	if duration < worthwhile {
		return func() {}
	}
	progress := a.NewProgress()
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
		progress.Done()
	})
}
