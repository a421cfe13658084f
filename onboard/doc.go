// Package onboard runs the experiments: an application alone and under known
// pressure (an ApplicationProfile), a machine under its own interferer (a
// MachineProfile), and applications beside each other (the check of a
// prediction).
//
// Every sample is tagged with the placement regime of the CPUs before and
// after it; samples of different regimes are never mixed, and samples whose
// regime changed are dropped and counted. A solo time is taken beside a CPU
// that spins without touching memory, so that what differs under pressure is
// the memory traffic alone, and each sample is normalized by the solo runs
// nearest to it in time.
package onboard
