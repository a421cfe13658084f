// Package communication combines what memory, the memory bus and the network card
// take from an application that communicates into one slowdown.
//
// Three models meet here. The slowdown by memory comes from package predictor
// (Zacarias et al. 2020). How the bus divides between computing cores and a
// communication is package overlap (Denis et al. 2022), how computing and
// communicating make up the time of a step too (Langguth et al. 2018). What
// communications on one network card do to each other is package network
// (Vienne et al. 2008).
//
// How they combine, and when they must not, is decision 0022. In short, with
// times in units of the run alone, M the slowdown by memory, n the share of the
// run that communication takes, P the penalty of the card and L the loss of the
// communication on the bus:
//
//	                          waits for messages       computes meanwhile
//	in the profile            M + n·(P − 1)            max(M, n·P)
//	apart from the profile    (1 − n)·M + n·L·P        max(M, n·L·P)
//
// Where the profile was measured with the communication, curves and
// contentiousness hold what the bus does, and L is not applied again.
//
// Everything is pure: nothing is read, written or measured here.
package communication
