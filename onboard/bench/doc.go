// Package bench runs the parties of an experiment. It places programs and interferers on CPUs,
// switches them on and off, and reads how much they have done.
//
// A [Session] has the places of an application and of the interferers, which it starts, and
// runs commands there once. A [Stage] has a second set of interferers on the application's
// CPUs, so that either side can work, be paused or spin. What works there is a
// [modulation.Party]: a [Program], whose work a source of package ticks counts, a [Stream] of
// interferers, or a [Neighbor], of which nothing is counted. None of them runs on after Close
// or after the end of this process.
//
// Package onboard decides what is measured and what the readings mean.
package bench
