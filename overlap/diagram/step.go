package diagram

import (
	"errors"
	"fmt"
	"math"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/overlap"
)

//go:generate go run ../../cmd/bandmate overlap time --computation 1ms --communication 0.5ms --computation-loss 1.72 --communication-loss 2.2 -o json --svg ../../docs/guides/pictures/overlap-step.svg

const stepSize = 420.0

// Step draws the time of a step like Figure 6 of Langguth et al.: to the right, the
// time of communication given that of computation, and upward the reverse. Both
// lines rise while they contend and are straight after the other part has ended.
// The step is where they cross; its total is the position of the dotted corner
// through that point.
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
	p := &drawing.Picture{
		Width: left + stepSize + right + 110, Height: top + stepSize + bottom + 30,
		Title: fmt.Sprintf("Time of a step: %.5g ms", 1e3*t.TotalSeconds),
	}
	f := drawing.Frame{
		X:      drawing.Scale{High: 1e3 * most}.Between(left, left+stepSize, 8),
		Y:      drawing.Scale{High: 1e3 * most}.Between(top+stepSize, top, 8),
		XTitle: "time of communication, ms", YTitle: "time of computation, ms",
		Title: fmt.Sprintf("a step of %.5g ms, limited by %s", 1e3*t.TotalSeconds, t.LimitedBy),
	}
	p.Axes(f)
	place := func(communication, computation float64) drawing.Point {
		return f.Point(1e3*communication, 1e3*computation)
	}
	p.Line(drawing.Stroke{Ink: drawing.SoftInk, Width: 1}, place(0, 0), place(most, most))
	p.Line(dashed(computationLine), place(0, computation), place(most, computation))
	p.Line(dashed(communicationLine), place(communication, 0), place(communication, most))
	p.Line(drawing.Stroke{Ink: drawing.Series(totalLine), Width: 1.5, Dashes: []float64{1, 4}}, place(0, t.TotalSeconds), place(t.TotalSeconds, t.TotalSeconds), place(t.TotalSeconds, 0))
	// Under contention for as long as the other part takes: up to the diagonal.
	meets := func(alone, contended float64) (until, value float64) {
		until = math.Min(contended, most)
		return until, alone + until*(1-alone/contended)
	}
	if computation > 0 {
		until, value := meets(computation, t.ComputationSeconds)
		p.Line(solid(computationLine), place(0, computation), place(until, value), place(most, value))
	}
	if communication > 0 {
		until, value := meets(communication, t.CommunicationSeconds)
		p.Line(solid(communicationLine), place(communication, 0), place(value, until), place(value, most))
	}
	ended := place(math.Min(t.CommunicationSeconds, t.TotalSeconds), math.Min(t.ComputationSeconds, t.TotalSeconds))
	p.Mark(ended, totalLine, false)
	p.Text(drawing.Label{At: drawing.At(f.X.To+6, place(most, math.Min(most, t.ComputationSeconds)).Y+drawing.TextSize/3), Text: "computation"},
		drawing.Label{At: drawing.At(place(math.Min(most, t.CommunicationSeconds), most).X+6, f.Y.To+14), Text: "communication"},
		drawing.Label{At: drawing.At(left-40, p.Height-10), Text: "dashed: without contention; dotted: every step of the same total; gray: both end together", Ink: drawing.SoftInk})
	return p.SVG(), nil
}
