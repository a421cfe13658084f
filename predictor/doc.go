// Package predictor predicts the slowdown of applications that share a memory domain,
// from one profile per application.
//
// Compile turns a profile into an Application. Predict predicts a target beside any
// number of co-runners. Both are pure and deterministic to the last bit; everything
// returned may be shared between goroutines.
//
// # The path of a prediction
//
//  1. Compile (application.go) reads contentiousness, phases (phases.go) and curves.
//     A response (response.go) is one curve, read at the traffic that others
//     transfer, and extrapolated beyond the measured pressure (extrapolation.go).
//  2. Calibrate (calibration.go) fits a model of the memory to all profiles of a
//     machine (package memory); Apply calibrates an application to it.
//     Where several cores share a last-level cache and profiles have points in it, a
//     model of the cache comes before that of the memory (lastlevel.go, package cache).
//  3. Predict (prediction.go, default.go) uses modelSolver where all applications are
//     calibrated to one model, else curveSolver. Both average over the combinations of
//     phases (group.go).
//  4. The uncertainty becomes an interval (interval.go), and slowdowns by a shared
//     network card are added (communicate.go, package communication).
//
// Workspace computes the slowdowns of a Prediction alone, for the score of the
// schedulers. Package fast approximates them for thousands of domains.
//
// "The paper" is F. V. Zacarias et al., "Contention-aware Application Performance
// Prediction for Disaggregated Memory Systems", Computing Frontiers 2020. Its methods
// are offered beside the default one, which departs from it as the Method constants
// say.
package predictor
