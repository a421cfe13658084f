package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Progress shows the current step of an experiment and the time left. It is safe for
// concurrent use.
type Progress interface {
	// Start begins an experiment of total steps; a total of 0 is not known.
	Start(total int)
	// Left says that least to most steps follow those begun, instead of what Start was told.
	Left(least, most int)
	// Step ends the previous step, if any, and begins the next one.
	Step(label string)
	// Share reports that a share of the work is done, 0 to 1, and what runs now:
	// for work that is not counted in steps. Start is not needed.
	Share(done float64, label string)
	// Done ends the report and leaves a clean line. It may be called repeatedly.
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

const (
	// plainInterval is the least time between two plain lines.
	plainInterval = 10 * time.Second
	barColumns    = 20
	clearLine     = "\r\x1b[K"
)

// NewProgress returns a Progress that writes to w, usually standard error. It ignores
// errors of w.
func NewProgress(w io.Writer, o ProgressOptions) Progress {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Quiet {
		w = io.Discard
	}
	return &progress{options: o, w: w}
}

// progress counts steps and estimates the time left.
type progress struct {
	options ProgressOptions
	w       io.Writer

	mu          sync.Mutex
	least, most int // steps in all; 0 where not known
	begun       int
	started     time.Time
	shown       time.Time // when the last line was written; zero for none
	full        time.Time // when Share first said that all is done; zero before
	done        bool
}

func (p *progress) Start(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.least, p.most, p.begun, p.done = max(0, total), max(0, total), 0, false
	p.started, p.shown = p.options.Now(), time.Time{}
}

func (p *progress) Left(least, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.least, p.most = p.begun+max(0, least), p.begun+max(0, least, most)
}

func (p *progress) Step(label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	ended, now := p.begun, p.options.Now()
	p.begun++
	if p.most > 0 { // the experiment repeats some steps
		p.least, p.most = max(p.least, p.begun), max(p.most, p.begun)
	}
	if p.options.Terminal {
		bar := p.options.bar(ended, p.most)
		fmt.Fprint(p.w, clearLine+bar+p.text(label, ended, now, p.options.width()-1-displayWidth(bar)))
	} else if p.shown.IsZero() || now.Sub(p.shown) >= plainInterval {
		fmt.Fprintln(p.w, p.text(label, ended, now, p.options.width()))
	} else {
		return
	}
	p.shown = now
}

func (p *progress) Share(done float64, label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.options.Now()
	if p.started.IsZero() {
		p.started = now
	}
	if p.done || !p.options.Terminal && !p.shown.IsZero() && now.Sub(p.shown) < plainInterval {
		return
	}
	done = min(max(done, 0), 1)
	after := ""
	spent := now.Sub(p.started)
	switch {
	case done == 1:
		// What is measured decides when it ends, or the machine is busy.
		if p.full.IsZero() {
			p.full = now
		}
		if after = ", " + roughly(spent) + " spent"; now.Sub(p.full) > time.Second {
			after += ", longer than expected"
		}
	case done > 0.02 && spent > time.Second:
		after = ", " + roughly(spent) + " spent, about " + roughly(time.Duration(float64(spent)*(1/done-1))) + " left"
	}
	if p.options.Terminal {
		bar := p.options.bar(int(100*done), 100)
		width := p.options.width() - 1 - displayWidth(bar)
		fmt.Fprint(p.w, clearLine+bar+p.options.truncate(p.options.text(label), max(8, width-len(after)))+after)
	} else {
		before := fmt.Sprintf("%.0f%%: ", 100*done)
		fmt.Fprintln(p.w, before+p.options.truncate(p.options.text(label), max(8, p.options.width()-len(before)-len(after)))+after)
	}
	p.shown = now
}

func (p *progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.options.Terminal && !p.shown.IsZero() {
		fmt.Fprint(p.w, clearLine)
	}
	p.done, p.shown = true, time.Time{}
}

// bar draws the part of the steps that has ended; nothing where the total is not
// known.
func (o Options) bar(ended, total int) string {
	if total == 0 {
		return ""
	}
	filled := barColumns * ended / total
	if o.Unicode {
		return fmt.Sprintf("%s%s %3d%% ", strings.Repeat("━", filled), strings.Repeat("─", barColumns-filled), 100*ended/total)
	}
	return fmt.Sprintf("[%-*s] %3d%% ", barColumns, strings.Repeat("=", filled), 100*ended/total)
}

// text returns "3 of 40 to 90: triad alone, 12 s spent, about 2 min to 6 min left"; where
// that is wider than width, the label gives way, down to eight columns.
func (p *progress) text(label string, ended int, now time.Time, width int) string {
	before, after := fmt.Sprintf("%d: ", ended+1), ""
	if p.most > 0 {
		before = fmt.Sprintf("%d of %s: ", ended+1, between(strconv.Itoa(p.least), strconv.Itoa(p.most)))
		if ended > 0 {
			spent := now.Sub(p.started)
			left := func(total int) string { return roughly(spent / time.Duration(ended) * time.Duration(total-ended)) }
			after = fmt.Sprintf(", %s spent, about %s left", roughly(spent), between(left(p.least), left(p.most)))
		}
	}
	return before + p.options.truncate(p.options.text(label), max(8, width-len(before)-len(after))) + after
}

// between prints a range.
func between(least, most string) string {
	if least == most {
		return least
	}
	return least + " to " + most
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
