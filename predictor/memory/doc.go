// Package memory holds a model of a memory that several applications share, and
// fits it to their sensitivity curves.
//
// The memory answers requests after a delay that grows with its load. Each application is
// a closed loop with a limited number of requests in flight, so its traffic falls as the
// delay grows. The delay is the one at which the total traffic equals what the memory
// carries: the fixed point of mean-value analysis for a closed queueing network (Reiser
// and Lavenberg, J. ACM 27(2), 1980) with one station for the memory, one for the link of
// a distant application, and a think time.
//
// The interferer is such a loop too. Its curves therefore show both the response of an
// application to a delay and that of the memory to a load. Every constant of a Model is
// fitted to the given curves. The package is pure: no I/O, no state.
package memory
