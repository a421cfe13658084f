package capability

import (
	"fmt"
	"math"
	"strconv"
)

// Cost is a modeled or measured time in nanoseconds, with fractions. Valid costs
// are finite and not negative.
type Cost float64

// Valid reports whether c is finite and not negative.
func (c Cost) Valid() bool { return c >= 0 && !math.IsInf(float64(c), 0) }

// Seconds returns c in seconds.
func (c Cost) Seconds() float64 { return float64(c) / 1e9 }

// String prints c with three significant digits in the unit that suits it:
// "3.8 ns", "1.5 µs", "281 ms".
func (c Cost) String() string {
	v, unit := float64(c), "ns"
	switch {
	case v >= 999.5e6:
		v, unit = v/1e9, "s"
	case v >= 999.5e3:
		v, unit = v/1e6, "ms"
	case v >= 999.5:
		v, unit = v/1e3, "µs"
	}
	rounded := strconv.FormatFloat(v, 'g', 3, 64)
	if v >= 1000 {
		rounded = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return rounded + " " + unit
}

// Line is a cost that grows linearly: Base + Each·n.
type Line struct {
	// Base is α, and Each β.
	Base, Each Cost
}

// At returns the cost for n.
func (l Line) At(n int) Cost { return l.Base + Cost(n)*l.Each }

func checkCost(name string, c Cost) error {
	if !c.Valid() || c > maxCost {
		return fmt.Errorf("%s of %v ns: want 0 to 1e9", name, float64(c))
	}
	return nil
}

// maxCost, a second, is above every latency of a cache line.
const maxCost Cost = 1e9

// MaxThreads bounds the threads of an algorithm. No machine with coherent memory
// has more.
const MaxThreads = 4096

func checkThreads(n int) error {
	if n < 1 || n > MaxThreads {
		return fmt.Errorf("%d threads: want 1 to %d", n, MaxThreads)
	}
	return nil
}
