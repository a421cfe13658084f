// Package design chooses which points of a sensitivity curve family to measure, and
// estimates the others from them.
//
// The paper (F. V. Zacarias et al., Computing Frontiers 2020) measures eight points of
// every application. Here a model of a busy memory estimates the curves and their
// uncertainty after every run. The next run is the one that reduces the uncertainty most
// for its time. The search ends when the curves are known as well as runs repeat, and
// earlier for an insensitive application.
//
// The package is pure: no I/O, no clock, no randomness.
package design
