package kernel

import "github.com/klauspost/cpuid/v2"

//go:generate sh -c "cd asm && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg kernel"

// native returns the sets whose instructions the CPU has and whose registers
// the operating system saves.
func native() []Set {
	var sets []Set
	if cpuid.CPU.Supports(cpuid.AVX512F) {
		sets = append(sets, Set{
			name:                 AVX512,
			storesWithoutReading: true,
			stream:               streamAVX512,
			blend:                blendAVX512,
			randomBlend:          randomBlendAVX512,
		})
	}
	if cpuid.CPU.Supports(cpuid.AVX2) {
		sets = append(sets, Set{
			name:                 AVX2,
			storesWithoutReading: true,
			stream:               streamAVX2,
			blend:                blendAVX2,
			randomBlend:          randomBlendAVX2,
		})
	}
	return sets
}
