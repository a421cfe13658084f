// Package diagram draws the models of package overlap as pictures in SVG.
package diagram

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bandmate.dev/bandmate/internal/drawing"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/units"
)

//go:generate go run ../../cmd/bandmate overlap fit ../../docs/results/models/sweep-loopback.csv --unit "eighths of a core" -o json --svg ../../docs/guides/pictures/overlap-sweep.svg

// Numbers of the lines. Their colors are as in Langguth et al.: computation red,
// communication green.
const (
	totalLine = iota
	computationLine
	communicationLine
)

// dashed is the look of a line for what has the memory to itself.
func dashed(line int) drawing.Stroke {
	return drawing.Stroke{Ink: drawing.Series(line), Width: 1.5, Dashes: []float64{4, 5}}
}

// solid is the look of a line for what shares it.
func solid(line int) drawing.Stroke {
	return drawing.Stroke{Ink: drawing.Series(line), Width: 2}
}

// Bandwidths is a picture of predicted bandwidths, as lines over the number of
// computing cores, and of measured ones, as marks: one panel for each placement
// of the data.
type Bandwidths struct {
	Parameters overlap.Parameters
	// Sweep has the measurements; empty draws the prediction alone.
	Sweep overlap.Sweep
	// Placements are drawn; those of the sweep when empty.
	Placements []overlap.Placement
	// Cores is the highest number of cores; that of the sweep when 0.
	Cores int
	// Mark is a number of cores that is marked; 0 for none.
	Mark int
	// Unit names what the numbers of cores count; "computing cores" when empty.
	Unit string
}

// Bounds of a picture that can be read.
const (
	MaxPlacements = 64
	MaxCores      = 1024
)

const (
	left   = 56.0
	right  = 16.0
	top    = 62.0
	bottom = 54.0
	legend = 70.0 // height
)

// panelSize returns the size of a panel, with so many in a row.
func panelSize(columns int) (width, height float64) {
	if columns == 1 {
		return 600, 370
	}
	return 430, 290
}

// SVG draws the picture. It fails if there is nothing to draw or too much, and with
// overlap.ErrPlacement for a placement that the parameters do not cover.
func (b Bandwidths) SVG() ([]byte, error) {
	placements, cores := b.Placements, b.Cores
	for _, p := range b.Sweep {
		if len(b.Placements) == 0 && !slices.Contains(placements, p.Placement) {
			placements = append(placements, p.Placement)
		}
		if b.Cores == 0 {
			cores = max(cores, p.Cores)
		}
	}
	switch {
	case len(placements) == 0 || cores < 1:
		return nil, errors.New("a picture of no cores or no placement: want one of each")
	case len(placements) > MaxPlacements || cores > MaxCores:
		return nil, fmt.Errorf("a picture of %d placements and %d cores: want at most %d and %d", len(placements), cores, MaxPlacements, MaxCores)
	}
	highest, err := b.highest(placements, cores)
	if err != nil {
		return nil, err
	}
	columns := min(2, len(placements))
	rows := (len(placements) + columns - 1) / columns
	width, height := panelSize(columns)
	p := &drawing.Picture{Width: width * float64(columns), Height: height*float64(rows) + legend, Title: "Bandwidths of computation and communication, predicted"}
	if len(b.Sweep) > 0 {
		p.Title += " and measured"
	}
	for i, at := range placements {
		x, y := width*float64(i%columns), height*float64(i/columns)
		f := drawing.Frame{
			X:      drawing.Scale{High: float64(cores), Step: math.Ceil(drawing.NiceStep(float64(cores), 8))}.Between(x+left, x+width-right, 0),
			Y:      drawing.Scale{High: highest.GBps()}.Between(y+height-bottom, y+top, 5),
			XTitle: cmp.Or(b.Unit, "computing cores"), YTitle: "GB/s",
			Title: fmt.Sprintf("computation on node %d, communication on node %d", at.ComputationNode, at.CommunicationNode),
		}
		if err := b.panel(p, f, at, cores); err != nil {
			return nil, err
		}
	}
	b.legend(p, height*float64(rows))
	return p.SVG(), nil
}

