package kernel

import "fmt"

// Declaration says what one pass through a loop does, in instructions that
// touch the buffer. Tests hold it against the instructions in the assembly and
// against what happens to buffers.
type Declaration struct {
	// Kernel names the loop. "stream/3" loads 8 lines and modifies 3 of them,
	// and so on from 0 to 8; "blend/modify" and "blend/store" are the two
	// sides of the blend for read shares below 50%; "random/…" are the visits
	// of random lines.
	Kernel string
	// Set is the name of a [Set].
	Set string
	// Loads, Stores and NonTemporalStores count instructions, but for the
	// generic set, where they count 64-bit words of the source.
	Loads, Stores, NonTemporalStores int
	// BytesPerIteration is the part of the buffer that the pass visits. Of a
	// random line that is loaded, only the first word is.
	BytesPerIteration int
}

// Declarations returns what the loops of the sets compiled for this
// architecture do, whether or not this CPU has them.
func Declarations() []Declaration {
	declarations := nativeDeclarations()
	return append(declarations, declare(Generic, lineWords, false)...)
}

// declare declares the loops of a set that moves a line in perLine parts.
func declare(set string, perLine int, nonTemporal bool) []Declaration {
	var all []Declaration
	for k := range groupLines + 1 {
		all = append(all, Declaration{
			Kernel: fmt.Sprintf("stream/%d", k), Set: set,
			Loads: groupLines * perLine, Stores: k * perLine,
			BytesPerIteration: groupLines * lineWords * 8,
		})
	}
	overwrite := Declaration{Set: set, BytesPerIteration: lineWords * 8}
	if nonTemporal {
		overwrite.NonTemporalStores = perLine
	} else {
		overwrite.Stores = perLine
	}
	blend, random := overwrite, overwrite
	blend.Kernel, random.Kernel = "blend/store", "random/store"
	return append(all,
		Declaration{
			Kernel: "blend/modify", Set: set, Loads: perLine, Stores: perLine,
			BytesPerIteration: lineWords * 8,
		},
		blend,
		Declaration{Kernel: "random/load", Set: set, Loads: 1, BytesPerIteration: lineWords * 8},
		Declaration{Kernel: "random/modify", Set: set, Loads: 1, Stores: 1, BytesPerIteration: lineWords * 8},
		random,
	)
}
