// Package diagram draws the result of package simulate as a picture in SVG.
package diagram

import (
	"errors"
	"fmt"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/network/simulate"
)

//go:generate go run ../../cmd/bandmate network simulate ../../docs/example/exchange.yaml -o csv --svg ../../docs/guides/pictures/network-timeline.svg

// Bounds of a picture that can be read.
const (
	MaxTasks = 64
	MaxSpans = 5000
)

const (
	row    = 26.0
	bar    = 14.0
	left   = 190.0
	right  = 24.0
	top    = 40.0
	bottom = 76.0
	width  = 640.0 // of the time
)

// look returns the ink and the opacity of a task's bar.
func look(k simulate.Kind) (ink drawing.Ink, opacity float64) {
	switch k {
	case simulate.Computing:
		return drawing.Series(0), 0.4
	case simulate.Sending:
		return drawing.Series(2), 0.9
	default: // receiving
		return drawing.Series(2), 0.25
	}
}

// Timeline draws one row for each task from left to right: when it computes,
// sends and waits for what it receives, and a line from sender to receiver for
// each message through the network, red if it took longer than alone. It fails if
// there is nothing to draw or too much.
func Timeline(r simulate.Result, t simulate.Trace) ([]byte, error) {
	switch {
	case len(r.Tasks) == 0 || !(r.TotalSeconds > 0):
		return nil, errors.New("a picture of tasks that take no time: want an event that does")
	case len(r.Tasks) > MaxTasks:
		return nil, fmt.Errorf("a picture of %d tasks: want at most %d", len(r.Tasks), MaxTasks)
	case t.Left || len(t.Spans) > MaxSpans || len(t.Transfers) > MaxSpans:
		return nil, fmt.Errorf("a picture of more than %d events: draw a shorter scenario", MaxSpans)
	}
	scale, unit := 1.0, "s"
	if r.TotalSeconds < 1 {
		scale, unit = 1e3, "ms"
	}
	height := row * float64(len(r.Tasks))
	p := &drawing.Picture{
		Width: left + width + right, Height: top + height + bottom,
		Title: fmt.Sprintf("%.4g %s until the last task ends, by the model %s", r.TotalSeconds*scale, unit, r.Model),
	}
	x := drawing.Scale{High: r.TotalSeconds * scale}.Between(left, left+width, 8)
	y := func(task int) float64 { return top + row*(float64(task)+0.5) }
	for _, tick := range x.Ticks() {
		p.Line(drawing.Stroke{Ink: drawing.LineInk, Width: 1}, drawing.At(x.At(tick), top), drawing.At(x.At(tick), top+height))
		p.Text(drawing.Label{At: drawing.At(x.At(tick), top+height+16), Text: x.Text(tick), Ink: drawing.SoftInk, Anchor: drawing.Middle})
	}
	p.Text(drawing.Label{At: drawing.At(left+width/2, top+height+34), Text: "time, " + unit, Ink: drawing.SoftInk, Anchor: drawing.Middle})
	for i, task := range r.Tasks {
		name := fmt.Sprintf("%s %d, node %d", shortened(task.Application), task.Task, task.Node)
		p.Text(drawing.Label{At: drawing.At(left-8, y(i)+drawing.TextSize/3), Text: name, Anchor: drawing.End})
	}
	for _, s := range t.Spans {
		from, to := x.At(s.Start*scale), x.At(s.Ended*scale)
		ink, opacity := look(s.Kind)
		p.Boxes(ink, opacity, drawing.Box{
			X: from, Y: y(s.Task) - bar/2, Width: to - from, Height: bar,
			Hint: fmt.Sprintf("%s, %.4g to %.4g %s", s.Kind, s.Start*scale, s.Ended*scale, unit),
		})
	}
	for _, m := range t.Transfers {
		stroke, end := strokeOf(m), drawing.At(x.At(m.Ended*scale), y(m.To))
		p.Line(stroke, drawing.At(x.At(m.Start*scale), y(m.From)), end)
		p.Boxes(stroke.Ink, 1, drawing.Box{X: end.X - 2, Y: end.Y - 2, Width: 4, Height: 4})
	}
	legend(p, top+height+56)
	p.Text(drawing.Label{At: drawing.At(left, top/2+4), Text: p.Title})
	return p.SVG(), nil
}

// strokeOf is gray for a message that had its cards for itself, and orange
// or red for one that shared them.
func strokeOf(m simulate.Transfer) drawing.Stroke {
	switch {
	case m.Penalty < 1.005:
		return drawing.Stroke{Ink: drawing.SoftInk, Width: 1}
	case m.Penalty < 2:
		return drawing.Stroke{Ink: drawing.Heat(3), Width: 1.5}
	}
	return drawing.Stroke{Ink: drawing.Heat(4), Width: 2}
}

func legend(p *drawing.Picture, y float64) {
	x := 24.0
	for _, k := range []simulate.Kind{simulate.Computing, simulate.Sending, simulate.Receiving} {
		ink, opacity := look(k)
		p.Boxes(ink, opacity, drawing.Box{X: x, Y: y - bar/2, Width: 22, Height: bar})
		p.Text(drawing.Label{At: drawing.At(x+28, y+drawing.TextSize/3), Text: string(k)})
		x += 104
	}
	for _, m := range []struct {
		penalty float64
		text    string
	}{{1, "message alone"}, {1.5, "penalty to 2"}, {2, "penalty of 2 and more"}} {
		p.Line(strokeOf(simulate.Transfer{Penalty: m.penalty}), drawing.At(x, y), drawing.At(x+22, y))
		p.Text(drawing.Label{At: drawing.At(x+28, y+drawing.TextSize/3), Text: m.text})
		x += 136
	}
}

// shortened cuts long names off.
func shortened(name string) string {
	const most = 14
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}
