// Package diagram draws the models of package overlap as pictures in SVG.
package diagram

import (
	"errors"
	"fmt"
	"slices"

	"bandmate.dev/bandmate/internal/svg"
	"bandmate.dev/bandmate/overlap"
	"bandmate.dev/bandmate/units"
)

//go:generate go run ../../cmd/bandmate overlap fit ../../docs/results/models/sweep-loopback.csv --unit "eighths of a core" -o json --svg ../../docs/guides/pictures/overlap-sweep.svg

// Colors as in Langguth et al.: computation red, communication green.
const (
	computationColor   = "#b5402c"
	communicationColor = "#1b7f5c"
	totalColor         = "#2f6690"
	faint              = "#9aa7b2"
)

// Bandwidths is a picture of predicted bandwidths, as lines over the number of
// computing cores, and of measured ones, as dots: one panel for each placement
// of the data.
type Bandwidths struct {
	Parameters overlap.Parameters
	// Sweep was measured; none draws the prediction alone.
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

// Bounds of a picture in which something can be recognized.
const (
	MaxPlacements = 64
	MaxCores      = 1024
)

const (
	left   = 60.0
	right  = 16.0
	top    = 34.0
	bottom = 46.0
	legend = 66.0 // height
)

// panelSize is that of one of so many panels in a row.
func panelSize(columns int) (width, height float64) {
	if columns == 1 {
		return 600, 340
	}
	return 420, 250
}

// SVG draws the picture. It fails where there is nothing to draw or too much,
// and with overlap.ErrPlacement for a placement that the parameters say nothing
// about.
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
	p := svg.New(width*float64(columns), height*float64(rows)+legend)
	for i, at := range placements {
		x, y := width*float64(i%columns), height*float64(i/columns)
		f := svg.Frame{
			X:      svg.Scale{Max: float64(cores), From: x + left, To: x + width - right},
			Y:      svg.Scale{Max: highest.GBps(), From: y + height - bottom, To: y + top},
			XTitle: b.unit(), YTitle: "GB/s",
			Title: fmt.Sprintf("computation on node %d, communication on node %d", at.ComputationNode, at.CommunicationNode),
		}
		if err := b.panel(p, f, at, cores); err != nil {
			return nil, err
		}
	}
	b.legend(p, height*float64(rows))
	title := "Bandwidths of computation and communication, predicted"
	if len(b.Sweep) > 0 {
		title += " and measured"
	}
	return p.Document(title), nil
}

func (b Bandwidths) unit() string {
	if b.Unit == "" {
		return "computing cores"
	}
	return b.Unit
}

// highest is the top of the scale.
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
	stroke    svg.Stroke
	predicted func(alone, together overlap.Bandwidths) units.Bandwidth
	// hollow dots are of what ran alone.
	hollow bool
}

func allSeries() []series {
	return []series{
		{"computation alone", svg.Stroke{Color: computationColor, Dashes: "5 4"}, func(a, _ overlap.Bandwidths) units.Bandwidth { return a.Computation }, true},
		{"communication alone", svg.Stroke{Color: communicationColor, Dashes: "5 4"}, func(a, _ overlap.Bandwidths) units.Bandwidth { return a.Communication }, true},
		{"computation beside communication", svg.Stroke{Color: computationColor, Width: 2}, func(_, t overlap.Bandwidths) units.Bandwidth { return t.Computation }, false},
		{"communication beside computation", svg.Stroke{Color: communicationColor, Width: 2}, func(_, t overlap.Bandwidths) units.Bandwidth { return t.Communication }, false},
		{"both together", svg.Stroke{Color: totalColor}, func(_, t overlap.Bandwidths) units.Bandwidth { return t.Total() }, false},
	}
}

func (b Bandwidths) panel(p *svg.Picture, f svg.Frame, at overlap.Placement, cores int) error {
	f.Grid(p, true)
	if b.Mark > 0 {
		p.Line(svg.Stroke{Color: faint, Dashes: "2 3"}, f.Place(float64(b.Mark), 0), f.Place(float64(b.Mark), f.Y.Max))
	}
	for _, s := range allSeries() {
		var line []svg.Point
		for n := 1; n <= cores; n++ {
			together, err := b.Parameters.Together(n, at)
			if err != nil {
				return err
			}
			alone, err := b.Parameters.Alone(n, at)
			if err != nil {
				return err
			}
			place := f.Place(float64(n), s.predicted(alone, together).GBps())
			line = append(line, place)
			if n == b.Mark {
				p.Dot(place, 4, s.stroke.Color, s.stroke.Color)
			}
		}
		p.Line(s.stroke, line...)
		for _, measured := range b.Sweep {
			if measured.Placement != at || measured.Cores > cores {
				continue
			}
			fill := s.stroke.Color
			if s.hollow {
				fill = "#fff"
			}
			p.Dot(f.Place(float64(measured.Cores), s.predicted(measured.Alone, measured.Together).GBps()), 3, fill, s.stroke.Color)
		}
	}
	return nil
}

func (b Bandwidths) legend(p *svg.Picture, y float64) {
	const column, row, sample = 270.0, 17.0, 26.0
	for i, s := range allSeries() {
		at := svg.Point{X: left - 44 + column*float64(i%2), Y: y + 8 + row*float64(i/2)}
		p.Line(s.stroke, at, svg.Point{X: at.X + sample, Y: at.Y})
		p.Text(svg.Point{X: at.X + sample + 6, Y: at.Y}, svg.Start, s.name)
	}
	if len(b.Sweep) > 0 {
		p.Text(svg.Point{X: left - 44 + column, Y: y + 8 + 2*row}, svg.Start, "lines: predicted, dots: measured")
	}
}
