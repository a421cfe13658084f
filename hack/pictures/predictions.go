package main

import (
	"fmt"
	"slices"

	"bandmate.dev/bandmate/internal/drawing"
)

// newSlowdownPlot is a plot of slowdowns beside n unlabeled places.
func newSlowdownPlot(width float64, title, yTitle string, n int, y drawing.Scale) plot {
	y.Label = func(v float64) string { return fmt.Sprintf("%.1f×", v) }
	blank := func(float64) string { return "" }
	return newPlot(width, 350, title, drawing.Scale{High: float64(n), Step: float64(n), Label: blank}, y, "", yTitle)
}

// drawInterval shows the predictions of one application beside each of the
// others with their intervals, and what was measured.
func drawInterval(e *example) ([]byte, error) {
	var names []string
	for _, p := range e.profiles {
		names = append(names, p.Name)
	}
	p := newSlowdownPlot(720, "Predictions with their intervals, and what was measured", "slowdown of "+subject+" beside each", len(names), drawing.Scale{Low: 0.9, High: 1.6, Step: 0.1})
	p.mark(0, p.right-260, 14)
	p.text("small", drawing.Start, p.right-250, 18, "predicted, 90% interval")
	p.mark(1, p.right-90, 14)
	p.text("small", drawing.Start, p.right-80, 18, "measured")
	within := 0
	for i, name := range names {
		x := float64(i) + 0.5
		prediction, err := e.predict(true, subject, name)
		if err != nil {
			return nil, err
		}
		p.whisker(series(0), x-0.12, float64(prediction.Interval.Low), float64(prediction.Interval.High))
		p.mark(0, p.x(x-0.12), p.y(float64(prediction.Slowdown)))
		if measured, ok := e.measured[[2]string{subject, name}]; ok {
			p.mark(1, p.x(x+0.16), p.y(float64(measured.Slowdown())))
			if s := measured.Slowdown(); s >= prediction.Interval.Low && s <= prediction.Interval.High {
				within++
			}
		}
		p.text("small", drawing.Middle, p.x(x), p.bottom+16+14*float64(i%2), name)
	}
	p.text("small soft", drawing.End, p.right, p.Height-8, fmt.Sprintf("%d of %d measured slowdowns within the interval", within, len(names)))
	return p.SVG(), nil
}

// drawBasis shows what the two bases say of groups, where the pressure goes
// beyond what one interferer made.
func drawBasis(e *example) ([]byte, error) {
	p := newSlowdownPlot(680, "What the two bases say of groups", "slowdown of "+subject+" beside so many "+aggressor, 4, drawing.Scale{Low: 0.9, High: 3.5, Step: 0.5})
	for i, name := range []string{"memory-model", "curves"} {
		p.mark(i, p.right-250+130*float64(i), 14)
		p.text("small", drawing.Start, p.right-240+130*float64(i), 18, name)
		for n := 1; n <= 4; n++ {
			prediction, err := e.predict(name == "memory-model", subject, slices.Repeat([]string{aggressor}, n)...)
			if err != nil {
				return nil, err
			}
			if got := string(prediction.Basis); got != name {
				return nil, fmt.Errorf("the basis is %q, want %q", got, name)
			}
			x := float64(n) - 0.5 + 0.14*float64(2*i-1)
			p.whisker(series(i), x, float64(prediction.Interval.Low), min(p.Y.High, float64(prediction.Interval.High)))
			p.mark(i, p.x(x), p.y(float64(prediction.Slowdown)))
			if i == 0 {
				p.text("small soft", drawing.Middle, p.x(float64(n)-0.5), p.bottom+17, fmt.Sprintf("%d %s, %.0f GB/s", n, aggressor, float64(prediction.Pressure.BytesPerSecond)/giga))
			}
		}
	}
	profile, err := e.profile(subject)
	if err != nil {
		return nil, err
	}
	highest := 0.0
	for _, c := range profile.Spec.Curves {
		highest = max(highest, c.Points[len(c.Points)-1].InterfererBytesPerSecond)
	}
	p.text("small soft", drawing.Start, p.left, p.Height-8, fmt.Sprintf("One interferer reached %.0f GB/s: what lies beyond is extrapolated, and the interval says so.", highest/giga))
	return p.SVG(), nil
}

// drawDomain shows memory domains: sockets, and servers with a pool.
func drawDomain(*example) ([]byte, error) {
	s := newSketch(760, 300, "Memory domains")
	server := func(x, y float64, name string, jobs ...string) {
		s.rect(drawing.UnknownInk, 1, x, y, 150, 92)
		s.Outline(axisStroke, drawing.Box{X: x, Y: y, Width: 150, Height: 92})
		s.text("small soft", drawing.Start, x+6, y+15, name)
		for i, job := range jobs {
			s.rect(drawing.Series(0), 1, x+10+68*float64(i), y+24, 62, 24)
			s.text("small", drawing.Middle, x+41+68*float64(i), y+62, job)
		}
	}
	memory := func(x, y, width float64, name string) {
		s.rect(drawing.Series(1), 1, x, y, width, 20)
		s.text("small", drawing.Middle, x+width/2, y+34, name)
	}
	s.text("bold", drawing.Start, 20, 20, "a server with two sockets: two memory domains")
	server(20, 34, "socket 0", "sort", "triad")
	server(190, 34, "socket 1", "zstd")
	memory(30, 150, 130, "NUMA node 0")
	memory(200, 150, 130, "NUMA node 1")
	s.arrow(axisStroke, 61, 100, 75, 148)
	s.arrow(axisStroke, 129, 100, 115, 148)
	s.arrow(axisStroke, 231, 100, 260, 148)
	s.text("small", drawing.Start, 20, 214, "sort and triad slow each other; zstd is alone.")
	s.text("small", drawing.Start, 20, 230, "sort bound to node 1 would meet zstd instead.")
	s.line(gridStroke, 380, 10, 380, 290)
	s.text("bold", drawing.Start, 400, 20, "three servers and a pool: one memory domain")
	for i, job := range []string{"sort", "triad", "zstd"} {
		x := 400 + 118*float64(i)
		s.rect(drawing.UnknownInk, 1, x, 34, 106, 78)
		s.Outline(axisStroke, drawing.Box{X: x, Y: 34, Width: 106, Height: 78})
		s.text("small soft", drawing.Start, x+6, 49, fmt.Sprintf("server %d", i))
		s.rect(drawing.Series(0), 1, x+20, 56, 62, 24)
		s.text("small", drawing.Middle, x+51, 94, job)
		s.arrow(axisStroke, x+51, 112, 577+0.3*(x+51-577), 150)
	}
	memory(400, 152, 342, "CXL pool")
	s.text("small", drawing.Start, 400, 214, "All three meet in the pool, though none shares a server:")
	s.text("small", drawing.Start, 400, 230, "label the three nodes bandmate.dev/memory-domain=pool-a.")
	return s.SVG(), nil
}
