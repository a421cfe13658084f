package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress tells a person what runs and how long it will still take. Its
// methods may be called from several goroutines.
type Progress interface {
	// Start begins an experiment of total steps; a total of 0 is not known.
	Start(total int)
	// Step says that the previous step, if any, has ended and the next one,
	// called label, begins.
	Step(label string)
	// Done ends the report and leaves a clean line, whether all steps were
	// taken or not. It may be called more than once, so that a deferred call
	// covers interruption.
	Done()
}

// ProgressOptions say how progress is shown.
type ProgressOptions struct {
	Options
	// Terminal redraws one line; without it a plain line is written now and
	// then.
	Terminal bool
	// Quiet shows nothing.
	Quiet bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// plainInterval is the least time between two plain lines.
const plainInterval = 10 * time.Second

// NewProgress returns a Progress that writes to w, usually standard error.
func NewProgress(w io.Writer, o ProgressOptions) Progress {
	if o.Quiet {
		return silent{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &progress{options: o}
	if o.Terminal {
		p.display = &barDisplay{w: w, options: o.Options}
	} else {
		p.display = &lineDisplay{w: w, options: o.Options, now: o.Now}
	}
	return p
}

// silent is the Progress that shows nothing.
type silent struct{}

func (silent) Start(int)   {}
func (silent) Step(string) {}
func (silent) Done()       {}

// progress counts steps and estimates the time left; a display shows them.
type progress struct {
	options ProgressOptions
	display display

	mu      sync.Mutex
	total   int
	begun   int
	started time.Time
	done    bool
}

// display shows the state of a progress. Writing to a terminal that is gone
// is no reason to end an experiment, so errors of the writer are dropped.
type display interface {
	show(state progressState)
	end()
}

// progressState is what a display may show: the step that runs, how many have
// ended and, once that can be told, how long the rest takes.
type progressState struct {
	label        string
	ended, total int
	left         time.Duration
	leftKnown    bool
}

func (p *progress) Start(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.begun, p.started, p.done = max(0, total), 0, p.options.Now(), false
}

func (p *progress) Step(label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	state := progressState{label: p.options.text(label), ended: p.begun, total: p.total}
	if p.total > 0 && p.begun >= p.total {
		// More steps than announced: the experiment repeats some.
		state.total = p.begun + 1
	}
	if state.total > 0 && p.begun > 0 {
		each := p.options.Now().Sub(p.started) / time.Duration(p.begun)
		state.left, state.leftKnown = each*time.Duration(state.total-p.begun), true
	}
	p.begun++
	p.display.show(state)
}

func (p *progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.done = true
		p.display.end()
	}
}

// fit prints "3 of 40: triad alone, about 2 min left"; where that is wider
// than width, the label gives way, down to eight columns.
func (s progressState) fit(o Options, width int) string {
	before, after := fmt.Sprintf("%d: ", s.ended+1), ""
	if s.total > 0 {
		before = fmt.Sprintf("%d of %d: ", s.ended+1, s.total)
	}
	if s.leftKnown {
		after = ", about " + roughly(s.left) + " left"
	}
	return before + o.truncate(s.label, max(8, width-len(before)-len(after))) + after
}

// roughly prints a time as a person would say it.
func roughly(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second).Seconds())))
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
	}
}

// lineDisplay writes the first state and then one in a while.
type lineDisplay struct {
	w       io.Writer
	options Options
	now     func() time.Time
	last    time.Time
}

func (d *lineDisplay) show(state progressState) {
	if now := d.now(); d.last.IsZero() || now.Sub(d.last) >= plainInterval {
		d.last = now
		fmt.Fprintln(d.w, state.fit(d.options, d.options.width()))
	}
}

func (d *lineDisplay) end() { d.last = time.Time{} }

// barDisplay keeps one line of a terminal up to date.
type barDisplay struct {
	w       io.Writer
	options Options
	bar     *progressbar.ProgressBar
	total   int
}

const (
	barColumns = 20
	// barFrame is what the library puts around a bar and a description: the
	// percentage, the ends and the blanks.
	barFrame = 12
)

func (d *barDisplay) show(state progressState) {
	switch {
	case d.bar == nil:
		d.bar = d.newBar(state.total)
	case d.total != state.total:
		d.bar.ChangeMax(state.total)
	}
	d.total = state.total
	d.bar.Describe(state.fit(d.options, d.options.width()-barColumns-barFrame))
	if state.total > 0 {
		_ = d.bar.Set(state.ended)
	}
}

func (d *barDisplay) newBar(total int) *progressbar.ProgressBar {
	theme := progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}
	if d.options.Unicode {
		theme = progressbar.Theme{Saucer: "━", SaucerPadding: "─", BarStart: "", BarEnd: ""}
	}
	if total == 0 {
		total = -1 // a spinner
	}
	return progressbar.NewOptions(total,
		progressbar.OptionSetWriter(d.w),
		progressbar.OptionSetWidth(barColumns),
		progressbar.OptionSetTheme(theme),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionUseANSICodes(true),
		// Without an interval the library starts no goroutine of its own.
		progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionEnableColorCodes(false),
	)
}

func (d *barDisplay) end() {
	if d.bar != nil {
		_ = d.bar.Clear()
		d.bar = nil
	}
}
