// Package curves fits sensitivity curves: normalized performance of an
// application against the bandwidth that an interferer reaches alone, one
// curve per read share, joined into a family.
//
// The method is that of F. V. Zacarias et al., "Contention-aware Application
// Performance Prediction for Disaggregated Memory Systems", Computing Frontiers
// 2020, in this package "the paper". Everything here is pure: no I/O, no state.
package curves
