// Package design chooses which points of a sensitivity curve family are worth
// measuring, and computes the others from them.
//
// The paper (F. V. Zacarias et al., Computing Frontiers 2020) measures two
// curves of four levels of every application, eight runs beside the interferer,
// however little there is to learn. Here a model of a busy memory says after
// every run what the curves look like and how sure that is; the next run is the
// one that teaches most for its time, and there is none when an application
// turns out to be insensitive or when the curves are known about as well as runs
// repeat.
//
// Everything here is pure: no I/O, no clock, no randomness.
package design
