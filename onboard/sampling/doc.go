// Package sampling takes samples of an application beside others, whole run by whole
// run: in which order, how often, which solo runs normalize a sample, and what is lost
// to a change of the placement. A Journal keeps them, so that an interrupted experiment
// can go on.
package sampling
