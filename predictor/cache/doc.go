// Package cache holds a model of a last-level cache that several applications share, in
// front of a memory (package memory).
//
// A line stays in the cache until so much else has been brought in that it is replaced.
// How long that takes, the age, is all that the applications have in common. At an age, each
// holds some bytes and misses with some of its accesses (Reuse). The age is the one at
// which what all hold fills the cache: the working sets of Denning (CACM 11(5), 1968), in
// the form that Che, Tung and Wang gave it for caches (IEEE JSAC 20(7), 2002), Xiang et al.
// for programs that share one (HOTL, ASPLOS 2013) and Hu et al. for ages (AET, ATC 2016).
//
// What misses becomes traffic of the memory, whose delay slows down the applications, who
// then use their lines less often. Solve finds where ages, traffic and speeds agree.
//
// Everything is fitted to an application's performance beside interferers of two kinds: one
// that streams, and one that touches the lines of a working set of a known size in random
// order and so keeps them in the cache, as Eklov et al. do (Cache Pirate, ICPP 2011). The
// package is pure: no I/O, no state.
package cache
