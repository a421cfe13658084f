// Package predictor says how much applications that share a memory domain slow
// each other down, from one profile per application.
//
// Compile turns a profile into an Application, a form that predicts fast;
// Predict answers for a target beside any number of co-runners. Both are pure:
// the same profiles give the same prediction to the last bit, nothing is read
// or written, and everything returned may be shared between goroutines.
//
// "The paper" is F. V. Zacarias et al., "Contention-aware Application
// Performance Prediction for Disaggregated Memory Systems", Computing Frontiers
// 2020. Its methods are offered beside the default one, which departs from it
// as the Method constants say.
package predictor
