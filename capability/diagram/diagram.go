// Package diagram draws trees and barriers as pictures in SVG.
package diagram

import (
	"fmt"
	"strconv"

	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/internal/svg"
)

//go:generate go run ../../cmd/bandmate capability tree --machine knl-7210-quadrant --memory cache --operation reduce --threads 64 -o json --svg ../../docs/guides/pictures/capability-tree.svg
//go:generate go run ../../cmd/bandmate capability barrier --machine knl-7210-quadrant --threads 16 -o json --svg ../../docs/guides/pictures/capability-barrier.svg

// MaxThreads bounds what is drawn: of more threads nobody recognizes anything.
const MaxThreads = 512

const (
	margin  = 24.0
	caption = 36.0 // height above the picture
	// narrowest has room for the title.
	narrowest = 560.0
)

// Colors of what matters, of what joins it, and of the rest.
const (
	dark  = "#2f6690"
	joint = "#5b7083"
	pale  = "#c3ced8"
	tile  = "#e4eef7"
)

// document returns the picture with its title written above it.
func document(p *svg.Picture, title string) []byte {
	p.Text(svg.Point{X: margin, Y: margin - svg.FontSize/3.0}, svg.Start, title)
	return p.Document(title)
}

func tooMany(threads int) error {
	return fmt.Errorf("a picture of %d threads: want at most %d", threads, MaxThreads)
}

// Tree draws a tree from the root down; a box is a tile with its threads.
func Tree(t capability.Tree) ([]byte, error) {
	if t.Threads > MaxThreads {
		return nil, tooMany(t.Threads)
	}
	d := treeDrawing{columnWidth: 16 + svg.FontSize*0.7*float64(longestLabel(t.Root))}
	columns := float64(leaves(t.Root))
	width := max(2*margin+columns*d.columnWidth, narrowest)
	d.picture = svg.New(width, caption+2*margin+float64(t.Root.Depth())*rowHeight+boxHeight)
	d.left = (width - columns*d.columnWidth) / 2
	d.node(t.Root, 0)
	return document(d.picture, fmt.Sprintf("%s of %d threads, %s tree: %s", t.Operation, t.Threads, t.Shape, t.Cost)), nil
}

const (
	rowHeight = 64.0
	boxHeight = 22.0
)

type treeDrawing struct {
	picture           *svg.Picture
	columnWidth, left float64
	column            int
}

// node draws a subtree and returns the middle of its box.
func (d *treeDrawing) node(n *capability.Node, depth int) float64 {
	y := caption + margin + float64(depth)*rowHeight + boxHeight/2
	if len(n.Children) == 0 {
		x := d.left + (float64(d.column)+0.5)*d.columnWidth
		d.column++
		d.box(x, y, n)
		return x
	}
	var middles []float64
	for _, child := range n.Children {
		middles = append(middles, d.node(child, depth+1))
	}
	x := (middles[0] + middles[len(middles)-1]) / 2
	for _, middle := range middles {
		d.picture.Line(svg.Stroke{Color: joint}, svg.Point{X: x, Y: y + boxHeight/2}, svg.Point{X: middle, Y: y + rowHeight - boxHeight/2})
	}
	d.box(x, y, n)
	return x
}

func (d *treeDrawing) box(x, y float64, n *capability.Node) {
	width := d.columnWidth - 8
	d.picture.Box(svg.Point{X: x - width/2, Y: y - boxHeight/2}, width, boxHeight, tile, dark, "")
	d.picture.Text(svg.Point{X: x, Y: y}, svg.Middle, label(n))
}

// label names the threads of a tile; they follow each other.
func label(n *capability.Node) string {
	first := strconv.Itoa(n.Threads[0])
	if last := n.Threads[len(n.Threads)-1]; len(n.Threads) > 1 {
		return first + "–" + strconv.Itoa(last)
	}
	return first
}

func longestLabel(n *capability.Node) int {
	longest := len([]rune(label(n)))
	for _, child := range n.Children {
		longest = max(longest, longestLabel(child))
	}
	return longest
}

func leaves(n *capability.Node) int {
	if len(n.Children) == 0 {
		return 1
	}
	count := 0
	for _, child := range n.Children {
		count += leaves(child)
	}
	return count
}

// Barrier draws threads from top to bottom and rounds from left to right, with
// a line for each signal, those of thread 0 dark.
func Barrier(b capability.Barrier) ([]byte, error) {
	if b.Threads > MaxThreads {
		return nil, tooMany(b.Threads)
	}
	const row, column, names = 16.0, 160.0, 36.0
	p := svg.New(max(2*margin+names+column*float64(b.Rounds), narrowest), caption+2*margin+row*float64(b.Threads))
	at := func(round, thread int) svg.Point {
		return svg.Point{X: margin + names + column*float64(round), Y: caption + margin + row*(float64(thread)+1)}
	}
	for round := range b.Rounds {
		p.Text(svg.Point{X: at(round, 0).X + column/2, Y: caption + margin/2}, svg.Middle, fmt.Sprintf("round %d", round+1))
		for thread := b.Threads - 1; thread >= 0; thread-- { // thread 0 on top of the others
			color := pale
			if thread == 0 {
				color = dark
			}
			for _, to := range b.Signals(thread, round) {
				p.Line(svg.Stroke{Color: color}, at(round, thread), at(round+1, to))
			}
		}
	}
	for thread := range b.Threads {
		p.Text(svg.Point{X: margin + names - 8, Y: at(0, thread).Y}, svg.End, strconv.Itoa(thread))
	}
	return document(p, fmt.Sprintf("barrier of %d threads, rounds: %d, partners a round: %d, %s", b.Threads, b.Rounds, b.Partners, b.Cost)), nil
}
