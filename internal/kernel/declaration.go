package kernel

// Declaration says what one pass through the loop of a kernel does, in
// instructions that touch the buffer. Tests hold it against the instructions
// in the assembly and against what happens to buffers.
type Declaration struct {
	// Kernel is "stream", "blend", "randomStream" or "randomBlend"; Set is the
	// name of a [Set].
	Kernel, Set string
	// Loads and Stores count instructions; those stores are counted of which a
	// Mix decides whether they are executed.
	Loads, Stores, NonTemporalStores int
	// BytesPerIteration is the part of the buffer that a pass visits.
	BytesPerIteration int
}

// Declarations returns the declarations of the sets compiled for this
// architecture.
func Declarations() []Declaration { return nil }
