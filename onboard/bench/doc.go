// Package bench is the bench of an experiment: who stands on which CPUs of a machine, and who
// of them works when.
//
// A [Session] has the places of an application and of the interferers, which it starts, and
// runs commands there once. A [Stage] has a second set of interferers on the application's
// CPUs, so that either side can work, be paused or spin. What works there is a
// [modulation.Party]: a [Program], whose work a source of package ticks counts, a [Stream] of
// interferers, or a [Neighbor], of which nothing is counted. Nothing of it runs on after Close,
// however the process ends.
//
// What is measured on a bench, and what the readings mean, is the matter of package onboard.
package bench
