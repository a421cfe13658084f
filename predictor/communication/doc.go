// Package communication combines the slowdowns by memory, by the memory bus and by the
// network card of an application that communicates.
//
// It joins three models: the slowdown by memory of package predictor (Zacarias et al.
// 2020), the sharing of the bus of package overlap (Denis et al. 2022, Langguth et al.
// 2018), and the sharing of network cards of package network (Vienne et al. 2008).
//
// Decision 0022 explains the combination. In units of the run alone, with M the slowdown
// by memory, n the share of the run that communication takes, P the penalty of the card
// and L the loss of the communication on the bus:
//
//	                          waits for messages       computes meanwhile
//	in the profile            M + n·(P − 1)            max(M, n·P)
//	apart from the profile    (1 − n)·M + n·L·P        max(M, n·L·P)
//
// If the profile was measured with the communication, its curves include the effect of the
// bus, and L is not applied. The package is pure: no I/O.
package communication
