// Package transfer carries the profile of an application from the machine it
// was measured on to another one, through the profiles of both machines.
//
// F. V. Zacarias et al. (Computing Frontiers 2020) measure every application on
// the machine they predict for. What is added here rests on one idea: a machine
// whose memory carries ρ times as much is, for an application, the machine that
// it was measured on with a part 1 − ρ of all traffic taken by someone else. It
// has no constant that was fitted to a platform. What it leaves out, above all
// latency, cache sizes and the speed of the cores, widens the interval and is
// named in the warnings.
package transfer
