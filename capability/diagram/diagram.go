// Package diagram draws trees and barriers as pictures in SVG.
package diagram

import (
	"fmt"
	"strconv"

	"bandmate.dev/bandmate/capability"
	"bandmate.dev/bandmate/internal/drawing"
)

//go:generate go run ../../cmd/bandmate capability tree --machine knl-7210-quadrant --memory cache --operation reduce --threads 64 -o json --svg ../../docs/guides/pictures/capability-tree.svg
//go:generate go run ../../cmd/bandmate capability barrier --machine knl-7210-quadrant --threads 16 -o json --svg ../../docs/guides/pictures/capability-barrier.svg

// MaxThreads bounds a picture: more threads cannot be distinguished.
const MaxThreads = 512

const (
	margin  = 24.0
	caption = 36.0 // height above the picture
	// narrowest has room for the title.
	narrowest = 560.0
)

// tileOpacity shades the boxes of tiles.
const tileOpacity = 0.12

// newPicture returns a picture with its title written above it.
func newPicture(width, height float64, title string) *drawing.Picture {
	p := &drawing.Picture{Width: width, Height: height, Title: title}
	p.Text(drawing.Label{At: drawing.At(margin, margin), Text: title})
	return p
}

func tooMany(threads int) error {
	return fmt.Errorf("a picture of %d threads: want at most %d", threads, MaxThreads)
}

// Tree draws a tree from the root down; a box is a tile with its threads.
func Tree(t capability.Tree) ([]byte, error) {
	if t.Threads > MaxThreads {
		return nil, tooMany(t.Threads)
	}
	d := treeDrawing{columnWidth: 16 + drawing.TextSize*0.7*float64(longestLabel(t.Root))}
	columns := float64(leaves(t.Root))
	width := max(2*margin+columns*d.columnWidth, narrowest)
	d.Picture = newPicture(width, caption+2*margin+float64(t.Root.Depth())*rowHeight+boxHeight,
		fmt.Sprintf("%s of %d threads, %s tree: %s", t.Operation, t.Threads, t.Shape, t.Cost))
	d.left = (width - columns*d.columnWidth) / 2
	d.node(t.Root, 0)
	return d.SVG(), nil
}

const (
	rowHeight = 64.0
	boxHeight = 22.0
)

type treeDrawing struct {
	*drawing.Picture
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
		d.Line(drawing.Stroke{Ink: drawing.SoftInk, Width: 1}, drawing.At(x, y+boxHeight/2), drawing.At(middle, y+rowHeight-boxHeight/2))
	}
	d.box(x, y, n)
	return x
}

func (d *treeDrawing) box(x, y float64, n *capability.Node) {
	width := d.columnWidth - 8
	box := drawing.Box{X: x - width/2, Y: y - boxHeight/2, Width: width, Height: boxHeight}
	d.Boxes(drawing.Series(0), tileOpacity, box)
	d.Outline(drawing.Stroke{Ink: drawing.Series(0), Width: 1}, box)
	d.Text(drawing.Label{At: drawing.At(x, y+drawing.TextSize/3), Text: label(n), Anchor: drawing.Middle})
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
	p := newPicture(max(2*margin+names+column*float64(b.Rounds), narrowest), caption+2*margin+row*float64(b.Threads),
		fmt.Sprintf("barrier of %d threads, rounds: %d, partners a round: %d, %s", b.Threads, b.Rounds, b.Partners, b.Cost))
	at := func(round, thread int) drawing.Point {
		return drawing.At(margin+names+column*float64(round), caption+margin+row*(float64(thread)+1))
	}
	for round := range b.Rounds {
		p.Text(drawing.Label{At: drawing.At(at(round, 0).X+column/2, caption+margin/2), Text: fmt.Sprintf("round %d", round+1), Ink: drawing.SoftInk, Anchor: drawing.Middle})
		for thread := b.Threads - 1; thread >= 0; thread-- { // thread 0 on top of the others
			ink := drawing.LineInk
			if thread == 0 {
				ink = drawing.Series(0)
			}
			for _, to := range b.Signals(thread, round) {
				p.Line(drawing.Stroke{Ink: ink, Width: 1}, at(round, thread), at(round+1, to))
			}
		}
	}
	for thread := range b.Threads {
		p.Text(drawing.Label{At: drawing.At(margin+names-8, at(0, thread).Y+drawing.TextSize/3), Text: strconv.Itoa(thread), Anchor: drawing.End})
	}
	return p.SVG(), nil
}
