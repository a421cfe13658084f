package report

import "math"

// scene is a picture for a file, in shapes whose places are in pixels from the
// top left. It is written as SVG or as PNG, which look the same but for the font.
type scene struct {
	width, height float64
	// title and description are for those who cannot see it.
	title, description string
	shapes             []shape
}

// shape is one of areas, ribbon, stroke, mark and label.
type shape any

// areas are rectangles of one color. Without a gap between them they are drawn as
// one area.
type areas struct {
	fill  ink
	boxes []box
}

// box is a rectangle; hint is what a pointer over it is told, if anything.
type box struct {
	x, y, width, height float64
	hint                string
}

// ribbon is the area within an outline, through which everything below it shows.
type ribbon struct {
	outline []place
	ink     ink
}

// ribbonOpacity leaves apart two ribbons, one of them over the other, and text
// below them readable.
const ribbonOpacity = 0.14

// stroke is a line along points.
type stroke struct {
	points []place
	ink    ink
	width  float64
	// dashes are the lengths of its pieces and of the gaps between them, in
	// turns; none for a whole line. The ends of pieces are round and come on top.
	dashes []float64
}

type place struct{ x, y float64 }

// mark is the symbol of series number index. A hollow one, where those of the
// series are not, has been computed.
type mark struct {
	at     place
	index  int
	hollow bool
}

// label is text on one line.
type label struct {
	at   place
	text string
	size float64
	ink  ink
	// anchor is 0 where the text starts at the place, 0.5 where it is centered
	// and 1 where it ends there.
	anchor float64
	bold   bool
	// upwards turns the text a quarter to the left.
	upwards bool
}

func (s *scene) add(shapes ...shape) { s.shapes = append(s.shapes, shapes...) }

// ink is a color by its use.
type ink int

const (
	inkText ink = iota
	inkSoft
	inkLine
	inkPaper
	inkUnknown
	// inkHeat is the first of the colors of heats, and inkOnHeat the first of
	// those of text on them; inkSeries is the first of those of lines.
	inkHeat
	inkOnHeat = inkHeat + ink(len(heats))
	inkSeries = inkOnHeat + ink(len(heats))
	inks      = inkSeries + seriesColors
)

// seriesColors is after how many lines colors come again.
const seriesColors = 6

// rgb is a color as 0xRRGGBB.
type rgb uint32

// theme is a color for each ink.
type theme [inks]rgb

// light and dark are the themes of the report page, too. PNG knows light only.
// The heats are those of the terminal. Lines have the colors of Okabe and Ito,
// darkened so that they stand out from paper.
func light() theme {
	return fill(theme{inkText: 0x17202a, inkSoft: 0x55606e, inkLine: 0xd8dde4, inkPaper: 0xffffff, inkUnknown: 0xf6f7f9},
		[...]rgb{0xf1f5f2, 0xffffd7, 0xffd787, 0xffaf5f, 0xd70000, 0x870000},
		[...]rgb{0x17202a, 0x17202a, 0x17202a, 0x17202a, 0xffffff, 0xffffff},
		[...]rgb{0x0b5fa5, 0xb4460a, 0x1d7a46, 0x8a3ea8, 0x7a6000, 0x3d4a57})
}

func dark() theme {
	return fill(theme{inkText: 0xe8edf2, inkSoft: 0xa4b0bd, inkLine: 0x36424f, inkPaper: 0x1a2129, inkUnknown: 0x11161c},
		[...]rgb{0x22303a, 0xffffd7, 0xffd787, 0xffaf5f, 0xd70000, 0x870000},
		[...]rgb{0xe8edf2, 0x17202a, 0x17202a, 0x17202a, 0xffffff, 0xffffff},
		[...]rgb{0x7cc0ff, 0xff9e64, 0x7bd99a, 0xd9a2f0, 0xe5cf6b, 0xc3ccd6})
}

func fill(t theme, heat, onHeat [len(heats)]rgb, series [seriesColors]rgb) theme {
	copy(t[inkHeat:], heat[:])
	copy(t[inkOnHeat:], onHeat[:])
	copy(t[inkSeries:], series[:])
	return t
}

func seriesInk(index int) ink { return inkSeries + ink(index%seriesColors) }

// pieces are the points of what is drawn of the stroke: all of it, or one piece
// for each dash.
func (s stroke) pieces() [][]place {
	period := 0.0
	for _, length := range s.dashes {
		period += length
	}
	if !(period > 0) || len(s.points) == 0 {
		return [][]place{s.points}
	}
	var all [][]place
	drawn := []place{s.points[0]} // nil within a gap
	turn, left := 0, s.dashes[0]
	for i := 1; i < len(s.points); i++ {
		from, to := s.points[i-1], s.points[i]
		length := math.Hypot(to.x-from.x, to.y-from.y)
		for done := 0.0; done < length; {
			step := min(left, length-done)
			done, left = done+step, left-step
			at := place{from.x + (to.x-from.x)*done/length, from.y + (to.y-from.y)*done/length}
			if drawn != nil {
				drawn = append(drawn, at)
			}
			if left > 0 {
				continue
			}
			turn = (turn + 1) % len(s.dashes)
			left = s.dashes[turn]
			if turn%2 == 1 {
				all, drawn = append(all, drawn), nil
			} else {
				drawn = []place{at}
			}
		}
	}
	if drawn != nil {
		all = append(all, drawn)
	}
	return all
}
