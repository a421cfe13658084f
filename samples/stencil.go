package samples

import (
	"context"
	"fmt"
	"math"
)

// stencilEdge is the number of inner cells along each edge of the cube: two
// grids of 43 MiB.
const stencilEdge = 176

// stencilTick is the number of rows of a tick, a sixteenth of a plane.
const stencilTick = stencilEdge / 16

func stencilSample() Sample {
	return Sample{
		Name:        "stencil",
		Description: "Jacobi sweeps of the seven-point stencil over a cube",
		Unit:        "cells",
		WorkingSet:  2 * 8 * (stencilEdge + 2) * (stencilEdge + 2) * (stencilEdge + 2),
		prepare: func(memory *region, scale float64) kernel {
			return newStencil(memory, stencilEdge, steps(35, scale))
		},
	}
}

// stencil solves the heat equation on a cube whose surface is kept at zero,
// one explicit step (Jacobi sweep) after the other. It starts from an
// eigenvector of the sweep, so the exact answer is known at any time.
type stencil struct {
	// from and to are cubes of edge+2 cells; the outermost cells stay zero.
	from, to []float64
	edge     int
	sweeps   int
	sines    [3][]float64
}

// stencilModes is the number of half waves of the start along z, y and x;
// three different ones, so that an exchange of axes shows.
var stencilModes = [3]int{1, 2, 3}

func newStencil(memory *region, edge, sweeps int) *stencil {
	side := edge + 2
	s := &stencil{
		from:   array[float64](memory, side*side*side),
		to:     array[float64](memory, side*side*side),
		edge:   edge,
		sweeps: sweeps,
	}
	for axis, mode := range stencilModes {
		s.sines[axis] = make([]float64, side)
		for i := 1; i <= edge; i++ {
			s.sines[axis][i] = math.Sin(float64(mode*i) * math.Pi / float64(edge+1))
		}
	}
	for z := 1; z <= edge; z++ {
		for y := 1; y <= edge; y++ {
			row := s.from[(z*side+y)*side:][:side]
			amplitude := s.sines[0][z] * s.sines[1][y]
			for x, sine := range s.sines[2] {
				row[x] = amplitude * sine
			}
		}
	}
	return s
}

func (s *stencil) run(ctx context.Context) error {
	for range s.sweeps {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.sweep()
		s.from, s.to = s.to, s.from
	}
	return nil
}

// sweep replaces every inner cell by the mean of its six neighbors.
func (s *stencil) sweep() {
	side := s.edge + 2
	plane := side * side
	for z := 1; z <= s.edge; z++ {
		inTicks(s.edge, stencilTick, func(from, to int) {
			for y := from + 1; y <= to; y++ {
				at := z*plane + y*side
				stencilRow(s.to[at:at+side], s.from[at:at+side],
					s.from[at-side:at], s.from[at+side:at+2*side],
					s.from[at-plane:at-plane+side], s.from[at+plane:at+plane+side])
			}
		})
	}
}

// stencilRow computes the inner cells of one row from the row itself and its
// four neighbors, all of the same length.
func stencilRow(to, row, north, south, below, above []float64) {
	n := len(to)
	row, north, south, below, above = row[:n], north[:n], south[:n], below[:n], above[:n]
	for x := 1; x < n-1; x++ {
		to[x] = ((row[x-1] + row[x+1]) + (north[x] + south[x]) + (below[x] + above[x])) * (1.0 / 6)
	}
}

func (s *stencil) work() float64 {
	return float64(s.edge) * float64(s.edge) * float64(s.edge) * float64(s.sweeps)
}

// verify compares cells with the eigenvector times its eigenvalue, the mean of
// the cosines of the three modes, raised to the number of sweeps.
func (s *stencil) verify() (uint64, error) {
	eigenvalue := 0.0
	for _, mode := range stencilModes {
		eigenvalue += math.Cos(float64(mode)*math.Pi/float64(s.edge+1)) / 3
	}
	factor := math.Pow(eigenvalue, float64(s.sweeps))
	side := s.edge + 2
	var sum digest
	for i := 0; i < len(s.from); i += max(1, len(s.from)/4099) {
		z, y, x := i/(side*side), i/side%side, i%side
		want := factor * s.sines[0][z] * s.sines[1][y] * s.sines[2][x]
		if got := s.from[i]; !(math.Abs(got-want) <= 1e-12) {
			return 0, fmt.Errorf("%w: cell %d,%d,%d is %v, not %v", ErrWrongResult, z, y, x, got, want)
		}
		// The sines may differ in their last bits between architectures.
		sum.addFloat(math.Round(s.from[i] * 1e9))
	}
	return uint64(sum), nil
}
