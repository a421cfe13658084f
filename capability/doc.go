// Package capability holds models of what the caches and the memory of a machine
// can do, and the algorithms that follow from them.
//
// Ramos and Hoefler, "Capability Models for Manycore Memory Systems: A
// Case-Study with Xeon Phi KNL" (2017), measure the latency of a cache line by
// place, the cost of several threads that read one line, and bandwidths; from
// these they derive the tree of a broadcast or a reduction (equation 1: Tree),
// a barrier (equation 2: Barrier) and the time of a parallel merge sort
// (equations 3 to 5: Sort).
//
// Everything is pure: nothing is read, written or measured here.
package capability
