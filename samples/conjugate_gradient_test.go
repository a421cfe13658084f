package samples

import (
	"math"
	"slices"
	"testing"
)

func TestLaplacian(t *testing.T) {
	const edge = 4
	const rows = edge * edge * edge
	m := newLaplacian(heap(1<<15), edge)
	dense := [rows][rows]float64{}
	for row := range rows {
		for i := m.starts[row]; i < m.starts[row+1]; i++ {
			dense[row][m.columns[i]] += m.values[i]
		}
	}
	for i := range rows {
		for j := range rows {
			want := 0.0
			distance := 0
			for stride := 1; stride < rows; stride *= edge {
				step := i/stride%edge - j/stride%edge
				distance += step * step
			}
			switch distance {
			case 0:
				want = 6
			case 1:
				want = -1
			}
			if dense[i][j] != want {
				t.Errorf("element %d,%d is %v, not %v", i, j, dense[i][j], want)
			}
		}
	}
	x, y := make([]float64, rows), make([]float64, rows)
	for i := range x {
		x[i] = unitFloat(uint64(i))
	}
	m.multiply(y, x)
	for i := range y {
		want := 0.0
		for j := range x {
			want += dense[i][j] * x[j]
		}
		if math.Abs(y[i]-want) > 1e-12 {
			t.Errorf("row %d of the product is %v, not %v", i, y[i], want)
		}
	}
}

func TestConjugateGradientFindsSolution(t *testing.T) {
	k := newConjugateGradient(heap(1<<18), 8, 200)
	k.iterations = 0
	for k.squaredResidual > converged*k.squaredAtZero {
		k.iterate()
		if k.iterations++; k.iterations > 100 {
			t.Fatalf("no convergence: squared residual %v", k.squaredResidual)
		}
	}
	for i, x := range k.x {
		if math.Abs(x-1) > 1e-10 {
			t.Errorf("unknown %d is %v, not 1", i, x)
		}
	}
	if _, err := k.verify(); err != nil {
		t.Error(err)
	}
}

// TestConjugateGradientSteps checks each step against the recurrences of Hestenes and
// Stiefel, which give the same iterates.
func TestConjugateGradientSteps(t *testing.T) {
	const edge = 14
	k := newConjugateGradient(heap(1<<20), edge, 0)
	n := len(k.x)
	x, residual, image := make([]float64, n), slices.Clone(k.residual), make([]float64, n)
	direction := slices.Clone(residual)
	k.iterate()
	for step := range 12 {
		k.matrix.multiply(image, direction)
		before := dot(residual, residual)
		length := before / dot(direction, image)
		for i := range x {
			x[i] += length * direction[i]
			residual[i] -= length * image[i]
		}
		after := dot(residual, residual)
		for i := range direction {
			direction[i] = residual[i] + after/before*direction[i]
		}
		k.iterate()
		for i := range x {
			if math.Abs(k.x[i]-x[i]) > 1e-12 {
				t.Fatalf("step %d: unknown %d is %v, not %v", step, i, k.x[i], x[i])
			}
		}
		if math.Abs(k.squaredResidual-after) > 1e-12*k.squaredAtZero {
			t.Errorf("step %d: squared residual %v, not %v", step, k.squaredResidual, after)
		}
	}
}

func TestConjugateGradientRestarts(t *testing.T) {
	for _, iterations := range []int{1, 10, 500} {
		k := newConjugateGradient(heap(1<<18), 8, iterations)
		complete(t, k)
		k.x[17] += 1e-6
		wantWrong(t, k)
	}
}

func TestDot(t *testing.T) {
	for n := range 12 {
		x, y := make([]float64, n), make([]float64, n)
		want := 0.0
		for i := range x {
			x[i], y[i] = float64(i+1), float64(2*i-3)
			want += x[i] * y[i]
		}
		if got := dot(x, y); got != want {
			t.Errorf("dot of %d elements: got %v, want %v", n, got, want)
		}
	}
}
