package drawing

import "math"

// pieces returns the points of what is drawn of the line: all of it, or one
// piece for each dash.
func (l line) pieces() [][]Point {
	period := 0.0
	for _, length := range l.Dashes {
		period += length
	}
	if !(period > 0) || len(l.points) == 0 {
		return [][]Point{l.points}
	}
	var all [][]Point
	drawn := []Point{l.points[0]} // nil within a gap
	turn, left := 0, l.Dashes[0]
	for i := 1; i < len(l.points); i++ {
		from, to := l.points[i-1], l.points[i]
		length := math.Hypot(to.X-from.X, to.Y-from.Y)
		for done := 0.0; done < length; {
			step := min(left, length-done)
			done, left = done+step, left-step
			at := Point{from.X + (to.X-from.X)*done/length, from.Y + (to.Y-from.Y)*done/length}
			if drawn != nil {
				drawn = append(drawn, at)
			}
			if left > 0 {
				continue
			}
			turn = (turn + 1) % len(l.Dashes)
			left = l.Dashes[turn]
			if turn%2 == 1 {
				all, drawn = append(all, drawn), nil
			} else {
				drawn = []Point{at}
			}
		}
	}
	if drawn != nil {
		all = append(all, drawn)
	}
	return all
}
