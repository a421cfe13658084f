package kernel

// streamNEON is streamGeneric with NEON; which is modifiedLines.
//
//go:noescape
func streamNEON(buf []byte, which *[GroupLines + 1]uint64, eighths, owed, step uint64, sum *line)

// blendNEON is blendGeneric with NEON and DC ZVA.
//
//go:noescape
func blendNEON(change, store []byte, owed, step uint64, fill, sum *line)

// storeLineNEON overwrites a line without reading it.
//
//go:noescape
func storeLineNEON(line *byte, content *line)

// zeroBlock returns the register DCZID_EL0.
func zeroBlock() uint64

// pause executes n YIELD instructions; n > 0.
func pause(n uint32)
