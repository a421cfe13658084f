// Package service predicts the latency and the saturation of a service beside
// neighbors, from one load sweep of the service alone.
//
// Contention stretches service times by a factor s. If it stretches all of them alike,
// a service beside neighbors at load λ is a service alone at load s·λ with another unit
// of time, whatever the discipline of its queues:
//
//	p99 beside (λ) = s · p99 alone (s·λ)
//	saturation beside = saturation alone ÷ s
//
// Arrivals are Poisson, and latencies count from the intended start of a request, so
// that a service that falls behind does not slow its measurement down (coordinated
// omission, Tene).
//
// The formula is exact only for one s. It fails where s grows with the load, for which
// s is measured at several loads, and where a part of the latency does not stretch: a
// timer, a disk, a network. There it overestimates the effect of a neighbor, by no more
// than that part times s - 1, beside what the smaller load s·λ of the stretching part
// changes.
//
// The package is pure: no I/O.
package service
