// Package memory holds a model of a memory that several applications share, and
// fits it to their sensitivity curves.
//
// The memory answers every request after a delay that grows with its load. Each
// application is a closed loop: it keeps a limited number of requests in flight,
// so that it asks for less when the delay grows, and the delay is the one at which
// all of them together ask for what the memory carries. That is what the fixed
// point of mean-value analysis says of a closed queueing network (Reiser and
// Lavenberg, J. ACM 27(2), 1980), with one station for the memory, one for the
// link of a distant application, and a think time for the rest.
//
// The interferer is such a loop too. Its curves therefore show both how an
// application responds to a delay and how the memory responds to a load, and what
// was measured beside one interferer applies to several neighbors, who press harder.
//
// Nothing here is calibrated to a machine: every constant of a Model is fitted to
// the curves it is given. The package is pure: no I/O, no state.
package memory
