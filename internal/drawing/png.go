package drawing

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"bandmate.dev/bandmate/internal/text"
)

const (
	// pngScale is how many pixels a PNG usually has for one of the picture, for
	// screens of high density.
	pngScale = 2
	// MaxPNGSide bounds the sides of a PNG, in pixels: more takes too much memory
	// here and in viewers.
	MaxPNGSide = 6400
)

// WritePNG paints the picture in light colors. It shrinks a picture of which a side
// would have more than MaxPNGSide pixels.
func (p *Picture) WritePNG(w io.Writer) error {
	scale := p.PNGScale()
	side := func(length float64) int { return min(MaxPNGSide, int(math.Ceil(length*scale))) }
	canvas := &painter{
		image: image.NewRGBA(image.Rect(0, 0, side(p.Width), side(p.Height))),
		scale: scale, faces: map[faceKey]font.Face{},
	}
	draw.Draw(canvas.image, canvas.image.Bounds(), source(PaperInk, 1), image.Point{}, draw.Src)
	for _, shape := range p.shapes {
		if err := canvas.shape(shape); err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
	}
	return png.Encode(w, canvas.image)
}

// PNGScale returns how many pixels a PNG has for one of the picture.
func (p *Picture) PNGScale() float64 {
	return min(pngScale, MaxPNGSide/p.Width, MaxPNGSide/p.Height)
}

// painter paints shapes into an image.
type painter struct {
	image *image.RGBA
	scale float64
	faces map[faceKey]font.Face
}

type faceKey struct {
	size float64
	bold bool
}

// source returns an ink through which the ground shows by 1 − opacity.
func source(i Ink, opacity float64) image.Image {
	c := light[i]
	return image.NewUniform(color.NRGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: uint8(math.Round(0xff * opacity))})
}

func (p *painter) shape(s shape) error {
	switch s := s.(type) {
	case area:
		for _, b := range s.boxes {
			round := func(v float64) int { return int(math.Round(v * p.scale)) }
			r := image.Rect(round(b.X), round(b.Y), round(b.X+b.Width), round(b.Y+b.Height))
			draw.Draw(p.image, r, source(s.fill, s.opacity), image.Point{}, draw.Over)
		}
	case polygon:
		p.polygon(s.corners, source(s.fill, s.opacity))
	case line:
		for _, piece := range s.pieces() {
			for i := 1; i < len(piece); i++ {
				p.segment(piece[i-1], piece[i], s.Width, s.Ink)
			}
		}
	case Label:
		return p.label(s)
	}
	return nil
}

// segment paints a straight line with round ends.
func (p *painter) segment(from, to Point, width float64, color Ink) {
	dx, dy := to.X-from.X, to.Y-from.Y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	// Across the line, half its width.
	ax, ay := -dy/length*width/2, dx/length*width/2
	const steps = 6
	var outline []Point
	for i := range steps + 1 {
		sin, cos := math.Sincos(math.Pi * float64(i) / steps)
		outline = append(outline, Point{to.X + ax*cos + ay*sin, to.Y + ay*cos - ax*sin})
	}
	for i := range steps + 1 {
		sin, cos := math.Sincos(math.Pi * float64(i) / steps)
		outline = append(outline, Point{from.X - ax*cos - ay*sin, from.Y - ay*cos + ax*sin})
	}
	p.polygon(outline, source(color, 1))
}

// polygon fills the area within corners.
func (p *painter) polygon(corners []Point, source image.Image) {
	low, high := corners[0], corners[0]
	for _, c := range corners {
		low = Point{min(low.X, c.X), min(low.Y, c.Y)}
		high = Point{max(high.X, c.X), max(high.Y, c.Y)}
	}
	left, top := math.Floor(low.X*p.scale), math.Floor(low.Y*p.scale)
	bounds := image.Rect(int(left), int(top), int(math.Ceil(high.X*p.scale))+1, int(math.Ceil(high.Y*p.scale))+1)
	raster := vector.NewRasterizer(bounds.Dx(), bounds.Dy())
	for i, c := range corners {
		x, y := float32(c.X*p.scale-left), float32(c.Y*p.scale-top)
		if i == 0 {
			raster.MoveTo(x, y)
		} else {
			raster.LineTo(x, y)
		}
	}
	raster.ClosePath()
	raster.Draw(p.image, bounds, source, image.Point{})
}

func (p *painter) label(l Label) error {
	face, err := p.face(faceKey{l.Size * p.scale, l.Bold})
	if err != nil {
		return err
	}
	s := text.Sanitize(l.Text)
	width := font.MeasureString(face, s)
	if !l.Upward {
		x := fixed.Int26_6(l.At.X*p.scale*64) - fixed.Int26_6(float64(width)*float64(l.Anchor))
		d := font.Drawer{Dst: p.image, Src: source(l.Ink, 1), Face: face, Dot: fixed.Point26_6{X: x, Y: fixed.Int26_6(l.At.Y * p.scale * 64)}}
		d.DrawString(s)
		return nil
	}
	// Drawn lying, then turned.
	metrics := face.Metrics()
	ascent, descent := metrics.Ascent.Ceil(), metrics.Descent.Ceil()
	lying := image.NewAlpha(image.Rect(0, 0, width.Ceil()+1, ascent+descent))
	d := font.Drawer{Dst: lying, Src: image.Opaque, Face: face, Dot: fixed.P(0, ascent)}
	d.DrawString(s)
	standing := image.NewAlpha(image.Rect(0, 0, lying.Rect.Dy(), lying.Rect.Dx()))
	for y := range lying.Rect.Dy() {
		for x := range lying.Rect.Dx() {
			standing.SetAlpha(y, standing.Rect.Dy()-1-x, lying.AlphaAt(x, y))
		}
	}
	left := int(math.Round(l.At.X*p.scale)) - ascent
	bottom := int(math.Round(l.At.Y*p.scale + float64(width)/64*float64(l.Anchor)))
	at := image.Rect(left, bottom-standing.Rect.Dy(), left+standing.Rect.Dx(), bottom)
	draw.DrawMask(p.image, at, source(l.Ink, 1), image.Point{}, standing, image.Point{}, draw.Over)
	return nil
}

func (p *painter) face(key faceKey) (font.Face, error) {
	if face, ok := p.faces[key]; ok {
		return face, nil
	}
	load := regularFont
	if key.bold {
		load = boldFont
	}
	f, err := load()
	if err != nil {
		return nil, err
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: key.size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil, err
	}
	p.faces[key] = face
	return face, nil
}
