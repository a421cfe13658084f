package samples

// csrMatrix is a sparse matrix in compressed rows.
type csrMatrix struct {
	// starts holds, for every row, where it begins in columns and values, and
	// their length at the end.
	starts  []int32
	columns []int32
	values  []float64
}

// newLaplacian returns the negative seven-point Laplacian of a cube with fixed
// surroundings: 6 on the diagonal, −1 for each neighbor.
func newLaplacian(memory *region, edge int) csrMatrix {
	rows := edge * edge * edge
	m := csrMatrix{
		starts:  array[int32](memory, rows+1),
		columns: array[int32](memory, 7*rows),
		values:  array[float64](memory, 7*rows),
	}
	plane := edge * edge
	row, at := 0, 0
	put := func(column int, value float64) {
		m.columns[at], m.values[at] = int32(column), value
		at++
	}
	for z := range edge {
		for y := range edge {
			for x := range edge {
				if z > 0 {
					put(row-plane, -1)
				}
				if y > 0 {
					put(row-edge, -1)
				}
				if x > 0 {
					put(row-1, -1)
				}
				put(row, 6)
				if x < edge-1 {
					put(row+1, -1)
				}
				if y < edge-1 {
					put(row+edge, -1)
				}
				if z < edge-1 {
					put(row+plane, -1)
				}
				row++
				m.starts[row] = int32(at)
			}
		}
	}
	m.columns, m.values = m.columns[:at], m.values[:at]
	return m
}

// rows returns some rows of m.
func (m csrMatrix) rows(from, to int) csrMatrix {
	m.starts = m.starts[from : to+1]
	return m
}

// multiply computes y = m·x. Conversions keep the compiler from fusing
// operations, so every architecture rounds alike; the same holds below.
func (m csrMatrix) multiply(y, x []float64) {
	start := m.starts[0]
	for row := range y {
		end := m.starts[row+1]
		columns := m.columns[start:end]
		values := m.values[start:end][:len(columns)]
		sum := 0.0
		for i, column := range columns {
			sum += float64(values[i] * x[column])
		}
		y[row] = sum
		start = end
	}
}

// dot returns the inner product of two vectors of the same length.
func dot(x, y []float64) float64 {
	var sums partialSums
	sums.add(x, y)
	return sums.total()
}

// partialSums is an inner product in four interleaved sums.
type partialSums [4]float64

// add adds the products of the elements of two vectors of the same length, which
// is a multiple of four except in the last call.
func (p *partialSums) add(x, y []float64) {
	s0, s1, s2, s3 := p[0], p[1], p[2], p[3]
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		s0 += float64(x[0] * y[0])
		s1 += float64(x[1] * y[1])
		s2 += float64(x[2] * y[2])
		s3 += float64(x[3] * y[3])
		x, y = x[4:], y[4:]
	}
	for i := range x {
		s0 += float64(x[i] * y[i])
	}
	*p = partialSums{s0, s1, s2, s3}
}

func (p *partialSums) total() float64 { return (p[0] + p[1]) + (p[2] + p[3]) }
