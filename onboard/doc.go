// Package onboard runs the experiments: an application alone and under known
// pressure (an ApplicationProfile), a machine under its own interferer (a
// MachineProfile), and applications beside each other (the check of a
// prediction). Package bench has the programs and interferers run.
//
// By default an application is measured within its runs: the interferer is switched
// on and off in slices of milliseconds, and rates of progress in neighboring slices
// are compared (package modulation). Where nothing counts its progress, whole runs
// are timed instead, and each is normalized by the nearest solo runs (package
// sampling).
//
// Every block of slices and every whole run is tagged with the placement regime of
// the CPUs. Different regimes are never mixed. What was measured while the regime
// changed is dropped and counted. While a party does not work, its CPUs spin without
// touching memory, so that only the memory traffic differs.
package onboard
