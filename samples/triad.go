package samples

import (
	"context"
	"fmt"
)

// triadLength is the number of elements of each of the three arrays: 32 MiB.
const triadLength = 1 << 22

// triadScalar is s in x = y + s·z. The arrays take turns as x, y and z, so an
// element follows v(n) = v(n−1) + s·v(n−2), whose characteristic roots have
// the absolute value √−s: only −1 neither grows nor decays over many passes.
const triadScalar = -1.0

// triadTick is the number of elements of a tick.
const triadTick = 1 << 12

func triadSample() Sample {
	return Sample{
		Name:        "triad",
		Description: "STREAM triad: x = y + s·z over three long vectors",
		Unit:        "bytes",
		WorkingSet:  3 * 8 * triadLength,
		prepare: func(memory *region, scale float64) kernel {
			return newTriad(memory, triadLength, steps(100, scale))
		},
	}
}

// triad is the fourth kernel of STREAM (McCalpin 1995), with the arrays
// changing places after every pass.
type triad struct {
	vectors [3][]float64
	scalar  float64
	passes  int
}

func newTriad(memory *region, n, passes int) *triad {
	t := &triad{scalar: triadScalar, passes: passes}
	for v := range t.vectors {
		t.vectors[v] = array[float64](memory, n)
	}
	// Vector 0 is written by the first pass.
	for v := 1; v < 3; v++ {
		vector := t.vectors[v]
		for i := range vector {
			vector[i] = triadStart(v, i)
		}
	}
	return t
}

// triadStart is the initial element i of vector v.
func triadStart(v, i int) float64 { return unitFloat(uint64(3*i + v)) }

func (t *triad) run(ctx context.Context) error {
	for pass := range t.passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		x, y, z := t.vectors[pass%3], t.vectors[(pass+2)%3], t.vectors[(pass+1)%3]
		inTicks(len(x), triadTick, func(from, to int) { triadPass(x[from:to], y[from:to], z[from:to], t.scalar) })
	}
	return nil
}

// triadPass computes x = y + s·z. The conversions keep the compiler from
// fusing the two operations, which would round differently.
func triadPass(x, y, z []float64, s float64) {
	y, z = y[:len(x)], z[:len(x)]
	for len(x) >= 8 && len(y) >= 8 && len(z) >= 8 {
		x[0] = y[0] + float64(s*z[0])
		x[1] = y[1] + float64(s*z[1])
		x[2] = y[2] + float64(s*z[2])
		x[3] = y[3] + float64(s*z[3])
		x[4] = y[4] + float64(s*z[4])
		x[5] = y[5] + float64(s*z[5])
		x[6] = y[6] + float64(s*z[6])
		x[7] = y[7] + float64(s*z[7])
		x, y, z = x[8:], y[8:], z[8:]
	}
	for i := range x {
		x[i] = y[i] + float64(s*z[i])
	}
}

// work counts two reads and a write of 8 bytes per element, as STREAM does;
// the line fills of the stores come on top at the memory controller.
func (t *triad) work() float64 {
	return 24 * float64(len(t.vectors[0])) * float64(t.passes)
}

// verify replays the recurrence on single elements spread over the vectors.
func (t *triad) verify() (uint64, error) {
	var sum digest
	n := len(t.vectors[0])
	for i := 0; i < n; i += max(1, n/1009) {
		want := [3]float64{0, triadStart(1, i), triadStart(2, i)}
		for pass := range t.passes {
			want[pass%3] = want[(pass+2)%3] + float64(t.scalar*want[(pass+1)%3])
		}
		for v, w := range want {
			if got := t.vectors[v][i]; got != w {
				return 0, fmt.Errorf("%w: vector %d, element %d is %v, not %v", ErrWrongResult, v, i, got, w)
			}
		}
		sum.addFloat(want[(t.passes-1)%3])
	}
	return uint64(sum), nil
}
