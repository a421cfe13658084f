// Package progress counts the work of a program for Bandmate, which can then measure
// within milliseconds how fast the program runs beside others.
//
//	for block := range blocks {
//		solve(block)
//		progress.Add(1)
//	}
//
// Each tick should stand for about the same amount of work; ten microseconds to a
// millisecond are best. All threads and all processes of the program count together. A
// program that Bandmate does not measure counts nothing, which costs less than a
// nanosecond a call.
//
// The package imports nothing but the standard library. Programs in C include
// bandmate_progress.h, which lies beside it.
package progress

import "sync/atomic"

// Variable is the environment variable with the path of the page: a file whose
// first eight bytes are the count, in the byte order of the machine.
const Variable = "BANDMATE_PROGRESS"

// count is nil when the program is not measured.
var count = open()

// Add counts n ticks.
func Add(n uint64) {
	if count != nil {
		atomic.AddUint64(count, n)
	}
}

// Measured reports whether Bandmate measures this program.
func Measured() bool { return count != nil }
