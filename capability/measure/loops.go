package measure

// loops are the loops of one instruction set over lists of lines. All lists of
// a call are equally long, begin on a line and hold a multiple of loopLines;
// those with non-temporal stores are nil where there are none.
type loops struct {
	name           string
	copy, copyNT   func(to, from []line)
	write, writeNT func(to []line, value float64)
	triad, triadNT func(to, b, c []line, scale float64)
}

// loopLines are the lines of one pass through an assembly loop.
const loopLines = 2

// portable are the loops that the others are tested against.
var portable = loops{name: "generic", copy: copyGeneric, write: writeGeneric, triad: triadGeneric}

func copyGeneric(to, from []line) { copy(to, from) }

func writeGeneric(to []line, value float64) {
	filled := line{value, value, value, value, value, value, value, value}
	for i := range to {
		to[i] = filled
	}
}

func triadGeneric(to, b, c []line, scale float64) {
	for i := range to {
		for j := range to[i] {
			to[i][j] = b[i][j] + scale*c[i][j]
		}
	}
}

// readLines loads every word; the sum keeps the compiler from removing the loads.
func readLines(lines []line) float64 {
	var s line
	for i := range lines {
		l := &lines[i]
		s[0] += l[0]
		s[1] += l[1]
		s[2] += l[2]
		s[3] += l[3]
		s[4] += l[4]
		s[5] += l[5]
		s[6] += l[6]
		s[7] += l[7]
	}
	return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7]
}
