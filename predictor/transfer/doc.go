// Package transfer transfers the profile of an application from the machine where it was
// measured to another one. It needs the profiles of both machines.
//
// The method is not in the paper (F. V. Zacarias et al., Computing Frontiers 2020). It
// assumes that to an application, a memory that carries ρ times as much is the original
// memory with a part 1 − ρ of all traffic used by others. No constant is fitted to a
// platform. Latency, cache sizes and the speed of the cores are neglected; they widen the
// interval and cause warnings.
package transfer
