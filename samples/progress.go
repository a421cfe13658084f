package samples

import "bandmate.dev/bandmate/ticks/progress"

// inTicks does work on n things in pieces of length, and counts each piece as a
// tick of progress. Lengths are such that a tick takes 2 to 6 µs alone, so that a moment
// hardly matters in a slice of a millisecond, and about the same in every phase of a
// sample.
func inTicks(n, length int, work func(from, to int)) {
	for from := 0; from < n; from += length {
		work(from, min(from+length, n))
		progress.Add(1)
	}
}
