package report

import (
	"fmt"

	"bandmate.dev/bandmate/internal/drawing"
)

// The measures of a heat map in a file, in pixels.
const (
	// namedCells is up to how many columns cells are large enough to hold their
	// numbers.
	namedCells    = 40
	largeCell     = 44.0
	largeCellSide = 26.0
	smallCell     = 12.0
	smallText     = 9.0
	maxNameSpace  = 170.0
	heatMapEdge   = 16.0
	heatMapHead   = 64.0
	heatSwatch    = 14.0
)

// heatMapSides are the places and sizes of the parts of a drawn map.
type heatMapSides struct {
	cellWidth, cellHeight float64
	nameSize              float64
	left, top             float64
}

// Picture draws the map for a file: cells with their numbers up to 40 columns, else
// small ones, whose names are read by zooming in. As a PNG, a map of some 250
// applications or more is shrunk; from some 600 on its names are too small to read.
func (m *HeatMap) Picture() *drawing.Picture {
	sides := m.sides()
	p := &drawing.Picture{
		Title:       "Slowdowns",
		Description: fmt.Sprintf("%s: %d by %d.", heatMapSentence, len(m.Targets), len(m.Corunners)),
		Width:       sides.left + float64(len(m.Corunners))*sides.cellWidth + heatMapEdge,
		Height:      sides.top + float64(len(m.Targets))*sides.cellHeight + lineHeight*2 + heatMapEdge,
	}
	m.addLegend(p, p.Height-heatMapEdge-4)
	p.Width = max(p.Width, heatMapEdge*2+drawing.Width(heatMapSentence, drawing.TitleSize, true))
	p.Text(drawing.Label{At: drawing.At(heatMapEdge, 30), Text: heatMapSentence, Size: drawing.TitleSize, Bold: true})
	m.addNames(p, sides)
	if sides.cellWidth == largeCell {
		m.addCells(p, sides)
	} else {
		m.addRuns(p, sides)
	}
	return p
}

func (m *HeatMap) sides() heatMapSides {
	d := heatMapSides{cellWidth: smallCell, cellHeight: smallCell, nameSize: smallText}
	if len(m.Corunners) <= namedCells {
		d = heatMapSides{cellWidth: largeCell, cellHeight: largeCellSide, nameSize: drawing.TextSize}
	}
	space := func(names []string) float64 {
		longest := 0.0
		for _, name := range names {
			longest = max(longest, drawing.Width(SanitizeText(name), d.nameSize, false))
		}
		return min(longest, maxNameSpace) + drawing.TickGap
	}
	d.left = heatMapEdge + space(m.Targets)
	d.top = heatMapHead - lineHeight + space(m.Corunners)
	return d
}

func (m *HeatMap) addNames(p *drawing.Picture, d heatMapSides) {
	for i, name := range m.Targets {
		middle := d.top + (float64(i)+0.5)*d.cellHeight
		p.Text(drawing.Label{At: drawing.At(d.left-drawing.TickGap, middle+d.nameSize/3), Text: drawing.Fit(name, d.nameSize, maxNameSpace), Size: d.nameSize, Anchor: drawing.End})
	}
	for j, name := range m.Corunners {
		middle := d.left + (float64(j)+0.5)*d.cellWidth
		p.Text(drawing.Label{At: drawing.At(middle+d.nameSize/3, d.top-drawing.TickGap), Text: drawing.Fit(name, d.nameSize, maxNameSpace), Size: d.nameSize, Upward: true})
	}
}

func heatInks(index int) (cell, text drawing.Ink) {
	if index < 0 {
		return drawing.UnknownInk, drawing.SoftInk
	}
	return drawing.Heat(index), drawing.OnHeat(index)
}

// addCells draws every cell with its number, and a hint for the pointer.
func (m *HeatMap) addCells(p *drawing.Picture, d heatMapSides) {
	const gap = 1
	for i, target := range m.Targets {
		for j, corunner := range m.Corunners {
			slowdown := m.Slowdown(i, j)
			cell, text := heatInks(heatIndex(slowdown))
			x, y := d.left+float64(j)*d.cellWidth, d.top+float64(i)*d.cellHeight
			p.Boxes(cell, 1, drawing.Box{
				X: x, Y: y, Width: d.cellWidth - gap, Height: d.cellHeight - gap,
				Hint: fmt.Sprintf("%s beside %s: %s", target, corunner, Slowdown(slowdown)),
			})
			p.Text(drawing.Label{At: drawing.At(x+(d.cellWidth-gap)/2, y+d.cellHeight/2+drawing.TextSize/3), Text: heatCell(slowdown), Ink: text, Anchor: drawing.Middle})
		}
	}
}

// addRuns draws neighboring cells of one class as one area: a quarter of a
// million cells make a file of some megabytes.
func (m *HeatMap) addRuns(p *drawing.Picture, d heatMapSides) {
	boxes := make([][]drawing.Box, len(heats)+1)
	for i := range m.Targets {
		y := d.top + float64(i)*d.cellHeight
		for j := 0; j < len(m.Corunners); {
			class, first := heatIndex(m.Slowdown(i, j)), j
			for j < len(m.Corunners) && heatIndex(m.Slowdown(i, j)) == class {
				j++
			}
			boxes[class+1] = append(boxes[class+1], drawing.Box{X: d.left + float64(first)*d.cellWidth, Y: y, Width: float64(j-first) * d.cellWidth, Height: d.cellHeight})
		}
	}
	for i, of := range boxes {
		if fill, _ := heatInks(i - 1); len(of) > 0 {
			p.Boxes(fill, 1, of...)
		}
	}
}

// addLegend draws what the colors mean, and widens the picture where it must.
func (m *HeatMap) addLegend(p *drawing.Picture, y float64) {
	x := heatMapEdge
	for i, h := range heats {
		fill, _ := heatInks(i)
		p.Boxes(fill, 1, drawing.Box{X: x, Y: y - heatSwatch + 3, Width: heatSwatch, Height: heatSwatch})
		p.Text(drawing.Label{At: drawing.At(x+heatSwatch+drawing.TickGap, y), Text: h.label, Ink: drawing.SoftInk})
		x += heatSwatch + drawing.TickGap + drawing.Width(h.label, drawing.TextSize, false) + 18
	}
	p.Width = max(p.Width, x)
}
