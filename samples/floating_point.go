package samples

import (
	"context"
	"fmt"
	"math"
)

func floatingPointSample() Sample {
	return Sample{
		Name:        "floating-point",
		Description: "fused multiply-adds in registers, no memory at all",
		Unit:        "multiply-adds",
		prepare: func(_ *region, scale float64) kernel {
			return newFloatingPoint(steps(36, scale))
		},
	}
}

const (
	// fmaStep is the number of rounds of every chain between two looks at the
	// context.
	fmaStep = 1 << 21
	// fmaTick is the number of rounds of a tick.
	fmaTick = 1 << 10
	// fmaFactor and fmaTerm make x → factor·x + term, whose fixed point
	// term ÷ (1 − factor) every chain approaches slowly.
	fmaFactor = 1 - 0x1p-24
	fmaTerm   = 0x1p-22
)

// floatingPoint iterates independent chains of one affine map, enough of them
// to hide the latency of a multiply-add.
type floatingPoint struct {
	chains [8]float64
	steps  int
}

func newFloatingPoint(steps int) *floatingPoint {
	f := &floatingPoint{steps: steps}
	for i := range f.chains {
		f.chains[i] = fmaStart(i)
	}
	return f
}

// fmaStart is the initial value of a chain.
func fmaStart(chain int) float64 { return float64(chain + 1) }

func (f *floatingPoint) run(ctx context.Context) error {
	for range f.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		inTicks(fmaStep, fmaTick, func(from, to int) { fmaRounds(&f.chains, fmaFactor, fmaTerm, to-from) })
	}
	return nil
}

func fmaRounds(chains *[8]float64, factor, term float64, rounds int) {
	c0, c1, c2, c3 := chains[0], chains[1], chains[2], chains[3]
	c4, c5, c6, c7 := chains[4], chains[5], chains[6], chains[7]
	for range rounds {
		c0 = math.FMA(c0, factor, term)
		c1 = math.FMA(c1, factor, term)
		c2 = math.FMA(c2, factor, term)
		c3 = math.FMA(c3, factor, term)
		c4 = math.FMA(c4, factor, term)
		c5 = math.FMA(c5, factor, term)
		c6 = math.FMA(c6, factor, term)
		c7 = math.FMA(c7, factor, term)
	}
	*chains = [8]float64{c0, c1, c2, c3, c4, c5, c6, c7}
}

func (f *floatingPoint) work() float64 {
	return float64(len(f.chains)) * float64(f.steps) * fmaStep
}

// verify compares every chain with the closed form of the iteration,
// fixed point + (start − fixed point)·factor^n.
func (f *floatingPoint) verify() (uint64, error) {
	const fixedPoint = fmaTerm / (1 - fmaFactor)
	decay := math.Exp(float64(f.steps) * fmaStep * math.Log1p(fmaFactor-1))
	var sum digest
	for i, got := range f.chains {
		want := fixedPoint + (fmaStart(i)-fixedPoint)*decay
		if !(math.Abs(got-want) <= 1e-6) {
			return 0, fmt.Errorf("%w: chain %d arrived at %v, not %v", ErrWrongResult, i, got, want)
		}
		sum.addFloat(got)
	}
	return uint64(sum), nil
}
