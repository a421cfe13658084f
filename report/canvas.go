package report

import (
	"math"
	"strings"
)

// canvas is a grid of characters on which lines are drawn in dots, two across
// and four down in every character (braille), and marks over them. Dot (0, 0)
// is at the top left.
type canvas struct {
	columns, rows int
	cells         []canvasCell
}

type canvasCell struct {
	// dots has the bits of the braille patterns, U+2800 onwards.
	dots  uint8
	mark  rune
	style sgr
}

const (
	dotsAcross = 2
	dotsDown   = 4
)

// brailleBit is the bit of a dot by row and column of its character.
var brailleBit = [dotsDown][dotsAcross]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func newCanvas(columns, rows int) *canvas {
	return &canvas{columns: columns, rows: rows, cells: make([]canvasCell, columns*rows)}
}

// cell returns the character that holds a dot, nil for a dot outside.
func (c *canvas) cell(x, y int) *canvasCell {
	if x < 0 || y < 0 || x >= c.columns*dotsAcross || y >= c.rows*dotsDown {
		return nil
	}
	return &c.cells[y/dotsDown*c.columns+x/dotsAcross]
}

func (c *canvas) dot(x, y int, style sgr) {
	if cell := c.cell(x, y); cell != nil {
		cell.dots |= brailleBit[y%dotsDown][x%dotsAcross]
		cell.style = style
	}
}

// mark puts a character where the dot lies, over any dots and marks.
func (c *canvas) mark(x, y int, mark rune, style sgr) {
	if cell := c.cell(x, y); cell != nil {
		cell.mark, cell.style = mark, style
	}
}

// line draws the dots nearest to a straight line.
func (c *canvas) line(x0, y0, x1, y1 int, style sgr) {
	steps := max(abs(x1-x0), abs(y1-y0))
	c.dot(x0, y0, style)
	for step := 1; step <= steps; step++ {
		part := float64(step) / float64(steps)
		c.dot(x0+int(math.Round(part*float64(x1-x0))), y0+int(math.Round(part*float64(y1-y0))), style)
	}
}

func abs(x int) int { return max(x, -x) }

// row renders one row of characters without trailing blanks.
func (c *canvas) row(row int, o Options) string {
	var b strings.Builder
	cells := c.cells[row*c.columns:][:c.columns]
	for len(cells) > 0 && cells[len(cells)-1] == (canvasCell{}) {
		cells = cells[:len(cells)-1]
	}
	for _, cell := range cells {
		switch {
		case cell.mark != 0:
			b.WriteString(o.paint(string(cell.mark), cell.style))
		case cell.dots == 0:
			b.WriteByte(' ')
		case o.Unicode:
			b.WriteString(o.paint(string(rune(0x2800)+rune(cell.dots)), cell.style))
		default:
			b.WriteString(o.paint(".", cell.style))
		}
	}
	return b.String()
}
