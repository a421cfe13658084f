package samples

import (
	"context"
	"fmt"
	"math"
)

// conjugateGradientEdge is the number of unknowns along each edge of the cube:
// 885 thousand rows, 101 MiB.
const conjugateGradientEdge = 96

func conjugateGradientSample() Sample {
	rows := conjugateGradientEdge * conjugateGradientEdge * conjugateGradientEdge
	return Sample{
		Name:        "conjugate-gradient",
		Description: "solves a sparse linear system, the Laplacian of a cube",
		Unit:        "nonzeros",
		WorkingSet:  rows*(7*(8+4)+4*8) + (rows+1)*4,
		prepare: func(memory *region, scale float64) kernel {
			return newConjugateGradient(memory, conjugateGradientEdge, steps(30, scale))
		},
	}
}

// The lengths of a tick in each phase of an iteration, as rows or elements. A
// tick takes about the same time in all of them.
const (
	multiplyTick = 1152
	dotTick      = 12 << 10 // a multiple of the interleaving of partialSums
	vectorTick   = 12 << 10
)

// converged ends a solve when the squared residual has fallen by this factor;
// the next one begins from zero, so the amount of work stays what was asked.
const converged = 1e-24

// conjugateGradient solves A·x = b for the seven-point Laplacian of a cube
// (Hestenes and Stiefel 1952), with b chosen so that x is 1 everywhere.
type conjugateGradient struct {
	matrix                         csrMatrix
	x, residual, direction, image  []float64
	edge, iterations               int
	squaredResidual, squaredAtZero float64
}

func newConjugateGradient(memory *region, edge, iterations int) *conjugateGradient {
	rows := edge * edge * edge
	c := &conjugateGradient{
		matrix:     newLaplacian(memory, edge),
		x:          array[float64](memory, rows),
		residual:   array[float64](memory, rows),
		direction:  array[float64](memory, rows),
		image:      array[float64](memory, rows),
		edge:       edge,
		iterations: iterations,
	}
	c.restart()
	return c
}

// restart begins a solve from x = 0. A row of the Laplacian has 6 on the
// diagonal and −1 per neighbor, so b = A·1 is 6 less the neighbors.
func (c *conjugateGradient) restart() {
	for i := range c.x {
		b := float64(7 - (c.matrix.starts[i+1] - c.matrix.starts[i]))
		c.x[i], c.residual[i], c.direction[i] = 0, b, b
	}
	c.squaredResidual = dot(c.residual, c.residual)
	c.squaredAtZero = c.squaredResidual
}

func (c *conjugateGradient) run(ctx context.Context) error {
	for range c.iterations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.squaredResidual <= converged*c.squaredAtZero {
			c.restart()
		}
		c.iterate()
	}
	return nil
}

func (c *conjugateGradient) iterate() {
	rows := len(c.x)
	inTicks(rows, multiplyTick, func(from, to int) { c.matrix.rows(from, to).multiply(c.image[from:to], c.direction) })
	step := c.squaredResidual / dotInTicks(c.direction, c.image)
	inTicks(rows, vectorTick, func(from, to int) { addScaled(c.x[from:to], step, c.direction[from:to]) })
	inTicks(rows, vectorTick, func(from, to int) { addScaled(c.residual[from:to], -step, c.image[from:to]) })
	previous := c.squaredResidual
	c.squaredResidual = dotInTicks(c.residual, c.residual)
	part := c.squaredResidual / previous
	inTicks(rows, vectorTick, func(from, to int) { scaleAdd(c.direction[from:to], part, c.residual[from:to]) })
}

// dotInTicks returns what dot does.
func dotInTicks(x, y []float64) float64 {
	var sums partialSums
	inTicks(len(x), dotTick, func(from, to int) { sums.add(x[from:to], y[from:to]) })
	return sums.total()
}

func (c *conjugateGradient) work() float64 {
	return float64(len(c.matrix.values)) * float64(c.iterations)
}

// verify checks two things that any number of iterations leaves true: the
// residual carried along is the residual b − A·x, computed anew without the
// stored matrix, and the error of x has not grown (Hestenes and Stiefel 1952,
// theorem 6:3).
func (c *conjugateGradient) verify() (uint64, error) {
	var drift, squaredError float64
	for i, x := range c.x {
		neighbors, count := c.neighbors(i)
		b := 6 - float64(count)
		d := b - (6*x - neighbors) - c.residual[i]
		drift += d * d
		squaredError += (1 - x) * (1 - x)
	}
	if !(drift <= 1e-20*c.squaredAtZero) {
		return 0, fmt.Errorf("%w: the residual is off by %.2g of the right-hand side",
			ErrWrongResult, math.Sqrt(drift/c.squaredAtZero))
	}
	if !(squaredError <= float64(len(c.x))*(1+1e-12)) {
		return 0, fmt.Errorf("%w: the squared error grew to %v, from %d", ErrWrongResult, squaredError, len(c.x))
	}
	var sum digest
	for i := 0; i < len(c.x); i += max(1, len(c.x)/1009) {
		sum.addFloat(c.x[i])
	}
	return uint64(sum), nil
}

// neighbors returns the sum of x over the neighbors of cell i in the cube,
// and how many they are.
func (c *conjugateGradient) neighbors(i int) (sum float64, count int) {
	for stride := 1; stride < len(c.x); stride *= c.edge {
		place := i / stride % c.edge
		if place > 0 {
			sum += c.x[i-stride]
			count++
		}
		if place < c.edge-1 {
			sum += c.x[i+stride]
			count++
		}
	}
	return sum, count
}
