package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/units"
)

// HeatMap is the slowdown of applications beside others.
type HeatMap struct {
	// Targets name the rows: who suffers.
	Targets []string
	// Corunners name the columns: who causes it.
	Corunners []string
	// Slowdown returns that of Targets[target] beside Corunners[corunner]; NaN
	// where it is not known. It must be safe for concurrent use.
	Slowdown func(target, corunner int) units.Slowdown
}

const (
	cellWidth       = 6
	maxNamedWidth   = 8
	maxTargetWidth  = 28
	heatMapIndent   = 1
	heatMapSentence = "Slowdown of the application in the row beside the one in the column"
)

// heat is a class of slowdowns that share a color.
type heat struct {
	below units.Slowdown
	style sgr
	label string
}

// heats go from pale yellow to dark red (ColorBrewer YlOrRd, which stays
// readable for color-blind people) in the 256 colors of xterm.
var heats = [...]heat{
	{1.05, plain, "< 1.05"},
	{1.15, "38;5;16;48;5;230", "1.05–1.15"},
	{1.30, "38;5;16;48;5;222", "1.15–1.30"},
	{1.60, "38;5;16;48;5;215", "1.30–1.60"},
	{2.00, "38;5;231;48;5;160", "1.60–2.00"},
	{units.Slowdown(math.Inf(1)), "38;5;231;48;5;88", "≥ 2.00"},
}

func heatOf(s units.Slowdown) sgr {
	if i := heatIndex(s); i >= 0 {
		return heats[i].style
	}
	return faint
}

// heatIndex returns the class of a slowdown, or -1 where it is not known.
func heatIndex(s units.Slowdown) int {
	if math.IsNaN(float64(s)) {
		return -1
	}
	for i, h := range heats {
		if s < h.below {
			return i
		}
	}
	return len(heats) - 1
}

// heatCell prints s in at most five columns.
func heatCell(s units.Slowdown) string {
	switch v := float64(s); {
	case math.IsNaN(v):
		return Missing
	case v >= 99_999.5:
		return ">99k"
	case v >= 999.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 99.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// Write draws the map. Columns bear names where these are short and all
// fit, and otherwise the numbers of the rows, or of a list below when the
// columns are other applications than the rows. Columns that do not fit beside
// each other follow in further blocks.
func (m *HeatMap) Write(w io.Writer, o Options) error {
	var b strings.Builder
	if len(m.Targets) == 0 || len(m.Corunners) == 0 {
		_, err := io.WriteString(w, "No applications to compare.\n")
		return err
	}
	layout := m.layout(o)
	fmt.Fprintln(&b, heatMapSentence)
	for first := 0; first < len(m.Corunners); first += layout.perBlock {
		end := min(first+layout.perBlock, len(m.Corunners))
		if layout.perBlock < len(m.Corunners) {
			fmt.Fprintf(&b, "\nColumns %d to %d of %d\n", first+1, end, len(m.Corunners))
		}
		m.writeBlock(&b, o, layout, first, end)
	}
	if layout.list {
		m.writeList(&b, o)
	}
	if o.Color {
		writeHeats(&b, o)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// heatMapLayout is how a map is fitted into its width.
type heatMapLayout struct {
	rows, columns []string
	rowWidth      int
	cell          int
	perBlock      int
	// list is true when the numbers of the columns are explained below.
	list bool
}

func (m *HeatMap) layout(o Options) heatMapLayout {
	var l heatMapLayout
	longest := 0
	for _, name := range m.Corunners {
		name = o.text(name)
		l.columns = append(l.columns, name)
		longest = max(longest, displayWidth(name))
	}
	for _, name := range m.Targets {
		name = o.truncate(o.text(name), maxTargetWidth)
		l.rows = append(l.rows, name)
		l.rowWidth = max(l.rowWidth, displayWidth(name))
	}
	l.cell = max(cellWidth, longest+1)
	if longest <= maxNamedWidth && heatMapIndent+l.rowWidth+l.cell*len(m.Corunners) <= o.width() {
		l.perBlock = len(m.Corunners)
		return l
	}
	l.cell = cellWidth
	for j := range l.columns {
		l.columns[j] = strconv.Itoa(j + 1)
	}
	l.list = !slices.Equal(m.Targets, m.Corunners)
	if !l.list {
		l.rowWidth = 0
		digits := len(strconv.Itoa(len(l.rows)))
		for i, name := range l.rows {
			l.rows[i] = fmt.Sprintf("%*d %s", digits, i+1, name)
			l.rowWidth = max(l.rowWidth, displayWidth(l.rows[i]))
		}
	}
	fitting := max(1, (o.width()-heatMapIndent-l.rowWidth)/l.cell)
	blocks := (len(m.Corunners) + fitting - 1) / fitting
	l.perBlock = (len(m.Corunners) + blocks - 1) / blocks
	return l
}

func (m *HeatMap) writeBlock(b *strings.Builder, o Options, l heatMapLayout, first, end int) {
	indent := strings.Repeat(" ", heatMapIndent)
	b.WriteString(indent + strings.Repeat(" ", l.rowWidth))
	for _, name := range l.columns[first:end] {
		b.WriteString(o.paint(padLeft(name, l.cell), bold))
	}
	b.WriteByte('\n')
	for i, name := range l.rows {
		b.WriteString(indent + padRight(name, l.rowWidth))
		for j := first; j < end; j++ {
			s := m.Slowdown(i, j)
			b.WriteString(o.paint(padLeft(o.text(heatCell(s)), l.cell), heatOf(s)))
		}
		b.WriteByte('\n')
	}
}

func (m *HeatMap) writeList(b *strings.Builder, o Options) {
	b.WriteString("\nColumns\n")
	digits := len(strconv.Itoa(len(m.Corunners)))
	for j, name := range m.Corunners {
		fmt.Fprintf(b, " %*d %s\n", digits, j+1, o.truncate(o.text(name), o.width()-digits-2))
	}
}

func writeHeats(b *strings.Builder, o Options) {
	b.WriteByte('\n')
	for _, h := range heats {
		b.WriteString(o.paint(" "+o.text(h.label)+" ", h.style))
	}
	b.WriteByte('\n')
}

// Busiest returns a map of the n applications that suffer or cause the most, in
// their order, and how many were left out. Rows and columns must be the same
// applications. An unknown slowdown counts as none.
func (m *HeatMap) Busiest(n int) (part *HeatMap, left int) {
	if n <= 0 || n >= len(m.Targets) {
		return m, 0
	}
	weights := make([]float64, len(m.Targets))
	for i := range m.Targets {
		for j := range m.Corunners {
			if s := float64(m.Slowdown(i, j)); s > 1 && !math.IsInf(s, 0) {
				weights[i] += s - 1
				weights[j] += s - 1
			}
		}
	}
	chosen := make([]int, len(weights))
	for i := range chosen {
		chosen[i] = i
	}
	slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	chosen = chosen[:n]
	slices.Sort(chosen)
	part = &HeatMap{Slowdown: func(i, j int) units.Slowdown { return m.Slowdown(chosen[i], chosen[j]) }}
	for _, i := range chosen {
		part.Targets = append(part.Targets, m.Targets[i])
		part.Corunners = append(part.Corunners, m.Corunners[i])
	}
	return part, len(m.Targets) - n
}
