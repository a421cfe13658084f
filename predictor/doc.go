// Package predictor says how much applications that share a memory domain slow
// each other down, from one profile per application.
//
// Compile turns a profile into an Application, a form that predicts fast. Predict
// answers for a target beside any number of co-runners. Both are pure: the same
// profiles give the same prediction to the last bit, nothing is read or written, and
// everything returned may be shared between goroutines.
//
// # The path of a prediction
//
//  1. Compile (application.go) reads contentiousness, phases (phases.go) and curves.
//     A response (response.go) is one curve, read at the traffic that others really
//     transfer, and extrapolated beyond the measured pressure (extrapolation.go).
//  2. Calibrate (calibration.go) fits a model of the memory to all profiles of a
//     machine, by package memory, and Apply makes an application a part of it.
//  3. Predict (prediction.go, default.go) takes modelSolver where one model describes
//     everyone, and else curveSolver. Both solve one combination of phases after the
//     other, and average over those (group.go).
//  4. The doubt in all of this becomes an interval (interval.go), and slowdowns by a
//     shared network card are added (communicate.go, package communication).
//
// Workspace gives the same numbers without the rest of a Prediction. The schedulers'
// score asks it for a domain with and without a newcomer, after package fast has
// chosen among thousands of domains by an approximation.
//
// "The paper" is F. V. Zacarias et al., "Contention-aware Application Performance
// Prediction for Disaggregated Memory Systems", Computing Frontiers 2020. Its methods
// are offered beside the default one, which departs from it as the Method constants
// say.
package predictor
