package report

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
)

const (
	// pngScale is how many pixels a PNG has for one of the scene, for screens of
	// high density.
	pngScale = 2
	// maxPNGSide is the longest side of a PNG: more takes too much memory here
	// and where it is looked at.
	maxPNGSide = 6400
)

// writePNG paints the scene in light colors. A scene that is too large for it is
// painted smaller, as far as that can be.
func (s *scene) writePNG(w io.Writer) error {
	scale := s.pngScale()
	p := &painter{
		image: image.NewRGBA(image.Rect(0, 0, min(maxPNGSide, int(math.Ceil(s.width*scale))), min(maxPNGSide, int(math.Ceil(s.height*scale))))),
		scale: scale, colors: light(), faces: map[faceKey]font.Face{},
	}
	draw.Draw(p.image, p.image.Bounds(), p.source(inkPaper), image.Point{}, draw.Src)
	for _, shape := range s.shapes {
		if err := p.shape(shape); err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
	}
	return png.Encode(w, p.image)
}

// pngScale is how many pixels the PNG has for one of the scene.
func (s *scene) pngScale() float64 {
	return min(pngScale, maxPNGSide/s.width, maxPNGSide/s.height)
}

// painter paints shapes into an image.
type painter struct {
	image  *image.RGBA
	scale  float64
	colors theme
	faces  map[faceKey]font.Face
}

type faceKey struct {
	size float64
	bold bool
}

func (p *painter) source(i ink) image.Image { return p.translucent(i, 1) }

// translucent is an ink through which the ground shows by 1 − opacity.
func (p *painter) translucent(i ink, opacity float64) image.Image {
	c := p.colors[i]
	return image.NewUniform(color.NRGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: uint8(math.Round(0xff * opacity))})
}

func (p *painter) shape(s shape) error {
	switch s := s.(type) {
	case areas:
		for _, b := range s.boxes {
			round := func(v float64) int { return int(math.Round(v * p.scale)) }
			r := image.Rect(round(b.x), round(b.y), round(b.x+b.width), round(b.y+b.height))
			draw.Draw(p.image, r, p.source(s.fill), image.Point{}, draw.Src)
		}
	case ribbon:
		p.polygon(s.outline, p.translucent(s.ink, ribbonOpacity))
	case stroke:
		for _, piece := range s.pieces() {
			for i := 1; i < len(piece); i++ {
				p.segment(piece[i-1], piece[i], s.width, s.ink)
			}
		}
	case mark:
		outline, filled := s.outline()
		p.polygon(outline, p.source(seriesInk(s.index)))
		if !filled {
			inner := mark{at: s.at, index: s.index}
			corners, _ := inner.outline()
			for i, c := range corners {
				corners[i] = place{s.at.x + (c.x-s.at.x)*0.6, s.at.y + (c.y-s.at.y)*0.6}
			}
			p.polygon(corners, p.source(inkPaper))
		}
	case label:
		return p.label(s)
	}
	return nil
}

// segment paints a straight line with round ends.
func (p *painter) segment(from, to place, width float64, color ink) {
	dx, dy := to.x-from.x, to.y-from.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	// Across the line, half its width.
	ax, ay := -dy/length*width/2, dx/length*width/2
	const steps = 6
	var outline []place
	for i := range steps + 1 {
		sin, cos := math.Sincos(math.Pi * float64(i) / steps)
		outline = append(outline, place{to.x + ax*cos + ay*sin, to.y + ay*cos - ax*sin})
	}
	for i := range steps + 1 {
		sin, cos := math.Sincos(math.Pi * float64(i) / steps)
		outline = append(outline, place{from.x - ax*cos - ay*sin, from.y - ay*cos + ax*sin})
	}
	p.polygon(outline, p.source(color))
}

// polygon fills the area within corners.
func (p *painter) polygon(corners []place, source image.Image) {
	low, high := corners[0], corners[0]
	for _, c := range corners {
		low = place{min(low.x, c.x), min(low.y, c.y)}
		high = place{max(high.x, c.x), max(high.y, c.y)}
	}
	left, top := math.Floor(low.x*p.scale), math.Floor(low.y*p.scale)
	bounds := image.Rect(int(left), int(top), int(math.Ceil(high.x*p.scale))+1, int(math.Ceil(high.y*p.scale))+1)
	raster := vector.NewRasterizer(bounds.Dx(), bounds.Dy())
	for i, c := range corners {
		x, y := float32(c.x*p.scale-left), float32(c.y*p.scale-top)
		if i == 0 {
			raster.MoveTo(x, y)
		} else {
			raster.LineTo(x, y)
		}
	}
	raster.ClosePath()
	raster.Draw(p.image, bounds, source, image.Point{})
}

func (p *painter) label(l label) error {
	face, err := p.face(faceKey{l.size * p.scale, l.bold})
	if err != nil {
		return err
	}
	text := SanitizeText(l.text)
	width := font.MeasureString(face, text)
	if !l.upwards {
		x := fixed.Int26_6(l.at.x*p.scale*64) - fixed.Int26_6(float64(width)*l.anchor)
		d := font.Drawer{Dst: p.image, Src: p.source(l.ink), Face: face, Dot: fixed.Point26_6{X: x, Y: fixed.Int26_6(l.at.y * p.scale * 64)}}
		d.DrawString(text)
		return nil
	}
	// Drawn lying, then turned.
	metrics := face.Metrics()
	ascent, descent := metrics.Ascent.Ceil(), metrics.Descent.Ceil()
	lying := image.NewAlpha(image.Rect(0, 0, width.Ceil()+1, ascent+descent))
	d := font.Drawer{Dst: lying, Src: image.Opaque, Face: face, Dot: fixed.P(0, ascent)}
	d.DrawString(text)
	standing := image.NewAlpha(image.Rect(0, 0, lying.Rect.Dy(), lying.Rect.Dx()))
	for y := range lying.Rect.Dy() {
		for x := range lying.Rect.Dx() {
			standing.SetAlpha(y, standing.Rect.Dy()-1-x, lying.AlphaAt(x, y))
		}
	}
	left := int(math.Round(l.at.x*p.scale)) - ascent
	bottom := int(math.Round(l.at.y*p.scale + float64(width)/64*l.anchor))
	at := image.Rect(left, bottom-standing.Rect.Dy(), left+standing.Rect.Dx(), bottom)
	draw.DrawMask(p.image, at, p.source(l.ink), image.Point{}, standing, image.Point{}, draw.Over)
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