// highest returns the top of the scale.
func (b Bandwidths) highest(placements []overlap.Placement, cores int) (units.Bandwidth, error) {
	var highest units.Bandwidth
	for _, at := range placements {
		for n := range cores + 1 {
			together, err := b.Parameters.Together(n, at)
			if err != nil {
				return 0, err
			}
			alone, err := b.Parameters.Alone(n, at)
			if err != nil {
				return 0, err
			}
			highest = max(highest, together.Total(), alone.Computation, alone.Communication)
		}
	}
	for _, p := range b.Sweep {
		highest = max(highest, p.Together.Total(), p.Alone.Computation)
	}
	return highest * 1.05, nil
}

// series is one line of a panel.
type series struct {
	name      string
	line      int
	stroke    drawing.Stroke
	predicted func(alone, together overlap.Bandwidths) units.Bandwidth
	// hollow marks are of what ran alone.
	hollow bool
}

func allSeries() []series {
	return []series{
		{"computation alone", computationLine, dashed(computationLine), func(a, _ overlap.Bandwidths) units.Bandwidth { return a.Computation }, true},
		{"communication alone", communicationLine, dashed(communicationLine), func(a, _ overlap.Bandwidths) units.Bandwidth { return a.Communication }, true},
		{"computation beside communication", computationLine, solid(computationLine), func(_, t overlap.Bandwidths) units.Bandwidth { return t.Computation }, false},
		{"communication beside computation", communicationLine, solid(communicationLine), func(_, t overlap.Bandwidths) units.Bandwidth { return t.Communication }, false},
		{"both together", totalLine, solid(totalLine), func(_, t overlap.Bandwidths) units.Bandwidth { return t.Total() }, false},
	}
}

func (b Bandwidths) panel(p *drawing.Picture, f drawing.Frame, at overlap.Placement, cores int) error {
	p.Axes(f)
	if b.Mark > 0 {
		p.Line(drawing.Stroke{Ink: drawing.SoftInk, Width: 1, Dashes: []float64{2, 4}}, f.Point(float64(b.Mark), 0), f.Point(float64(b.Mark), f.Y.High))
	}
	for _, s := range allSeries() {
		var line []drawing.Point
		for n := 1; n <= cores; n++ {
			together, err := b.Parameters.Together(n, at)
			if err != nil {
				return err
			}
			alone, err := b.Parameters.Alone(n, at)
			if err != nil {
				return err
			}
			place := f.Point(float64(n), s.predicted(alone, together).GBps())
			line = append(line, place)
			if n == b.Mark {
				p.Mark(place, s.line, false)
			}
		}
		p.Line(s.stroke, line...)
		for _, measured := range b.Sweep {
			if measured.Placement != at || measured.Cores > cores {
				continue
			}
			p.Mark(f.Point(float64(measured.Cores), s.predicted(measured.Alone, measured.Together).GBps()), s.line, s.hollow)
		}
	}
	return nil
}

func (b Bandwidths) legend(p *drawing.Picture, y float64) {
	const column, row, sample = 270.0, 18.0, 30.0
	for i, s := range allSeries() {
		at := drawing.At(left-44+column*float64(i%2), y+10+row*float64(i/2))
		p.Line(s.stroke, at, drawing.At(at.X+sample, at.Y))
		p.Mark(drawing.At(at.X+sample/2, at.Y), s.line, s.hollow)
		p.Text(drawing.Label{At: drawing.At(at.X+sample+8, at.Y+drawing.TextSize/3), Text: s.name})
	}
	if len(b.Sweep) > 0 {
		p.Text(drawing.Label{At: drawing.At(left-44+column, y+10+2*row+drawing.TextSize/3), Text: "lines: predicted, marks: measured", Ink: drawing.SoftInk})
	}
}
