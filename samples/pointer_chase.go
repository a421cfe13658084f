package samples

import (
	"context"
	"fmt"
)

// chaseBits is the binary logarithm of the number of cache lines: 128 MiB.
const chaseBits = 21

func pointerChaseSample() Sample {
	return Sample{
		Name:        "pointer-chase",
		Description: "follows one chain of dependent loads through memory in random order",
		Unit:        "loads",
		WorkingSet:  lineBytes << chaseBits,
		prepare: func(memory *region, scale float64) kernel {
			return newPointerChase(memory, chaseBits, steps(24, scale)*chaseStep)
		},
	}
}

const (
	// chaseStep is the number of loads between two looks at the context.
	chaseStep = 1 << 16
	// chaseTick is the number of loads of a tick.
	chaseTick = 1 << 4
	// lineWords is the number of 32-bit words of a cache line.
	lineWords = lineBytes / 4
)

// pointerChase is a random cyclic permutation of cache lines, each holding the
// place of the next.
type pointerChase struct {
	// words holds, in the first word of every line, the index in words of the
	// next line.
	words []uint32
	cycle cyclicOrder
	loads int
	// position is where the chain has arrived, as an index in words.
	position uint32
}

func newPointerChase(memory *region, bits, loads int) *pointerChase {
	c := &pointerChase{
		words: array[uint32](memory, lineWords<<bits),
		cycle: newCyclicOrder(bits),
		loads: loads,
	}
	for line := range uint32(1) << bits {
		c.words[line*lineWords] = c.cycle.next(line) * lineWords
	}
	return c
}

func (c *pointerChase) run(ctx context.Context) error {
	for left := c.loads; left > 0; left -= chaseStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		inTicks(min(left, chaseStep), chaseTick, func(from, to int) { c.follow(to - from) })
	}
	return nil
}

func (c *pointerChase) follow(loads int) {
	position, words := c.position, c.words
	for range loads {
		position = words[position]
	}
	c.position = position
}

func (c *pointerChase) work() float64 { return float64(c.loads) }

// verify compares where the chain arrived with where the permutation, raised
// to the number of loads, leads from line 0.
func (c *pointerChase) verify() (uint64, error) {
	line := c.position / lineWords
	if want := c.cycle.after(0, uint64(c.loads)); line != want {
		return 0, fmt.Errorf("%w: the chain arrived at line %d, not %d", ErrWrongResult, line, want)
	}
	var sum digest
	sum.add(uint64(line))
	return uint64(sum), nil
}
