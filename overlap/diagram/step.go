package diagram

import (
	"errors"
	"fmt"
	"math"

	"bandmate.dev/bandmate/internal/svg"
	"bandmate.dev/bandmate/overlap"
)

//go:generate go run ../../cmd/bandmate overlap time --computation 1ms --communication 0.5ms --computation-loss 1.72 --communication-loss 2.2 -o json --svg ../../docs/guides/pictures/overlap-step.svg

const stepSize = 420.0

// Step draws the time of a step as Figure 6 of Langguth et al.: to the right, the
// time that communication takes given that of computation; upward, the other way
// round. Both lines rise where they contend and are straight where the other
// part has ended; where they cross is the step, and its total is how far out the
// dotted corner lies that goes through that point.
func Step(s overlap.Step) ([]byte, error) {
	t, err := s.Time()
	if err != nil {
		return nil, err
	}
	computation, communication := s.Computation.Seconds(), s.Communication.Seconds()
	most := 1.25 * max(t.TotalSeconds, computation, communication)
	if !(most > 0) {
		return nil, errors.New("a picture of a step that takes no time: want a computation or a communication above 0")
	}
	p := svg.New(left+stepSize+right+120, top+stepSize+bottom+24)
	f := svg.Frame{
		X:      svg.Scale{Max: 1e3 * most, From: left + 10, To: left + 10 + stepSize},
		Y:      svg.Scale{Max: 1e3 * most, From: top + 10 + stepSize, To: top + 10},
		XTitle: "time of communication, ms", YTitle: "time of computation, ms",
		Title: fmt.Sprintf("a step of %.5g ms, limited by %s", 1e3*t.TotalSeconds, t.LimitedBy),
	}
	f.Grid(p, false)
	place := func(communication, computation float64) svg.Point { return f.Place(1e3*communication, 1e3*computation) }

	dashed := func(color string) svg.Stroke { return svg.Stroke{Color: color, Dashes: "5 4"} }
	p.Line(svg.Stroke{Color: faint}, place(0, 0), place(most, most))
	p.Line(dashed(computationColor), place(0, computation), place(most, computation))
	p.Line(dashed(communicationColor), place(communication, 0), place(communication, most))
	p.Line(svg.Stroke{Color: totalColor, Width: 1.5, Dashes: "2 3"}, place(0, t.TotalSeconds), place(t.TotalSeconds, t.TotalSeconds), place(t.TotalSeconds, 0))

	// Under contention for as long as the other part takes: up to the diagonal.
	meets := func(alone, contended float64) (until, value float64) {
		until = math.Min(contended, most)
		return until, alone + until*(1-alone/contended)
	}
	if computation > 0 {
		until, value := meets(computation, t.ComputationSeconds)
		p.Line(svg.Stroke{Color: computationColor, Width: 2}, place(0, computation), place(until, value), place(most, value))
	}
	if communication > 0 {
		until, value := meets(communication, t.CommunicationSeconds)
		p.Line(svg.Stroke{Color: communicationColor, Width: 2}, place(communication, 0), place(value, until), place(value, most))
	}
	ended := place(math.Min(t.CommunicationSeconds, t.TotalSeconds), math.Min(t.ComputationSeconds, t.TotalSeconds))
	p.Dot(ended, 4, totalColor, totalColor)
	p.Text(svg.Point{X: f.X.To + 6, Y: place(most, math.Min(most, t.ComputationSeconds)).Y}, svg.Start, "computation")
	p.Text(svg.Point{X: place(math.Min(most, t.CommunicationSeconds), most).X + 6, Y: f.Y.To + 10}, svg.Start, "communication")
	p.Text(svg.Point{X: left + 10, Y: top + stepSize + bottom + 18}, svg.Start,
		"dashed: without contention; dotted: every step of the same total; gray: both end together")
	return p.Document(fmt.Sprintf("Time of a step: %.5g ms", 1e3*t.TotalSeconds)), nil
}
