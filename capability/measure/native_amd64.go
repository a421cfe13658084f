package measure

import "github.com/klauspost/cpuid/v2"

//go:generate sh -c "cd asm && go run . -out ../loops_amd64.s -stubs ../loops_amd64.go -pkg measure"

// available returns the loops that this CPU has the instructions for, the fastest
// first, the portable ones last.
func available() []loops {
	if !cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3) {
		return []loops{portable}
	}
	return []loops{{
		name: "AVX2", copy: copyAVX2, copyNT: copyNTAVX2, write: writeAVX2, writeNT: writeNTAVX2,
		triad: triadAVX2, triadNT: triadNTAVX2,
	}, portable}
}

// canFlush says that lines can be taken out of all caches.
const canFlush = true
