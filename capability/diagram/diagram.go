// Package diagram draws trees and barriers as pictures in SVG, which stand for
// themselves: no fonts, scripts or styles from elsewhere.
package diagram

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/capability"
)

// MaxThreads bounds what is drawn: of more threads nobody recognizes anything.
const MaxThreads = 512

const (
	margin   = 24.0
	caption  = 36.0 // height above the picture
	fontSize = 12.0
)

// picture collects elements.
type picture struct {
	body          bytes.Buffer
	width, height float64
}

func newPicture(width, height float64) *picture {
	return &picture{width: max(width, 560), height: height + caption}
}

// bytes returns the whole document. Title is plain text that needs no escapes:
// it is made of numbers and of the names of shapes and operations.
func (p *picture) bytes(title string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" font-family="sans-serif" font-size="%.0f">`+"\n",
		p.width, p.height, p.width, p.height, fontSize)
	fmt.Fprintf(&b, "<title>%s</title>\n", title)
	b.WriteString("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n")
	fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"14\">%s</text>\n", margin, margin, title)
	b.Write(p.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (p *picture) line(x1, y1, x2, y2 float64, color string) {
	fmt.Fprintf(&p.body, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, caption+y1, x2, caption+y2, color)
}

func (p *picture) text(x, y float64, anchor, text string) {
	fmt.Fprintf(&p.body, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, caption+y+fontSize/3, anchor, text)
}

func tooMany(threads int) error {
	return fmt.Errorf("a picture of %d threads: want at most %d", threads, MaxThreads)
}

// Tree draws a tree from the root down; a box is a tile with its threads.
func Tree(t capability.Tree) ([]byte, error) {
	if t.Threads > MaxThreads {
		return nil, tooMany(t.Threads)
	}
	d := treeDrawing{columnWidth: 16 + fontSize*0.7*float64(longestLabel(t.Root))}
	columns := float64(leaves(t.Root))
	d.picture = newPicture(2*margin+columns*d.columnWidth, 2*margin+float64(t.Root.Depth())*rowHeight+boxHeight)
	d.left = (d.width - columns*d.columnWidth) / 2
	d.node(t.Root, 0)
	return d.bytes(fmt.Sprintf("%s of %d threads, %s tree: %s", t.Operation, t.Threads, t.Shape, t.Cost)), nil
}

const (
	rowHeight = 64.0
	boxHeight = 22.0
)

type treeDrawing struct {
	*picture
	columnWidth, left float64
	column            int
}

// node draws a subtree and returns the middle of its box.
func (d *treeDrawing) node(n *capability.Node, depth int) float64 {
	y := margin + float64(depth)*rowHeight + boxHeight/2
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
		d.line(x, y+boxHeight/2, middle, y+rowHeight-boxHeight/2, "#5b7083")
	}
	d.box(x, y, n)
	return x
}

func (d *treeDrawing) box(x, y float64, n *capability.Node) {
	width := d.columnWidth - 8
	fmt.Fprintf(&d.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"#e4eef7\" stroke=\"#2f6690\"/>\n",
		x-width/2, caption+y-boxHeight/2, width, boxHeight)
	d.text(x, y, "middle", label(n))
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
	p := newPicture(2*margin+names+column*float64(b.Rounds), 2*margin+row*float64(b.Threads))
	x := func(round int) float64 { return margin + names + column*float64(round) }
	y := func(thread int) float64 { return margin + row*(float64(thread)+1) }
	for round := range b.Rounds {
		p.text(x(round)+column/2, margin/2, "middle", fmt.Sprintf("round %d", round+1))
		for _, thread := range backwards(b.Threads) { // thread 0 on top of the others
			color := "#c3ced8"
			if thread == 0 {
				color = "#2f6690"
			}
			for _, to := range b.Signals(thread, round) {
				p.line(x(round), y(thread), x(round+1), y(to), color)
			}
		}
	}
	for thread := range b.Threads {
		p.text(margin+names-8, y(thread), "end", strconv.Itoa(thread))
	}
	return p.bytes(strings.Join([]string{
		"barrier of " + strconv.Itoa(b.Threads) + " threads", "rounds: " + strconv.Itoa(b.Rounds),
		"partners a round: " + strconv.Itoa(b.Partners), b.Cost.String(),
	}, ", ")), nil
}

func backwards(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	return order
}
