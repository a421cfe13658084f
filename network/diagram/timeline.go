// Package diagram draws what package simulate played as a picture in SVG.
package diagram

import (
	"errors"
	"fmt"

	"bandmate.dev/bandmate/internal/svg"
	"bandmate.dev/bandmate/network/simulate"
)

//go:generate go run ../../cmd/bandmate network simulate ../../docs/example/exchange.yaml -o csv --svg ../../docs/guides/pictures/network-timeline.svg

// Bounds of a picture in which something can be recognized.
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

// Colors of what a task does. A message is drawn the darker, the higher its
// penalty.
const (
	computing = "#8fa9bf"
	sending   = "#1b7f5c"
	receiving = "#cfe3da"
)

func colorOf(k simulate.Kind) string {
	switch k {
	case simulate.Computing:
		return computing
	case simulate.Sending:
		return sending
	case simulate.Receiving:
		return receiving
	}
	return "none"
}

// Timeline draws one row for each task from left to right: when it computes,
// sends and waits for what it receives, and a line from sender to receiver for
// each message on its way through the network, red where it took longer than
// alone. It fails where there is nothing to draw or too much.
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
	p := svg.New(left+width+right, top+height+bottom)
	x := svg.Scale{Max: r.TotalSeconds * scale, From: left, To: left + width}
	y := func(task int) float64 { return top + row*(float64(task)+0.5) }
	for _, tick := range x.Ticks(8) {
		p.Line(svg.Stroke{Color: "#dde3e8"}, svg.Point{X: x.At(tick), Y: top}, svg.Point{X: x.At(tick), Y: top + height})
		p.Text(svg.Point{X: x.At(tick), Y: top + height + 12}, svg.Middle, svg.Label(tick))
	}
	p.Text(svg.Point{X: left + width/2, Y: top + height + 30}, svg.Middle, "time, "+unit)
	for i, task := range r.Tasks {
		p.Text(svg.Point{X: left - 8, Y: y(i)}, svg.End, fmt.Sprintf("%s %d, node %d", shortened(task.Application), task.Task, task.Node))
	}
	for _, s := range t.Spans {
		from, to := x.At(s.Start*scale), x.At(s.Ended*scale)
		p.Box(svg.Point{X: from, Y: y(s.Task) - bar/2}, to-from, bar, colorOf(s.Kind), "",
			fmt.Sprintf("%s, %.4g to %.4g %s", s.Kind, s.Start*scale, s.Ended*scale, unit))
	}
	for _, m := range t.Transfers {
		p.Line(strokeOf(m), svg.Point{X: x.At(m.Start * scale), Y: y(m.From)}, svg.Point{X: x.At(m.Ended * scale), Y: y(m.To)})
		p.Dot(svg.Point{X: x.At(m.Ended * scale), Y: y(m.To)}, 2, strokeOf(m).Color, strokeOf(m).Color)
	}
	legend(p, top+height+56)
	title := fmt.Sprintf("%.4g %s until the last task ends, by the model %s", r.TotalSeconds*scale, unit, r.Model)
	p.Text(svg.Point{X: left, Y: top / 2}, svg.Start, title)
	return p.Document(title), nil
}

// strokeOf is gray for a message that had its cards for itself, and from orange
// to dark red for one that shared them.
func strokeOf(m simulate.Transfer) svg.Stroke {
	switch {
	case m.Penalty < 1.005:
		return svg.Stroke{Color: "#5b7083"}
	case m.Penalty < 2:
		return svg.Stroke{Color: "#d9822b", Width: 1.5}
	}
	return svg.Stroke{Color: "#8f1d14", Width: 2}
}

func legend(p *svg.Picture, y float64) {
	x := 24.0
	for _, k := range []simulate.Kind{simulate.Computing, simulate.Sending, simulate.Receiving} {
		p.Box(svg.Point{X: x, Y: y - bar/2}, 22, bar, colorOf(k), "", "")
		p.Text(svg.Point{X: x + 28, Y: y}, svg.Start, string(k))
		x += 104
	}
	for _, m := range []struct {
		penalty float64
		text    string
	}{{1, "message alone"}, {1.5, "penalty to 2"}, {2, "penalty of 2 and more"}} {
		p.Line(strokeOf(simulate.Transfer{Penalty: m.penalty}), svg.Point{X: x, Y: y}, svg.Point{X: x + 22, Y: y})
		p.Text(svg.Point{X: x + 28, Y: y}, svg.Start, m.text)
		x += 136
	}
}

// shortened keeps long names from the picture's area.
func shortened(name string) string {
	const most = 14
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}
