package report

import "math"

// markRadius is the size of a mark, in pixels.
const markRadius = 4.5

// outline returns the corners of the mark: circle, square, triangle and diamond,
// filled and then hollow, as in the terminal.
func (m mark) outline() (corners []place, filled bool) {
	corner := func(turns, radius float64) place {
		sin, cos := math.Sincos(2 * math.Pi * turns)
		return place{m.at.x + radius*sin, m.at.y - radius*cos}
	}
	switch m.index % 4 {
	case 0:
		const sides = 16
		for i := range sides {
			corners = append(corners, corner(float64(i)/sides, markRadius))
		}
	case 1:
		for i := range 4 {
			corners = append(corners, corner(0.125+float64(i)/4, markRadius*1.25))
		}
	case 2:
		for i := range 3 {
			corners = append(corners, corner(float64(i)/3, markRadius*1.3))
		}
	default:
		for i := range 4 {
			corners = append(corners, corner(float64(i)/4, markRadius*1.3))
		}
	}
	return corners, m.index/4%2 == 0 && !m.hollow
}
