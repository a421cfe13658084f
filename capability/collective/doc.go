// Package collective implements the algorithms that package capability derives:
// barriers, broadcasts and reductions of threads that share memory.
//
// Ramos and Hoefler, "Capability Models for Manycore Memory Systems" (2017),
// section IV.B, derive trees and a dissemination barrier from what a cache line
// costs. Here a thread is a goroutine, best locked to a thread of the operating
// system on a CPU of its own. Every flag has a cache line to itself, the line of a
// broadcast or a reduction includes its flag, and a waiting thread reads one flag
// until it changes. Contestants compares them with algorithms that need no model:
// a central counter, a binary tree, and package sync.
//
// Every operation counts its calls, so that flags need no resetting. Each thread
// has to make every call, in the same order.
package collective
