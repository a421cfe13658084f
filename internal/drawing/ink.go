package drawing

// Ink is a color by its use: a number of the theme.
type Ink int

// The inks of every picture. Heat and Series have several.
const (
	TextInk    Ink = iota
	SoftInk        // titles of axes, notes
	LineInk        // grids
	PaperInk       // the ground
	UnknownInk     // a cell without a number
	heatInk
	onHeatInk = heatInk + Heats
	seriesInk = onHeatInk + Heats
	inks      = seriesInk + seriesColors
)

const (
	// Heats is the number of classes of a heat map.
	Heats = 6
	// seriesColors is the number of lines after which colors repeat.
	seriesColors = 6
)

// Heat returns the ink of a cell of the heat map's class, from 0 to Heats-1.
func Heat(class int) Ink { return heatInk + Ink(class) }

// OnHeat returns the ink of text on Heat(class).
func OnHeat(class int) Ink { return onHeatInk + Ink(class) }

// Series returns the ink of line number index.
func Series(index int) Ink { return seriesInk + Ink(index%seriesColors) }

// rgb is a color as 0xRRGGBB.
type rgb uint32

// theme is a color for each ink.
type theme [inks]rgb

// light and dark are the themes of the report page, too. PNG knows light only.
// The heats are those of the terminal. Lines have the colors of Okabe and Ito,
// darkened so that they stand out from paper.
var (
	light = theme{
		0x17202a, 0x55606e, 0xd8dde4, 0xffffff, 0xf6f7f9,
		0xf1f5f2, 0xffffd7, 0xffd787, 0xffaf5f, 0xd70000, 0x870000,
		0x17202a, 0x17202a, 0x17202a, 0x17202a, 0xffffff, 0xffffff,
		0x0b5fa5, 0xb4460a, 0x1d7a46, 0x8a3ea8, 0x7a6000, 0x3d4a57,
	}
	dark = theme{
		0xe8edf2, 0xa4b0bd, 0x36424f, 0x1a2129, 0x11161c,
		0x22303a, 0xffffd7, 0xffd787, 0xffaf5f, 0xd70000, 0x870000,
		0xe8edf2, 0x17202a, 0x17202a, 0x17202a, 0xffffff, 0xffffff,
		0x7cc0ff, 0xff9e64, 0x7bd99a, 0xd9a2f0, 0xe5cf6b, 0xc3ccd6,
	}
)
