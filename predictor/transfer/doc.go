// Package transfer converts the profile of an application, measured on one machine,
// into the profile that it is expected to have on another one. It needs the profiles
// of both machines.
//
// F. V. Zacarias et al. (Computing Frontiers 2020) measure every application on
// the machine they predict for. The method here is ours and rests on one idea: to an
// application, a machine whose memory carries ρ times as much is the machine that it
// was measured on with a part 1 − ρ of all traffic taken by someone else. No constant
// is fitted to a platform. Latency, cache sizes and the speed of the cores are left
// out: they widen the interval and are named in the warnings.
package transfer
