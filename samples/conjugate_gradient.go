package samples

import (
	"context"
	"fmt"
	"math"
)

// conjugateGradientEdge is the number of unknowns along each edge of the cube:
// 885 thousand rows, 108 MiB.
const conjugateGradientEdge = 96

func conjugateGradientSample() Sample {
	rows := conjugateGradientEdge * conjugateGradientEdge * conjugateGradientEdge
	return Sample{
		Name:        "conjugate-gradient",
		Description: "solves a sparse linear system, the Laplacian of a cube",
		Unit:        "nonzeros",
		WorkingSet:  rows*(7*(8+4)+5*8) + (rows+1)*4,
		prepare: func(memory *region, scale float64) kernel {
			return newConjugateGradient(memory, conjugateGradientEdge, steps(30, scale))
		},
	}
}

// conjugateGradientTick is the number of rows of a tick, a multiple of the interleaving
// of partialSums.
const conjugateGradientTick = 144

// converged ends a solve when the squared residual has fallen by this factor;
// the next one begins from zero, so the amount of work stays what was asked.
const converged = 1e-24

// conjugateGradient solves A·x = b for the seven-point Laplacian of a cube, with b chosen
// so that x is 1 everywhere, by the conjugate gradients (Hestenes and Stiefel 1952) of
// Chronopoulos and Gear (1989): their inner products need no pass of their own, so all
// work on a row follows in one pass and every tick does the same on any machine.
type conjugateGradient struct {
	matrix csrMatrix
	// image is A·residual, and imageSum A·direction.
	x, residual, direction, image, imageSum []float64
	edge, iterations                        int
	squaredResidual, squaredAtZero          float64
	// step is along the next direction, of which part is the last direction; both are 0
	// before the first.
	step, part float64
}

func newConjugateGradient(memory *region, edge, iterations int) *conjugateGradient {
	rows := edge * edge * edge
	c := &conjugateGradient{
		matrix:     newLaplacian(memory, edge),
		x:          array[float64](memory, rows),
		residual:   array[float64](memory, rows),
		direction:  array[float64](memory, rows),
		image:      array[float64](memory, rows),
		imageSum:   array[float64](memory, rows),
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
		c.x[i], c.residual[i] = 0, b
	}
	c.squaredResidual = dot(c.residual, c.residual)
	c.squaredAtZero = c.squaredResidual
	c.step, c.part = 0, 0
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

// iterate takes a step, then multiplies the matrix by the new residual, which gives the
// length of the next step. The first iteration of a solve takes no step. The vectors are
// updated one layer of the cube ahead of the product, because a row needs the residual of
// the next layer.
func (c *conjugateGradient) iterate() {
	rows, layer := len(c.x), c.edge*c.edge
	var squared, energy partialSums
	c.advance(0, layer)
	inTicks(rows, conjugateGradientTick, func(from, to int) {
		c.advance(min(from+layer, rows), min(to+layer, rows))
		image, residual := c.image[from:to], c.residual[from:to]
		c.matrix.rows(from, to).multiply(image, c.residual)
		squared.add(residual, residual)
		energy.add(residual, image)
	})
	now := squared.total()
	if c.step == 0 {
		c.step = now / energy.total()
	} else {
		c.part = now / c.squaredResidual
		c.step = now / (energy.total() - float64(c.part*now)/c.step)
	}
	c.squaredResidual = now
}

// advance takes the step in a range of the vectors.
func (c *conjugateGradient) advance(from, to int) {
	x := c.x[from:to]
	residual, direction := c.residual[from:to][:len(x)], c.direction[from:to][:len(x)]
	image, sum := c.image[from:to][:len(x)], c.imageSum[from:to][:len(x)]
	step, part := c.step, c.part
	for i := range x {
		d := residual[i] + float64(part*direction[i])
		s := image[i] + float64(part*sum[i])
		x[i] += float64(step * d)
		residual[i] -= float64(step * s)
		direction[i], sum[i] = d, s
	}
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
	sum.addFloat(c.squaredResidual)
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
