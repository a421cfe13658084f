package interferer

import "bandmate.dev/bandmate/units"

// leastContrast is how much slower accesses of memory have to be than those of a working
// set for the speed to tell where the lines are.
const leastContrast = 1.3

// Held estimates how many bytes of a working set are in the caches, from the rates at which
// its lines can be accessed: resident when all of them are there, memory when none is, and
// now. The time of an access lies between the two as the part of the lines that are missing
// does (Eklov et al., Cache Pirate, ICPP 2011). It is false where accesses of memory are
// hardly slower than those of the working set, as for one larger than the caches.
func Held(footprint int64, resident, memory, now units.Bandwidth) (bytes int64, known bool) {
	if !(resident > 0 && memory > 0 && now > 0) || resident < leastContrast*memory {
		return 0, false
	}
	part := (1/memory - 1/now) / (1/memory - 1/resident)
	return int64(float64(footprint) * min(max(float64(part), 0), 1)), true
}
