package report

import (
	"fmt"
	"io"
)

// The measures of a heat map as a scene, in pixels.
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

// WriteSVG draws the map: cells with their numbers up to 40 columns, else small
// ones, whose names are read by zooming in.
func (m *HeatMap) WriteSVG(w io.Writer) error { return m.scene().writeSVG(w) }

// WritePNG draws the same picture as WriteSVG. From some 250 applications on it
// is made smaller, so that no side is above 6,400 pixels; from some 600 on its names
// are too small to be read.
func (m *HeatMap) WritePNG(w io.Writer) error { return m.scene().writePNG(w) }

func (m *HeatMap) scene() *scene {
	sides := m.sides()
	s := &scene{
		title:       "Slowdowns",
		description: fmt.Sprintf("%s: %d by %d.", heatMapSentence, len(m.Targets), len(m.Corunners)),
		width:       sides.left + float64(len(m.Corunners))*sides.cellWidth + heatMapEdge,
		height:      sides.top + float64(len(m.Targets))*sides.cellHeight + lineHeight*2 + heatMapEdge,
	}
	m.addLegend(s, s.height-heatMapEdge-4)
	s.width = max(s.width, heatMapEdge*2+textWidth(heatMapSentence, titleSize, true))
	s.add(label{at: place{heatMapEdge, 30}, text: heatMapSentence, size: titleSize, bold: true})
	m.addNames(s, sides)
	if sides.cellWidth == largeCell {
		m.addCells(s, sides)
	} else {
		m.addRuns(s, sides)
	}
	return s
}

func (m *HeatMap) sides() heatMapSides {
	d := heatMapSides{cellWidth: smallCell, cellHeight: smallCell, nameSize: smallText}
	if len(m.Corunners) <= namedCells {
		d = heatMapSides{cellWidth: largeCell, cellHeight: largeCellSide, nameSize: textSize}
	}
	space := func(names []string) float64 {
		longest := 0.0
		for _, name := range names {
			longest = max(longest, textWidth(SanitizeText(name), d.nameSize, false))
		}
		return min(longest, maxNameSpace) + tickGap
	}
	d.left = heatMapEdge + space(m.Targets)
	d.top = heatMapHead - lineHeight + space(m.Corunners)
	return d
}

func (m *HeatMap) addNames(s *scene, d heatMapSides) {
	for i, name := range m.Targets {
		middle := d.top + (float64(i)+0.5)*d.cellHeight
		s.add(label{at: place{d.left - tickGap, middle + d.nameSize/3}, text: fitText(name, d.nameSize, maxNameSpace), size: d.nameSize, anchor: 1})
	}
	for j, name := range m.Corunners {
		middle := d.left + (float64(j)+0.5)*d.cellWidth
		s.add(label{at: place{middle + d.nameSize/3, d.top - tickGap}, text: fitText(name, d.nameSize, maxNameSpace), size: d.nameSize, upwards: true})
	}
}

func heatInks(index int) (cell, text ink) {
	if index < 0 {
		return inkUnknown, inkSoft
	}
	return inkHeat + ink(index), inkOnHeat + ink(index)
}

// addCells draws every cell with its number, and a hint for the pointer.
func (m *HeatMap) addCells(s *scene, d heatMapSides) {
	const gap = 1
	for i, target := range m.Targets {
		for j, corunner := range m.Corunners {
			slowdown := m.Slowdown(i, j)
			cell, text := heatInks(heatIndex(slowdown))
			x, y := d.left+float64(j)*d.cellWidth, d.top+float64(i)*d.cellHeight
			s.add(areas{fill: cell, boxes: []box{{
				x: x, y: y, width: d.cellWidth - gap, height: d.cellHeight - gap,
				hint: fmt.Sprintf("%s beside %s: %s", target, corunner, Slowdown(slowdown)),
			}}})
			s.add(label{at: place{x + (d.cellWidth-gap)/2, y + d.cellHeight/2 + textSize/3}, text: heatCell(slowdown), size: textSize, ink: text, anchor: 0.5})
		}
	}
}

// addRuns draws neighboring cells of one class as one area: of a quarter of a
// million cells a file of some megabytes.
func (m *HeatMap) addRuns(s *scene, d heatMapSides) {
	classes := make([]areas, len(heats)+1)
	for i := range m.Targets {
		y := d.top + float64(i)*d.cellHeight
		for j := 0; j < len(m.Corunners); {
			class, first := heatIndex(m.Slowdown(i, j)), j
			for j < len(m.Corunners) && heatIndex(m.Slowdown(i, j)) == class {
				j++
			}
			of := &classes[class+1]
			of.fill, _ = heatInks(class)
			of.boxes = append(of.boxes, box{x: d.left + float64(first)*d.cellWidth, y: y, width: float64(j-first) * d.cellWidth, height: d.cellHeight})
		}
	}
	for _, class := range classes {
		if len(class.boxes) > 0 {
			s.add(class)
		}
	}
}

// addLegend draws what the colors mean, and widens the scene where it must.
func (m *HeatMap) addLegend(s *scene, y float64) {
	x := heatMapEdge
	for i, h := range heats {
		fill, _ := heatInks(i)
		s.add(areas{fill: fill, boxes: []box{{x: x, y: y - heatSwatch + 3, width: heatSwatch, height: heatSwatch}}},
			label{at: place{x + heatSwatch + tickGap, y}, text: h.label, size: textSize, ink: inkSoft})
		x += heatSwatch + tickGap + textWidth(h.label, textSize, false) + 18
	}
	s.width = max(s.width, x)
}
