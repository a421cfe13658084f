// Package overlap holds models of computation and communication that run at the
// same time and share a memory bus.
//
// It is based on two papers. Denis, Jeannot and Swartvagher, "Modeling Memory
// Contention between Communications and Computations in Distributed HPC Systems"
// (2022), say how the bandwidth divides between computing cores and one that receives
// messages: Parameters. Langguth, Cai and Sourouri, "Memory Bandwidth Contention:
// Communication vs Computation Tradeoffs in Supercomputers with Multicore
// Architectures" (2018), say how long a step takes in which both overlap: Step and
// Split.
//
// Everything is pure: nothing is read, written or measured here.
package overlap
