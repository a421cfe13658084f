// Package progress counts the work of a program for Bandmate, which then tells
// within milliseconds how fast the program runs beside others.
//
//	for block := range blocks {
//		solve(block)
//		progress.Add(1)
//	}
//
// What one is counted for should always be about the same work; ten microseconds
// to a millisecond of it are best. All threads and all processes of the program
// count together. A program that Bandmate does not measure counts nothing, which
// costs less than a nanosecond a call.
//
// The package imports nothing but the standard library. Programs in C include
// bandmate_progress.h, which lies beside it.
package progress

import "sync/atomic"

// Variable is the environment variable with the path of the page: a file whose
// first eight bytes are the count, in the byte order of the machine.
const Variable = "BANDMATE_PROGRESS"

// count is nil when nobody measures.
var count = open()

// Add counts n ticks.
func Add(n uint64) {
	if count != nil {
		atomic.AddUint64(count, n)
	}
}

// Measured reports whether somebody measures this program.
func Measured() bool { return count != nil }
